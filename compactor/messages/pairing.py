"""Which tool result answers which tool call.

Ids are matched by position: a result answers the newest call before it that has its id and no answer yet, since
servers exist that number the calls of every turn from zero. Where ids are missing on both sides, order decides, and
only within one turn: a result must never be taken for that of another request.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.messages.message import Message, ToolCall, ToolResult

Place = tuple[int, int]  # position of the message in the sequence, position of the part in the message


@dataclass(frozen=True, slots=True)
class Pairing:
    """``answers``: call -> its result. The other fields list what has no partner.

    Of several results for one call the last one counts; ``duplicates`` are the earlier ones: result -> call.
    ``open_calls`` are calls without a result that still may get one: those of the last assistant message, when
    nothing but results and system messages stands after it. ``unanswered`` are the others.
    """

    answers: dict[Place, Place]
    orphans: tuple[Place, ...]
    duplicates: dict[Place, Place]
    unanswered: tuple[Place, ...]
    open_calls: tuple[Place, ...]


def pair(messages: Sequence[Message]) -> Pairing:
    """Pairs the calls and results of a conversation, or of any run of messages."""
    answers: dict[Place, Place] = {}
    orphans: list[Place] = []
    duplicates: dict[Place, Place] = {}
    calls: list[Place] = []
    waiting = _Waiting()
    last_turn = 0
    for position, message in enumerate(messages):
        if not message.is_result and not message.is_system:
            last_turn = position
            waiting.forget_nameless()
        for number, part in enumerate(message.parts):
            place = (position, number)
            if isinstance(part, ToolCall):
                calls.append(place)
                waiting.add(part.ids, place)
            elif isinstance(part, ToolResult):
                call = waiting.take(part.ids)
                if call is None:
                    orphans.append(place)
                    continue
                if call in answers:
                    duplicates[answers[call]] = call
                answers[call] = place
    silent = [place for place in calls if place not in answers]
    return Pairing(
        answers,
        tuple(orphans),
        duplicates,
        tuple(place for place in silent if place[0] < last_turn),
        tuple(place for place in silent if place[0] >= last_turn),
    )


class _Waiting:
    """The calls that a result may still answer: by id, and those of the present turn that have none."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[Place]] = {}
        self._nameless: list[Place] = []

    def forget_nameless(self) -> None:
        """A new turn: what it calls without an id is no longer what the one before called."""
        self._nameless.clear()

    def add(self, ids: tuple[str, ...], place: Place) -> None:
        for name in ids:
            queue = self._by_id.get(name)
            if queue and queue[-1][0] == place[0]:
                queue.append(place)  # one message calls twice under one id: answered in order
            else:
                self._by_id[name] = [place]
        if not ids:
            self._nameless.append(place)

    def take(self, ids: tuple[str, ...]) -> Place | None:
        if not ids:
            return self._nameless.pop(0) if self._nameless else None
        for name in ids:
            queue = self._by_id.get(name)
            if queue:  # the last one stays, so that a second result for it is seen as a duplicate
                return queue.pop(0) if len(queue) > 1 else queue[0]
        return None
