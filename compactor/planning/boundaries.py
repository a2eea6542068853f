"""Where the head ends and the tail starts: the legal cuts are those between groups, and one of them is chosen."""

from collections.abc import Sequence

from compactor.messages.groups import Group
from compactor.messages.message import Message


def leading_system(messages: Sequence[Message]) -> int:
    """How many system messages a conversation starts with."""
    return next((position for position, message in enumerate(messages) if not message.is_system), len(messages))


def head_end(messages: Sequence[Message], groups: Sequence[Group], protected: int, before: int) -> int:
    """Position where the head ends: ``protected`` messages, to the end of the group that it would cut.

    ``before`` is where an earlier summary stood: what came after that is no beginning any more. The leading
    system messages always belong to the head; a group that waits for its result never does.
    """
    end = min(protected, before)
    for group in groups:
        if group.start >= end:
            break
        if group.open:
            end = group.start
            break
        end = max(end, min(group.stop, before))
    return max(end, leading_system(messages))


def tail_start(
    weights: Sequence[int], groups: Sequence[Group], head: int, ceiling: float, at_least: int, *, strict: bool = False
) -> int:
    """Position where the tail starts, walking back from the end (REFERENCE section 5).

    ``weights`` are the tokens of every message. The walk stops before the message that would take the sum above
    ``ceiling``, if that message, counted in, would be at least the ``at_least``-th from the end. A group that
    this would split goes wholly to the tail, and so does a group that waits for its result. ``strict`` leaves
    such a group out where it would take the sum above ``ceiling`` and ``at_least`` messages remain without it.
    """
    start = len(weights)
    total = 0
    while start > head:
        total += weights[start - 1]
        if total > ceiling and len(weights) - start + 1 >= at_least:
            break
        start -= 1
    for group in groups:
        if group.start < start and (start < group.stop or group.open):
            too_much = strict and not group.open and sum(weights[group.start :]) > ceiling
            start = group.stop if too_much and len(weights) - group.stop >= at_least else group.start
    return max(start, head)
