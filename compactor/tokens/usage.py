"""What a provider reports of a request: the one figure that is not an estimate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_WHOLE = ("prompt_tokens", "prompt_token_count", "promptTokenCount", "prompt_eval_count")
"""Names of the prompt's tokens, cached ones included."""

_SPLIT = (
    ("input_tokens", ("cache_read_input_tokens", "cache_creation_input_tokens")),
    ("inputTokens", ("cacheReadInputTokens", "cacheWriteInputTokens")),
)
"""Names of the tokens that were not in a cache, each with those of the cached ones beside it."""

RATIO_RANGE = (0.25, 4.0)
"""Counters are off by no more: a larger difference is something that was not counted, and not a matter of scale."""

_MOST = 10**9
"""Tokens: no request has as many."""

SMALLEST_MEASURED = 200
"""Counted tokens below which a report says more about the provider's framing than about its tokenizer."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The prompt of a request as its provider measured it.

    ``messages`` is how many messages the request had; None: all before the newest assistant message, which is then
    taken for the answer.
    """

    prompt_tokens: int
    messages: int | None = None


def read_usage(value: Any) -> Usage | None:
    """The prompt's size in a provider's usage: a dictionary or object in any provider's spelling, or a ``Usage``.

    None where there is none, or where it is zero: a server that reports zeros has not counted.
    """
    if isinstance(value, Usage):
        return value if value.prompt_tokens > 0 else None
    whole = next(filter(None, (_number(value, name) for name in _WHOLE)), 0)
    for name, cached in () if whole else _SPLIT:
        whole = whole or sum(_number(value, part) for part in (name, *cached))
    return Usage(whole) if whole > 0 else None


def says_something(reported: int, counted: int) -> bool:
    """Whether a figure can be the size of a request that the counter puts at ``counted``.

    A far smaller one is what a server has read anew, the part that it had cached left out. A far larger one may well
    be right: not everything that a provider counts is seen from here.
    """
    return reported >= counted * RATIO_RANGE[0]


def _number(value: Any, name: str) -> int:
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 < found < _MOST else 0


def ratio_of(reported: int, counted: int) -> float | None:
    """Reported tokens for each counted one; None where it could not be told from what was never counted."""
    if counted < SMALLEST_MEASURED:
        return None
    low, high = RATIO_RANGE
    return min(max(reported / counted, low), high)
