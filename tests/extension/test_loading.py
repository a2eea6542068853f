"""Only what the policy lists is loaded, in its order; what cannot be loaded is said with the place in the policy."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from compactor import Compactor, PolicyError
from compactor.extension.host import hook_names

from .conftest import BASE, SESSION, Place

HOOK = "import compactor\n\n@compactor.hookimpl\ndef {name}({arguments}):\n    {body}\n"
CONFIG = """
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import compactor
from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Fact:
    text: str


class Plugin:
    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")
        path: Path
        size: int = 5

    def __init__(self, config: Config) -> None:
        self.fact = Fact(str(config.path))

    @compactor.hookimpl
    def on_pre_compress(self, event):
        return self.fact.text
"""


def hook(name: str, arguments: str = "event", body: str = "return None") -> str:
    return HOOK.format(name=name, arguments=arguments, body=body)


def problem(place: Place, *plugins: object, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(PolicyError) as caught:
        place.compactor(*plugins, environ=environ)
    (found,) = caught.value.problems
    return str(found)


WRONG = {
    "misspelt": (hook("on_pre_compres"), "there is no hook 'on_pre_compres' (did you mean 'on_pre_compress'?)"),
    "unlike": (hook("whenever"), "there is no hook 'whenever'"),
    "without_argument": (hook("on_pre_compress", ""), "on_pre_compress has the wrong arguments: it has to be on_pre_"),
    "optional": (hook("provide_state", "event=None"), "it has to be provide_state(event)"),
    "other_argument": (hook("on_pre_compress", "messages"), "Argument(s) {'messages'} are declared in the hookimpl"),
    "too_many": (hook("on_pre_compress", "event, state"), "Argument(s) {'state'} are declared in the hookimpl"),
    "no_hooks": ("def on_pre_compress(event):\n    return None\n", "implements no hook; mark its functions with @com"),
    "syntax": ("def on_pre_compress(event:\n", "cannot be run: SyntaxError: '(' was never closed"),
    "exits": ("import sys\n\nsys.exit(2)\n", "cannot be run: SystemExit: 2"),
    "imports": ("import no_such_module\n", "cannot be run: ModuleNotFoundError: No module named 'no_such_module'"),
    "refuses": ("class Plugin:\n    def __init__(self):\n        exit(1)\n", "cannot be made: SystemExit: 1"),
    "registers_list": (hook("register_pruners", "", "return ['x']"), "registers ['x'], not a mapping of names"),
    "register_exits": (hook("register_pruners", "", "raise SystemExit"), "plugin 'register_exits' (register_"),
}


@pytest.mark.parametrize(("name", "code", "message"), [(name, *rest) for name, rest in WRONG.items()], ids=WRONG)
def test_a_plugin_that_cannot_be_used(place: Place, name: str, code: str, message: str) -> None:
    said = problem(place, place.write(name, code))
    assert said.startswith("policy.yaml:8:3: plugins.0: ")
    assert message in said


def test_a_file_that_is_not_there(place: Place) -> None:
    assert problem(place, "./nowhere.py").endswith("plugins.0: there is no file nowhere.py")


@pytest.mark.parametrize(("name", "hint"), [("markdown_memry", "did you mean 'markdown_memory'?"), ("zzz", "inst")])
def test_a_name_that_is_not_installed(place: Place, name: str, hint: str) -> None:
    said = problem(place, name)
    assert f"no plugin {name!r} is installed ({hint}" in said


def test_a_policy_that_is_not_on_disk_names_no_files(place: Place) -> None:
    place.copy("good")
    with pytest.raises(PolicyError, match="only a policy on disk may name plugin files"):
        Compactor({**BASE, "plugins": ["./good.py"]})
    with pytest.raises(PolicyError, match="only a policy on disk may name plugin files"):
        Compactor("default", overrides={"plugins": ["./good.py"]})


def test_a_file_is_relative_to_the_policy_that_names_it(place: Place) -> None:
    folder = place.folder / "below"
    folder.mkdir()
    Place(folder).copy("good")
    base = folder / "base.yaml"
    base.write_text("version: 1\nname: base\nextends: default\nplugins: [./good.py]\n", "utf-8")
    place.policy.write_text("version: 1\nname: child\nextends: ./below/base.yaml\n", "utf-8")
    hooks = Compactor(place.policy, environ={}).prepared.hooks["on_pre_compress"]
    assert [found.plugin for found in hooks] == ["good"]


@pytest.mark.parametrize(
    ("config", "where", "message"),
    [
        ({"path": "x", "size": "many"}, "11:11", "plugins.0.config.size: input should be a valid integer"),
        ({"path": "x", "sice": 3}, "11:5", "plugins.0.config.sice: unknown option (did you mean 'size'?)"),
        ({"size": 3}, "10:5", "plugins.0.config.path: field required"),
    ],
)
def test_a_wrong_config(place: Place, config: dict[str, object], where: str, message: str) -> None:
    said = problem(place, {"use": place.write("configured", CONFIG), "config": config})
    assert said.startswith(f"policy.yaml:{where}: {message}")


def test_a_config_reaches_the_plugin(place: Place) -> None:
    plugin = {"use": place.write("configured", CONFIG), "config": {"path": "facts"}}
    done = place.compactor(plugin).compact(SESSION, force=True)
    assert [(call.failure, call.tokens > 0) for call in done.report.plugins] == [(None, True)]


def test_a_config_for_a_plugin_that_takes_none(place: Place) -> None:
    said = problem(place, {"use": place.copy("good")[0], "config": {"path": "x"}})
    assert "plugin 'good' takes no config" in said


def test_a_plugin_is_listed_once(place: Place) -> None:
    assert "plugins.1: the plugin 'good' is listed twice" in problem(place, *place.copy("good", "good"))


def test_two_plugins_that_register_one_name(place: Place) -> None:
    code = hook("register_counters", "", "return {'shorten': object}")
    said = problem(place, place.write("one", code), place.write("two", code))
    assert "the name 'shorten' is provided by 'one' (one.py) and by 'two' (two.py)" in said


def test_disabled_plugins_are_not_even_looked_at(place: Place) -> None:
    broken = place.write("broken", "raise RuntimeError\n")
    environ = {"COMPACTOR_DISABLED_PLUGINS": "broken, sqlite_memory"}
    compactor = place.compactor(broken, *place.copy("good"), "sqlite_memory", environ=environ)
    assert [found.plugin for found in compactor.prepared.hooks["on_pre_compress"]] == ["good"]


@pytest.mark.parametrize("names", [("good", "raises", "good_async"), ("good_async", "good", "raises")])
def test_the_order_of_the_list_is_that_of_the_calls(place: Place, names: tuple[str, ...]) -> None:
    done = place.compactor(*place.copy(*names)).compact(SESSION, force=True)
    assert tuple(call.plugin for call in done.report.plugins) == names


def test_a_changed_file_is_loaded_anew(place: Place) -> None:
    plugin = place.write("changing", hook("on_pre_compress"))
    assert place.compactor(plugin).prepared.hooks["on_pre_compress"]
    place.write("changing", hook("provide_state", body="return 'longer than before'"))
    prepared = place.compactor(plugin).prepared
    assert not prepared.hooks["on_pre_compress"]
    assert prepared.hooks["provide_state"]


def test_nothing_is_loaded_that_is_not_listed(place: Place) -> None:
    assert not any(place.compactor().prepared.hooks.values())


def distribution(folder: Path, name: str, *points: str) -> None:
    """What pip leaves of an installed package: its metadata and its entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("\n".join(["[compactor.plugins]", *points, ""]), "utf-8")


def test_two_distributions_with_one_name(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(place.folder / "site", "alpha", "clashing = alpha_clashing")
    distribution(place.folder / "site", "beta", "clashing = beta_clashing")
    monkeypatch.syspath_prepend(place.folder / "site")
    said = problem(place, "clashing")
    assert "the name 'clashing' is taken by two plugins, of alpha 1.0 and beta 1.0; uninstall one of them" in said
    place.compactor()  # nobody who does not name it is bothered


def test_one_module_under_two_names(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    site = place.folder / "site"
    distribution(site, "gamma", "gamma_one = gamma_module", "gamma_two = gamma_module")
    (site / "gamma_module.py").write_text(hook("on_pre_compress"), "utf-8")
    monkeypatch.syspath_prepend(site)
    assert "is the same code as another plugin of the policy" in problem(place, "gamma_one", "gamma_two")


@pytest.mark.parametrize("body", ["raise RuntimeError('gone')", "raise SystemExit('gone')"])
def test_an_installed_plugin_that_cannot_be_imported(place: Place, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    site = place.folder / "site"
    distribution(site, "delta", "delta = delta_module")
    (site / "delta_module.py").write_text(body, "utf-8")
    monkeypatch.syspath_prepend(site)
    assert "plugin 'delta' of delta 1.0 cannot be imported" in problem(place, "delta")


def test_the_shipped_plugins_are_installed() -> None:
    shipped = {"markdown_memory", "sqlite_memory", "webhook_memory", "todo_state", "files_state"}
    assert shipped <= {point.name for point in entry_points(group="compactor.plugins")}


def test_what_plugins_can_implement() -> None:
    assert set(hook_names()) == {
        *("register_counters", "register_pruners", "register_summarizers", "register_formats", "register_redactors"),
        *("on_pre_compress", "on_post_compress", "on_compaction_failed", "provide_state"),
    }


@pytest.mark.parametrize("maker", ["raise RuntimeError('no server')", "raise SystemExit('no server')"])
def test_what_a_plugin_registered_cannot_be_made(place: Place, maker: str) -> None:
    code = f"def make(*given):\n    {maker}\n\n{hook('register_summarizers', '', 'return {' + repr('own') + ': make}')}"
    with pytest.raises(Exception, match=r"summarizer 'own' cannot be made: .*no server") as caught:
        place.compactor(place.write("maker", code), summary={"summarizers": ["own"]})
    assert caught.type.__name__ == "PluginError"
