"""``compactor plugins``, and plugins in what the other commands report."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import copy

import pytest

from .conftest import DATA, LONG, SMALL_WINDOW, Run

RUN = "from compactor.cli.main import run; run()"
SUFFIX = "extends: default\ncounter: rough\nwindow: {context_length: 16000}\n"


def policy(plugins: str, name: str = "mine.yaml") -> str:
    Path(name).write_text(f"version: 1\nname: mine\n{SUFFIX}plugins:\n{plugins}", "utf-8")
    return name


def plugin(*names: str) -> None:
    for name in names:
        copy(DATA / "plugins" / f"{name}.py", ".")


def flat(text: str) -> str:
    return " ".join(text.split())


def test_list_and_what_the_policy_lists(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin("good")
    mine = policy("  - ./good.py\n  - markdown_memory\n")
    lines = {line.split()[0]: flat(line) for line in run("plugins", "list", "--policy", mine).stdout.splitlines()}
    assert lines["good"] == "good good.py on_pre_compress yes (1)"
    assert lines["markdown_memory"].startswith("markdown_memory context-compactor ")
    assert lines["markdown_memory"].endswith("yes (2)")
    assert not lines["sqlite_memory"].endswith(")")
    monkeypatch.setenv("COMPACTOR_DISABLED_PLUGINS", "good")
    assert "good good.py on_pre_compress disabled" in flat(run("plugins", "list", "--policy", mine).stdout)


def test_show(run: Run) -> None:
    copy(DATA / "plugin_package" / "example_notes.py", ".")
    done = run("plugins", "show", "./example_notes.py")
    assert done.exit_code == 0
    shown = flat(done.stdout)
    assert "Keeps a note of every compaction in a file" in shown
    assert "on_post_compress A compaction is done." in shown
    assert "path Path (required) The file with the notes." in shown
    assert "prefix str 'note' What a note begins with." in shown


def test_show_the_options_of_a_pruner_and_what_a_policy_sets(run: Run) -> None:
    assert run("plugins", "new", "cutter", "--kind", "pruner", "--dir", "own").exit_code == 0
    shown = flat(run("plugins", "show", "own/cutter.py").stdout)
    assert "keep int 200 Characters that stay at either end." in shown
    Path("own/mine.yaml").write_text(f"version: 1\nname: mine\n{SUFFIX}plugins: [./cutter.py]\n", "utf-8")
    shown = flat(run("plugins", "show", "cutter", "--policy", "own/mine.yaml").stdout)
    assert "in the policy own/mine.yaml: required: False, deadline: 10.0, max_tokens: 2000" in shown
    assert "own/cutter.py)" in shown


@pytest.mark.parametrize(
    ("name", "said"),
    [("./typo", "./typo.py"), ("markdown_memry", "did you mean 'markdown_memory'?"), ("./x.py", "no file")],
)
def test_show_what_is_not_there(run: Run, name: str, said: str) -> None:
    done = run("plugins", "show", name)
    assert done.exit_code == 2
    assert said in done.stderr


def test_check_says_what_came_of_each_hook(run: Run) -> None:
    plugin("good", "raises", "wrong_type")
    done = run("plugins", "check", "--policy", policy("  - ./good.py\n  - ./raises.py\n  - ./wrong_type.py\n"))
    assert done.exit_code == 1
    rows = [flat(line) for line in done.stdout.splitlines()[2:]]
    assert rows[0].startswith("good on_pre_compress ok: GOOD: the build needs JDK 21 0.0")
    assert rows[1].startswith("raises on_pre_compress FAILED: RuntimeError: the database is gone 0.0")
    assert rows[2].startswith("wrong_type on_pre_compress FAILED: returned dict, not a text or None 0.0")


def test_check_fires_every_hook_with_its_event(run: Run) -> None:
    hooks = {
        "on_pre_compress": "assert event.folded and event.messages and event.summary and event.count == 1",
        "provide_state": "assert event.messages and event.max_tokens == 2000; return 'state'",
        "on_post_compress": "assert event.summary and event.report['tokens_before'] > event.report['tokens_after']",
        "on_compaction_failed": "assert event.outcome == 'failed' and event.reason",
    }
    code = [f"@compactor.hookimpl\ndef {name}(event):\n    {body}\n" for name, body in hooks.items()]
    Path("all.py").write_text("import compactor\n\n" + "\n".join(code) + "\nprint('loaded')\n", "utf-8")
    done = run("plugins", "check", "--policy", policy("  - ./all.py\n"))
    assert done.exit_code == 0, done.stdout
    assert {line.split()[1] for line in done.stdout.splitlines()[2:]} == set(hooks)
    assert "loaded" not in done.stdout
    assert "loaded" in done.stderr


def test_check_leaves_the_memory_alone(run: Run) -> None:
    done = run("plugins", "check", "--policy", policy("  - markdown_memory\n  - sqlite_memory\n"))
    assert done.exit_code == 0
    assert {path.name for path in Path().iterdir()} == {"long.json", "short.json", "mine.yaml"}
    assert "note: hooks ran in a temporary folder; a plugin with an absolute path has written there" in done.stderr


@pytest.mark.parametrize(
    "plugins", ["  - ./nowhere.py\n", "  - no_such_plugin\n", "  - {use: ./good.py, config: {a: 1}}\n"]
)
def test_check_of_what_cannot_be_loaded(run: Run, plugins: str) -> None:
    plugin("good")
    done = run("plugins", "check", "--policy", policy(plugins))
    assert done.exit_code == 2
    assert done.stderr.startswith("error: mine.yaml:7:")


def test_check_without_plugins(run: Run) -> None:
    done = run("plugins", "check", "--policy", "default")
    assert (done.exit_code, done.stdout) == (0, "the policy 'default' has no plugins to check\n")


@pytest.mark.parametrize("kind", ["memory", "state", "summarizer", "pruner"])
def test_new_writes_a_plugin_whose_test_passes(run: Run, kind: str) -> None:
    done = run("plugins", "new", f"my_{kind}", "--kind", kind, "--dir", "own")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    said = [line.removeprefix("  ") for line in lines[lines.index("") + 1 :] if line.startswith("  ")]
    Path("own/mine.yaml").write_text(f"version: 1\nname: mine\n{SUFFIX}" + "\n".join(said) + "\n", "utf-8")
    assert run("plugins", "check", "--policy", "own/mine.yaml").exit_code == 0
    used = run("compress", "long.json", "--policy", "own/mine.yaml", "--json")
    assert json.loads(used.stdout)["outcome"] in ("compacted", "pruned")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"own/test_my_{kind}.py"]
    tested = subprocess.run(command, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Mine", "--kind", "state"), "'Mine' cannot name a plugin"),
        (("class", "--kind", "state"), "'class' cannot name a plugin"),
        (("mine", "--kind", "memry"), "--kind memry: there is no such kind, there are 'memory', 'state', 'summarizer'"),
        (("sqlite_memory", "--kind", "memory"), "is the name of an installed plugin"),
        *[
            ((name, "--kind", "state"), f"{name!r} is the name of a Python module, which the file would hide: try")
            for name in ("json", "test", "re", "compactor", "yaml")
        ],
    ],
)
def test_new_refuses(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run("plugins", "new", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_an_edit_in_the_same_moment_is_seen(run: Run) -> None:
    mine = policy("  - ./edited.py\n")
    code = "import compactor\n\n@compactor.hookimpl\ndef on_pre_compress(event):\n    return 'text 1'\n"
    for text in ("text 1", "text 2"):
        Path("edited.py").write_text(code.replace("text 1", text), "utf-8")
        os.utime("edited.py", (1_700_000_000, 1_700_000_000))
        assert f"ok: {text}" in flat(run("plugins", "check", "--policy", mine).stdout)


@pytest.mark.parametrize("there", ["mine.py", "test_mine.py"])
def test_new_overwrites_nothing(run: Run, there: str) -> None:
    Path(there).write_text("mine", "utf-8")
    done = run("plugins", "new", "mine", "--kind", "state")
    assert done.exit_code == 2
    assert "exists already" in done.stderr
    assert [path.name for path in Path().glob("*mine.py")] == [there]
    assert Path(there).read_text("utf-8") == "mine"


def test_the_report_has_plugins_and_secrets(run: Run) -> None:
    plugin("good", "raises")
    conversation = json.loads(Path("long.json").read_text("utf-8"))
    conversation[3]["content"] += " password=hunter2hunter2 and AKIAIOSFODNN7EXAMPLE"
    Path("secret.json").write_text(json.dumps(conversation), "utf-8")
    done = run("compress", "secret.json", "--policy", policy("  - ./good.py\n  - ./raises.py\n"))
    rows = [flat(line) for line in done.stderr.splitlines()]
    assert any(row.startswith("plugin good on_pre_compress: 0.0") and row.endswith("tokens") for row in rows), rows
    assert any(row.startswith("plugin raises on_pre_compress: failed: RuntimeError: the data") for row in rows), rows
    (redacted,) = [row for row in rows if row.startswith("redacted ")]
    data = json.loads(run("compress", "secret.json", "--policy", "mine.yaml", "--json").stdout)
    assert data["redacted"]
    assert all(f"{count} {kind}" in redacted for kind, count in data["redacted"].items())
    assert [call["plugin"] for call in data["plugins"]] == ["good", "raises"]


def test_restated_state_is_shown_behind_the_summary(run: Run) -> None:
    mine = policy("  - ./branch.py\n  - ./silent.py\n")
    head = "import compactor\n\n@compactor.hookimpl\ndef provide_state(event):\n"
    Path("branch.py").write_text(f"{head}    return 'Branch: wip'\n", "utf-8")
    Path("silent.py").write_text(f"{head}    return None\n", "utf-8")
    told = run("compress", "long.json", "--policy", mine, "--show-summary").stderr
    assert told.endswith("\n\n## Present State\nBranch: wip\n")
    assert "its frame, and 7 of restated state)" in told
    assert any(flat(line).endswith("s, nothing returned") for line in told.splitlines())
    for summarizer, start in (("extractive", "## Present State"), ("litellm", "[CONTEXT COMPACTION]")):
        options = ("--policy", mine, "--summarizer", summarizer, "--show-summary", "--json")
        state = json.loads(run("compress", "long.json", *options).stdout)["state"]
        assert state.startswith(start)
        assert state.endswith("## Present State\nBranch: wip")


def test_no_row_without_plugins_and_secrets(run: Run) -> None:
    done = run("compress", "long.json", *SMALL_WINDOW)
    assert not [line for line in done.stderr.splitlines() if line.split()[0] in ("plugin", "redacted")]


def test_what_a_plugin_prints_is_not_in_the_json(run: Run) -> None:
    Path("loud.py").write_text(
        "import compactor\n\nprint('LOUD at load')\n\n"
        "@compactor.hookimpl\ndef on_pre_compress(event):\n    print('LOUD in the hook')\n",
        "utf-8",
    )
    done = run("compress", "long.json", "--policy", policy("  - ./loud.py\n"), "--json")
    assert json.loads(done.stdout)["outcome"] == "compacted"
    assert done.stderr.count("LOUD") == 2


def process(*arguments: str, path: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the command as a process of its own, with another folder to import from."""
    environ = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_a_local_file_end_to_end() -> None:
    plugin("good", "sleeps", "threads", "exits")
    mine = policy("  - ./good.py\n  - {use: ./sleeps.py, deadline: 0.2}\n  - ./threads.py\n  - ./exits.py\n")
    done = process("compress", "long.json", "--policy", mine, "-o", "out.json")
    assert "plugin sleeps on_pre_compress: failed: no answer within 0.2 s" in flat(done.stderr)
    assert "plugin exits on_pre_compress: failed: SystemExit: 3" in flat(done.stderr)
    assert len(json.loads(Path("out.json").read_text("utf-8"))) < len(LONG)


def by_hand(target: Path) -> None:
    """What pip would leave of the package, where it cannot build offline."""
    copy(DATA / "plugin_package" / "example_notes.py", target)
    info = target / "example_notes-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-notes\nVersion: 1.2.3\n", "utf-8")
    (info / "entry_points.txt").write_text("[compactor.plugins]\nexample_notes = example_notes\n", "utf-8")


def by_pip(target: Path) -> None:
    from importlib.metadata import version

    if find_spec("wheel") is None and tuple(map(int, version("setuptools").split(".")[:2])) < (70, 1):
        pytest.skip("this setuptools cannot build wheels")
    source = target.with_name("source")
    source.mkdir()
    for name in ("pyproject.toml", "example_notes.py"):  # building leaves files beside them
        copy(DATA / "plugin_package" / name, source)
    options = ["-q", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("install", [by_hand, by_pip])
def test_an_installed_package_end_to_end(tmp_path: Path, install: object) -> None:
    target = tmp_path / "site"
    target.mkdir()
    assert callable(install)
    install(target)
    mine = policy("  - use: example_notes\n    required: true\n    config: {path: notes.txt, prefix: mine}\n")
    listed = flat(process("plugins", "list", "--policy", mine, path=target).stdout)
    assert "example_notes example-notes 1.2.3 on_post_compress, on_pre_compress yes (1)" in listed
    checked = flat(process("plugins", "check", "--policy", mine, path=target).stdout)
    assert "example_notes on_pre_compress ok: mine: 5 of 10 messages are folded" in checked
    assert not Path("notes.txt").exists()
    done = process("compress", "long.json", "--policy", mine, "-o", "out.json", path=target)
    assert "plugin example_notes on_post_compress: " in flat(done.stderr)
    assert Path("notes.txt").read_text("utf-8") == "mine: compacted\n"
    gone = process("compress", "long.json", "--policy", mine, code=2)
    assert "no plugin 'example_notes' is installed" in gone.stderr
