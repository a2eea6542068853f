"""Which key of the policy to change where a compaction would fold nothing. Tried out, not guessed."""

import math
from collections.abc import Iterator

from compactor.cli.opened import Opened
from compactor.policy.overrides import parse_override


def advice(opened: Opened) -> str:
    """The smallest change of the policy under which something is folded, as options for the command line."""
    for change in _changes(opened):
        overrides = [parse_override(key, value, "--set") for key, value in change.items()]
        if opened.plan(opened.choices.compactor(*overrides)).folded:
            asked = " ".join(f"--set {key}={value}" for key, value in change.items())
            return f"to fold more, use {asked} ({', '.join(_now(opened, key) for key in change)})"
    count = len(opened.document.messages)
    return f"no key of the policy would make it fold: there are {count} messages, and nothing between them can go"


def _changes(opened: Opened) -> Iterator[dict[str, str]]:
    """Changes to try, the smallest first."""
    limits, counter, conversation = opened.compactor.limits, opened.compactor.counter, opened.conversation
    tokens = counter.request(conversation.given, conversation.tools)
    # The tail may grow past its budget by the soft ceiling, so a quarter leaves more than half to fold.
    ratio = _rounded(min(tokens / 4 / limits.threshold, opened.compactor.policy.boundaries.tail_budget_ratio))
    tail = {"boundaries.tail_budget_ratio": ratio}
    shortest = {"boundaries.tail_min_messages": "1"}
    head = {"boundaries.protect_first_n": "1"}
    yield from (tail, head, tail | head, tail | shortest, tail | shortest | head)


def _rounded(share: float) -> str:
    """The first two digits of a share that are not zero, without an exponent."""
    digits = max(1, 1 - math.floor(math.log10(share)))
    return f"{share:.{digits}f}".rstrip("0") if share < 1 else "0.9"


def _now(opened: Opened, key: str) -> str:
    """A key's present value and where it is set."""
    name = key.removeprefix("boundaries.")
    return f"{name} is {getattr(opened.compactor.policy.boundaries, name)} now: {opened.ready.loaded.line(key)}"
