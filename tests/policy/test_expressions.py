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
        ("(tokens if tokens > threshold_tokens else threshold_tokens) // 7 % 10 == 1", True),
        ("message_count in [9, 10] and 'a' in 'abc' and 1 < message_count <= 10", True),
        ("-tokens + 1.5e3 / 2 - 200 > 0 or (compaction_count or tokens) * 2 == 1_000", True),
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
        ("tokns > 5", "unknown variable 'tokns'; known are 'tokens', 'estimated_tokens'"),
        ("a > b", "unknown variables 'a', 'b'; known are"),
        ("range(5)", "unknown variable 'range'"),
        ("tokens >", "not an expression: unexpected end"),
        ("tokens > 5 }}", "not an expression: "),
        ("tokens > '5'", "the condition cannot be computed: "),
        ("tokens|nothing > 1", "a filter cannot be used"),
        ("[tokens, 3]|max == 500", "a filter cannot be used"),
        ("tokens.x > 5", "a part of a value (a dot) cannot be used"),
        ("tokens.__class__", "a part of a value (a dot) cannot be used"),
        ("[1, 2][0] == tokens", "a part of a value (brackets) cannot be used"),
        ("tokens is odd", "a test with 'is' cannot be used"),
        ("tokens.bit_length() > 5", "a call cannot be used"),
        ("tokens in {1: 2}", "a mapping cannot be used"),
        ("tokens ~ 'x' == '5x'", "the operator ~ cannot be used"),
        (" + ".join(["1"] * 5_000), "not an expression: too long or nested too deeply"),
        ("(" * 5_000 + "1" + ")" * 5_000, "not an expression: too long or nested too deeply"),
        ("tokens > " + "9" * 5_000, "not an expression: "),
    ],
)
def test_refusals(text: str, expected: str) -> None:
    with pytest.raises(PolicyError) as caught:
        compile_condition(text, KNOWN)
    assert caught.value.problems[0].message.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tokens ** tokens ** tokens > 1", "the power operator ** cannot be used"),
        ("9 ** 9 ** 9 ** 9 > 1", "the power operator ** cannot be used"),
        ("'x' * 99999999999 == ''", "the operator * is for numbers"),
        ("(tokens and 'x') * 99999999999 == ''", "the operator * is for numbers"),
        ("[1] * 99999999999 == []", "the operator * is for numbers"),
        ("tokens * ('x' if tokens > 5 else 1) == 1", "the operator * is for numbers"),
        ("'%99999999999d' % tokens == ''", "the operator % is for numbers"),
    ],
)
def test_what_could_run_long_is_refused_before_it_is_computed(text: str, expected: str) -> None:
    with pytest.raises(PolicyError) as caught:
        compile_condition(text, KNOWN)
    problem = caught.value.problems[0]
    assert problem.message.startswith(expected)
    assert "is made of names, numbers" in problem.hint


def test_what_depends_on_the_numbers_is_refused_when_it_happens() -> None:
    condition = compile_condition("tokens / (message_count - 1) > 5", KNOWN)
    assert condition(NUMBERS)
    with pytest.raises(PolicyError, match="cannot be computed: division by zero"):
        condition({**NUMBERS, "message_count": 1})
