"""Runs every golden case under tests/data/golden."""

from pathlib import Path

import pytest

from compactor.testing import GoldenCase, load_cases, run_case

CASES = [case for path in sorted(Path(__file__).parent.glob("data/golden/*.yaml")) for case in load_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_case(case: GoldenCase) -> None:
    run_case(case)


def test_the_accounting_of_the_worked_example() -> None:
    case = next(case for case in CASES if case.name == "the worked example")
    done = run_case(case)
    before, after = done.report.parts["before"], done.report.parts["after"]
    assert 78_000 <= before["middle"] <= 90_000
    assert before["tail"] == 21_000
    text = done.messages[4]["content"]
    assert after["summary"] == len(text) // 4 + 10  # about 2,500 for the summary itself
    assert 10_000 < len(text) < 10_600
    assert sum(after.values()) == done.report.tokens_after
    assert sum(before.values()) == done.report.tokens_before == 150_000
    # 8,000 tokens of cleared results: what twelve of them held, less the placeholders.
    assert 7_000 <= 12 * (2600 - 47) // 4 <= 8_000
