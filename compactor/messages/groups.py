"""Groups of messages that must never be split: a boundary may only lie between two groups.

A group is a message with all the tool results that follow it. Reasoning needs no rule of its own here: it is part
of the message that it belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from compactor.messages.message import Message
from compactor.messages.pairing import Pairing, pair


@dataclass(frozen=True, slots=True)
class Group:
    """Messages ``start`` to ``stop`` (exclusive). ``open``: a call in it still waits for its result."""

    start: int
    stop: int
    open: bool = False


def partition(messages: Sequence[Message]) -> tuple[Group, ...]:
    """Splits a conversation whose results are adjacent to their calls (see ``gathered``) into groups."""
    starts = [position for position, message in enumerate(messages) if position == 0 or not message.is_result]
    groups = [Group(start, stop) for start, stop in pairwise([*starts, len(messages)])]
    for place in range(len(groups) - 1, -1, -1):
        start = groups[place].start
        if not messages[start].is_system:  # the last turn, the only one that can still wait for results
            if pair(messages[start:]).open_calls:
                groups[place] = replace(groups[place], open=True)
            break
    return tuple(groups)


def gathered(messages: Sequence[Message]) -> tuple[tuple[Message, ...], int]:
    """Results that arrived late stand directly behind their call again; also how many had to be moved.

    A late result is one with some other turn between it and its call. No provider accepts that order, and a cut
    between the two would lose one of them.
    """
    late = _late(messages, pair(messages))
    if not late:
        return tuple(messages), 0
    moved = {result for results in late.values() for result in results}
    ordered: list[Message] = []
    pending: list[Message] = []
    for position, message in enumerate(messages):
        if position in moved:
            continue
        if not message.is_result:
            ordered.extend(pending)
            pending = [messages[result] for result in late.get(position, ())]
        ordered.append(message)
    return (*ordered, *pending), len(moved)


def _late(messages: Sequence[Message], pairing: Pairing) -> dict[int, list[int]]:
    """Position of a calling message -> positions of its results that stand behind some later turn."""
    turn_of: list[int] = []
    turn = -1
    for position, message in enumerate(messages):
        turn = turn if message.is_result else position
        turn_of.append(turn)
    late: dict[int, list[int]] = {}
    answered = [*pairing.answers.items(), *((call, result) for result, call in pairing.duplicates.items())]
    for (call, _), (result, _) in answered:
        if turn_of[result] != call and messages[result].is_result:
            late.setdefault(call, []).append(result)
    return {call: sorted(results) for call, results in late.items()}
