"""Mends broken tool pairs that arrived with the input: cuts of ours lie between groups and break none.

REFERENCE section 8, and law 2 for several results of one call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compactor.messages.message import Message, Reasoning, ToolCall, is_blank
from compactor.messages.pairing import Pairing, pair

MakeStub = Callable[[ToolCall], Message]


@dataclass(frozen=True, slots=True)
class Repairs:
    """How many results without a call and repeated results were removed, calls given a stub or removed, and
    results put back behind their call."""

    orphans: int = 0
    duplicates: int = 0
    stubs: int = 0
    calls: int = 0
    moved: int = 0

    @property
    def total(self) -> int:
        return self.orphans + self.duplicates + self.stubs + self.calls + self.moved


def repair(
    before: Sequence[Message], after: Sequence[Message], make_stub: MakeStub | None
) -> tuple[tuple[Message, ...], tuple[Message, ...], Repairs]:
    """Mends the kept messages ``before`` and ``after`` the place of the summary.

    ``make_stub`` makes the result for a call that has none, directly after its message, in call order; None
    removes such calls instead. Calls that may still get their result are left alone.
    """
    kept = (*before, *after)
    pairing = pair(kept)
    silent = {place for place in pairing.unanswered + pairing.open_calls if place[0] < len(before)}
    silent |= set(pairing.unanswered)
    gone = set(pairing.orphans) | pairing.duplicates.keys() | (set() if make_stub else silent)
    mended: tuple[list[Message], list[Message]] = ([], [])
    stubs = 0
    for position, message in enumerate(kept):
        side = mended[0] if position < len(before) else mended[1]
        left = _without(message, position, gone)
        if left is not None:
            side.append(left)
        if make_stub is not None:
            missing = [part for number, part in _calls(message) if (position, number) in silent]
            side.extend(make_stub(call) for call in missing)
            stubs += len(missing)
    calls = 0 if make_stub else len(silent)
    return tuple(mended[0]), tuple(mended[1]), Repairs(len(pairing.orphans), len(pairing.duplicates), stubs, calls)


def is_whole(pairing: Pairing) -> bool:
    """Whether every result has its one call and every call its one result, or still waits for it."""
    return not (pairing.orphans or pairing.duplicates or pairing.unanswered)


def _without(message: Message, position: int, gone: set[tuple[int, int]]) -> Message | None:
    """The message without the parts at ``gone``; None when nothing that can be sent is left."""
    parts = tuple(part for number, part in enumerate(message.parts) if (position, number) not in gone)
    if len(parts) == len(message.parts):
        return message
    return (
        message.with_parts(parts) if not all(is_blank(part) or isinstance(part, Reasoning) for part in parts) else None
    )


def _calls(message: Message) -> list[tuple[int, ToolCall]]:
    return [(number, part) for number, part in enumerate(message.parts) if isinstance(part, ToolCall)]
