"""Runs every golden case under tests/data/golden."""

from pathlib import Path

import pytest

from compactor.testing import GoldenCase, load_cases, run_case

CASES = [case for path in sorted(Path(__file__).parent.glob("data/golden/*.yaml")) for case in load_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_case(case: GoldenCase) -> None:
    run_case(case)
