"""Conditions: what they compute and what is refused before they are ever asked."""

import pytest

from compactor.errors import PolicyError
from compactor.policy.expressions import VARIABLES, compile_condition

KNOWN = VARIABLES["turn_start"]
NUMBERS = {**dict.fromkeys(KNOWN, 0), "tokens": 500, "threshold_tokens": 400, "message_count": 10}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("tokens >= threshold_tokens", True),
        ("message_count > 24 and tokens >= threshold_tokens", False),
        ("tokens > threshold_tokens * 1.5 or not compaction_count", True),
        ("[tokens, 3]|max == 500", True),
        ("compaction_count", False),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    condition = compile_condition(text, KNOWN)
    assert condition(NUMBERS) is holds
    assert condition.source == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tokns > 5", "unknown variable 'tokns'; known are 'tokens', 'message_count'"),
        ("a > b", "unknown variables 'a', 'b'; known are"),
        ("range(5)", "unknown variable 'range'"),
        ("tokens >", "not an expression: unexpected end"),
        ("tokens > 5 }}", "not an expression: "),
        ("tokens|nothing", "not an expression: No filter named 'nothing'"),
        ("tokens > '5'", "the condition cannot be computed: "),
        ("tokens.x > 5", "the condition cannot be computed: "),
        ("tokens.__class__", "the condition cannot be computed: "),
    ],
)
def test_refusals(text: str, expected: str) -> None:
    with pytest.raises(PolicyError) as caught:
        compile_condition(text, KNOWN)
    assert caught.value.problems[0].message.startswith(expected)


def test_what_depends_on_the_numbers_is_refused_when_it_happens() -> None:
    condition = compile_condition("tokens / (message_count - 1) > 5", KNOWN)
    assert condition(NUMBERS)
    with pytest.raises(PolicyError, match="cannot be computed: division by zero"):
        condition({**NUMBERS, "message_count": 1})
