"""``compactor prompt``: list, show, render, copy."""

import json
from pathlib import Path

import pytest

from compactor.templates import Templates

from .conftest import DATA, SMALL_WINDOW, Run


def test_list_and_show(run: Run) -> None:
    told = run("prompt", "list").stdout
    assert "hermes/first.j2" in told
    assert "shipped:hermes/update.j2" in told
    assert run("prompt", "show", "hermes/first.j2").stdout == Templates().find("hermes/first.j2").source


def test_render(run: Run) -> None:
    told = run("prompt", "render", "long.json", *SMALL_WINDOW, "--focus", "the cache of the build")
    assert told.exit_code == 0
    assert "the cache of the build" in told.stdout
    assert "src/module_3.py" in told.stdout
    assert "src/module_42.py" not in told.stdout


def test_render_an_update(run: Run) -> None:
    first = run("prompt", "render", "long.json", *SMALL_WINDOW)
    update = run("prompt", "render", "long.json", *SMALL_WINDOW, "--update")
    assert "the previous summary stands here" in update.stdout
    assert "placeholder" in update.stderr
    assert update.stdout != first.stdout


def test_render_after_a_compaction_is_an_update(run: Run) -> None:
    run("compress", "long.json", *SMALL_WINDOW, "--in-place")
    told = run("prompt", "render", "long.json", *SMALL_WINDOW, "--set", "boundaries.tail_budget_ratio=0.01")
    assert "src/module_12.py: read" in told.stdout
    assert "placeholder" not in told.stderr


def test_render_where_nothing_folds(run: Run) -> None:
    told = run("prompt", "render", DATA / "login_fix.jsonl")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "nothing would be folded" in told.stderr
    assert "--set boundaries." in told.stderr


def test_copy_shadows_the_shipped_one(run: Run) -> None:
    told = run("prompt", "copy", "hermes/first.j2")
    copy = Path("prompts/hermes/first.j2")
    assert copy.read_text(encoding="utf-8") == Templates().find("builtin/hermes/first.j2").source
    assert "prompts/hermes/first.j2" in told.stdout
    copy.write_text("Mine: {{ budget_tokens }}", encoding="utf-8")
    assert run("prompt", "render", "long.json", *SMALL_WINDOW).stdout.startswith("Mine: ")
    again = run("prompt", "copy", "hermes/first.j2")
    assert again.exit_code == 2
    assert copy.read_text(encoding="utf-8").startswith("Mine: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("copy", "hermes/frist.j2"), "no template 'hermes/frist.j2' comes with Compactor (did you mean"),
        (("copy", "../policies/hermes.yaml"), "cannot name a template"),
        (("show", "hermes/frist.j2"), "not found; looked in prompts"),
    ],
)
def test_unknown_templates(run: Run, arguments: tuple[str, ...], message: str) -> None:
    told = run("prompt", *arguments)
    assert told.exit_code == 2
    assert message in told.stderr


def test_a_template_with_an_unknown_variable(run: Run) -> None:
    Path("own.j2").write_text("one\n{{ transcirpt }}", encoding="utf-8")
    policy = "version: 1\nname: own\nextends: default\nsummary:\n  first: ./own.j2\n"
    Path("own.yaml").write_text(policy, encoding="utf-8")
    told = run("plan", "short.json", "--policy", "own.yaml")
    assert told.exit_code == 2
    assert "own.yaml:5:10: summary.first: own.j2:2: unknown variable 'transcirpt'" in told.stderr
    assert "did you mean 'transcript'?" in told.stderr
    assert json.loads(run("plan", "short.json", "--json").stdout)["policy"] == "default"
