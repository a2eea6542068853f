"""What is said about a policy that is wrong: each kind of mistake, its position, and all of them at once."""

from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from compactor.errors import Problem
from compactor.policy.draft import Draft

from .conftest import Refused, Write

MISTAKES = yaml.safe_load((Path(__file__).parents[1] / "data/policies/mistakes.yaml").read_text(encoding="utf-8"))
AMOUNT = "a share is between 0 and 1, such as 0.5; tokens are a whole number above 1000, such as 60000"


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case["problem"])
def test_one_mistake_is_one_problem(write: Write, refused: Refused, case: dict[str, str]) -> None:
    write(case["policy"])
    assert refused() == [f"policies/mine.yaml:{case['problem']}"]


@pytest.mark.parametrize("key", ["threshold", "target"])
@pytest.mark.parametrize(
    "value", ["true", "0", "1", "1.0", "1.5", "0.0", "50", "1000", "-0.5", "-2000", "half", "[0.5]"]
)
def test_amounts_are_refused_with_both_forms(write: Write, refused: Refused, key: str, value: str) -> None:
    write(f"{key}: {value}")
    [problem] = refused()
    position = f"policies/mine.yaml:3:{len(key) + 3}"
    assert problem.startswith(f"{position}: {key}: expected a share of the window or a number of tokens, got ")
    assert problem.endswith(f"({AMOUNT})")


def test_all_mistakes_come_at_once_in_order(write: Write, refused: Refused, environ: dict[str, str]) -> None:
    environ["COMPACTOR_POLCY_PATH"] = "x"
    write(
        "extends: hermse\n"
        "threshold: 1\n"
        "enabled: yes\n"
        "boundaries:\n"
        "  protect_frist_n: 5\n"
        "  anchors: [last_usr]\n"
        "triggers:\n"
        "  - {name: a, at: turn_start, when: tokns > 5}\n"
        "summary:\n"
        "  options: {api_key: a, my_token: b}\n"
        "  on_failure: statc\n"
        "models:\n"
        "  - {match: a, target: 7}\n"
        "threshold: 2\n"
    )  # fmt: skip
    found = refused(overrides={"window.unknown_model": -1})
    assert [problem.split(": ")[0].removeprefix("policies/mine.yaml:") for problem in found] == [
        "3:10", "4:12", "5:10", "7:3", "8:13", "10:37", "12:22", "12:35", "13:15", "15:24", "16:1",
        "<overrides>", "COMPACTOR_POLCY_PATH",
    ]  # fmt: skip


def test_checks_run_although_the_models_complain(write: Write, refused: Refused) -> None:
    def no_pruners(draft: Draft) -> Iterable[Problem]:
        for index, entry in enumerate(draft.data["pruning"]):
            yield draft.problem(("pruning", index, "use"), f"no pruner {entry['use']!r}")
            yield draft.problem(("pruning", index, "size"), "unknown option", "did you mean 'length'?", at_key=True)

    write("threshold: 3\npruning:\n  - use: shrink\n    size: 5\n")
    assert refused(checks=[no_pruners])[1:] == [
        "policies/mine.yaml:5:10: pruning.0.use: no pruner 'shrink'",
        "policies/mine.yaml:6:5: pruning.0.size: unknown option (did you mean 'length'?)",
    ]


def test_checks_see_what_differs_by_model(write: Write, refused: Refused) -> None:
    def no_plugin(draft: Draft) -> Iterable[Problem]:
        if draft.data["counter"] == "plugin":
            yield draft.problem(("counter",), "no counter 'plugin'")

    write("models:\n  - match: other\n    counter: plugin\n")
    assert refused(checks=[no_plugin]) == ["policies/mine.yaml:5:14: counter: no counter 'plugin'"]


def test_mistakes_in_a_parent_are_located_there(write: Write, refused: Refused) -> None:
    write("min_gain: 2", "policies/parent.yaml")
    write("extends: parent")
    assert refused() == ["policies/parent.yaml:3:11: min_gain: expected a number below 1, got 2"]


def test_a_mapping_has_no_lines(refused: Refused) -> None:
    assert refused({"threshold": "x", "zebra": "red"}) == [
        "<policy>: version: the key is missing (write 'version: 1')",
        "<policy>: name: the key is missing",
        f"<policy>: threshold: expected a share of the window or a number of tokens, got 'x' ({AMOUNT})",
        "<policy>: zebra: unknown key",
    ]


def test_a_file_that_is_not_text(write: Write, refused: Refused) -> None:
    write("").write_bytes(b"version: 1\nname: \xff\n")
    [problem] = refused()
    assert problem.startswith("policies/mine.yaml: the file cannot be read: ")
