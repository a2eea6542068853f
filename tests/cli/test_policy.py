"""``compactor policy``: list, show, validate, schema, diff, new."""

import json
from pathlib import Path

import pytest

from compactor.policy.loader import load_policy
from compactor.policy.schema import json_schema

from .conftest import Run

MISTAKES = """\
version: 2
name: bad
extends: hermes
threshold: 1.5
min_gain: lots
boundaries:
  protect_frist_n: 3
  tail_budget_ratio: 2
  anchors: [first_user]
pruning:
  - use: clear_tool_results
    longer_then: 5
counter: exact
summary:
  first: nope.j2
  timeout: 0
"""


@pytest.fixture
def mine() -> Path:
    """``policies/mine.yaml``, which changes two keys and one more for some models."""
    path = Path("policies/mine.yaml")
    path.parent.mkdir()
    text = "version: 1\nname: mine\nextends: hermes\nthreshold: 0.6\nmodels:\n  - {match: 'big-*', threshold: 0.8}\n"
    path.write_text(text, encoding="utf-8")
    return path


def test_list(run: Run, mine: Path) -> None:
    told = run("policy", "list").stdout
    rows = {line.split()[0]: line for line in told.splitlines() if line.strip()}
    assert {"default", "hermes", "mine"} <= rows.keys()
    assert rows["mine"].rstrip().endswith("policies/mine.yaml")
    assert "Head, tail and a structured hand-off summary" in rows["hermes"]


def test_show_is_a_policy_file(run: Run, mine: Path) -> None:
    shown = run("policy", "show", "mine").stdout
    Path("copy.yaml").write_text(shown, encoding="utf-8")
    assert load_policy("copy.yaml").policy == load_policy("mine").policy
    assert "threshold: 0.8" in run("policy", "show", "mine", "--model", "big-one").stdout.partition("models:")[0]


def test_origins(run: Run, mine: Path) -> None:
    told = run("policy", "show", "mine", "--origins", "--model", "big-one", "--set", "min_gain=0.2").stdout
    rows = {line.split()[0]: line.split()[1:] for line in told.splitlines() if line.strip()}
    assert rows["threshold"] == ["0.8", "policies/mine.yaml:6"]
    assert rows["min_gain"] == ["0.2", "--set"]
    assert rows["pruning.clear_tool_results.longer_than"][0] == "200"
    assert rows["boundaries.protect_first_n"][1].startswith("shipped:hermes.yaml:")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_origins_where_a_table_has_no_room(run: Run, mine: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    told = run("policy", "show", "mine", "--origins", "--set", "min_gain=0.2").stdout
    lines = told.splitlines()
    assert "threshold = 0.6  # policies/mine.yaml:4" in lines
    assert "min_gain = 0.2  # --set" in lines
    assert all(len(line) <= width for line in lines)
    assert "change it only if the user's aim has evolved." in " ".join(told.split())
    keys = [line for line in lines if not line.startswith(" ")]
    assert len(keys) == sum("# " in line for line in lines)


def test_a_list_says_what_a_policy_without_description_extends(run: Run) -> None:
    Path("policies").mkdir()
    for name, more in {
        "child": "extends: hermes\n",
        "alone": "",
        "told": "extends: hermes\ndescription: Mine.\n",
    }.items():
        Path(f"policies/{name}.yaml").write_text(f"version: 1\nname: {name}\n{more}", encoding="utf-8")
    rows = {line.split()[0]: line.split()[1:] for line in run("policy", "list").stdout.splitlines() if line.strip()}
    assert rows["child"] == ["(extends", "hermes)", "policies/child.yaml"]
    assert rows["alone"] == ["policies/alone.yaml"]
    assert rows["told"] == ["Mine.", "policies/told.yaml"]


def test_validate(run: Run, mine: Path) -> None:
    told = run("policy", "validate", "mine", "policies/mine.yaml", "default", "hermes")
    assert told.exit_code == 0
    assert [line.split()[:2] for line in told.stdout.splitlines()] == [
        ["ok:", "mine"],
        ["ok:", "mine"],
        ["ok:", "default"],
        ["ok:", "hermes"],
    ]


@pytest.mark.parametrize(
    "command", [("policy", "validate", "bad.yaml"), ("plan", "short.json", "--policy", "bad.yaml")]
)
def test_all_mistakes_at_once(run: Run, command: tuple[str, ...]) -> None:
    Path("bad.yaml").write_text(MISTAKES, encoding="utf-8")
    told = run(*command)
    assert (told.exit_code, told.stdout) == (2, "")
    places = [line.split(": ")[:2] for line in told.stderr.splitlines()[1:]]
    assert places == [
        ["bad.yaml:1:10", "version"],
        ["bad.yaml:4:12", "threshold"],
        ["bad.yaml:5:11", "min_gain"],
        ["bad.yaml:7:3", "boundaries.protect_frist_n"],
        ["bad.yaml:8:22", "boundaries.tail_budget_ratio"],
        ["bad.yaml:9:13", "boundaries.anchors.0"],
        ["bad.yaml:12:5", "pruning.0.longer_then"],
        ["bad.yaml:13:10", "counter"],
        ["bad.yaml:15:10", "summary.first"],
        ["bad.yaml:16:12", "summary.timeout"],
    ]


def test_one_bad_policy_does_not_hide_the_others(run: Run, mine: Path) -> None:
    told = run("policy", "validate", "nope", "mine")
    assert told.exit_code == 2
    assert "there is no policy 'nope'" in told.stderr
    assert told.stdout.startswith("ok: mine")


def test_schema(run: Run) -> None:
    assert json.loads(run("policy", "schema").stdout) == json_schema()


def test_diff(run: Run, mine: Path) -> None:
    told = run("policy", "diff", "mine", "hermes").stdout
    rows = {line.split()[0]: line.split()[1:] for line in told.splitlines()[2:] if line.strip()}
    assert rows["threshold"] == ["0.6", "0.5"]
    assert rows.keys() == {"threshold", "models", "models.big-*.match", "models.big-*.threshold"}
    assert run("policy", "diff", "mine", "mine").stdout == "mine and mine do not differ\n"


def test_new(run: Run) -> None:
    told = run("policy", "new", "team", "--extends", "hermes")
    assert told.exit_code == 0
    assert "policies/team.yaml" in told.stdout
    assert "--policy team" in told.stdout
    loaded = load_policy("team").policy
    assert loaded.model_copy(update={"name": "hermes", "description": ""}) == load_policy("hermes").policy.model_copy(
        update={"description": ""}
    )
    again = run("policy", "new", "team")
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_new_elsewhere_from_a_path(run: Run, mine: Path) -> None:
    told = run("policy", "new", "on", "--extends", str(mine), "--dir", "own/policies")
    assert "--policy own/policies/on.yaml" in told.stdout
    assert load_policy("own/policies/on.yaml").policy.threshold == 0.6


@pytest.mark.parametrize("name", ["../x", "a/b", "x.yaml", "", "a b"])
def test_new_refuses_names_that_are_none(run: Run, name: str) -> None:
    assert run("policy", "new", name).exit_code == 2
    assert not Path("policies").exists()
