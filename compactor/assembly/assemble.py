"""Puts the conversation together again: head, summary, what is kept of the middle, tail (REFERENCE section 7)."""

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.messages.message import Message, Text

NOTE_LINE = "[compactor v1 note]"
"""The last line of the note in a system prompt, by which it is found again whatever its wording."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result before it is checked. ``summary_index`` is the message that holds the summary, None without one."""

    messages: tuple[Message, ...]
    summary_index: int | None


def assemble(before: Sequence[Message], after: Sequence[Message], summary: str) -> Candidate:
    """The summary between ``before`` and ``after``, in the role that fits there.

    Where it could only stand next to its own role, it joins the neighbour that is a user message, as a text block
    of its own (law 3).
    """
    role = summary_role(_last_role(before), _first_role(after))
    if role is not None:
        message = Message(role, (Text(summary),))
        return Candidate((*before, message, *after), len(before))
    place = _first_place(after)
    if place is not None and after[place].role == "user":
        neighbour = after[place]
        joined = neighbour.with_parts((Text(summary), *neighbour.parts))
        return Candidate((*before, *after[:place], joined, *after[place + 1 :]), len(before) + place)
    place = next(place for place in range(len(before) - 1, -1, -1) if not before[place].is_system)
    neighbour = before[place]
    joined = neighbour.with_parts((*neighbour.parts, Text(summary)))
    return Candidate((*before[:place], joined, *before[place + 1 :], *after), place)


def summary_role(previous: str | None, following: str | None) -> str | None:
    """The role of a summary between two roles (None: nothing but system messages there); None when none fits.

    A conversation opens with a user message, so there is no choice when nothing stands before.
    """
    if previous is None:
        return None if following == "user" else "user"
    role = "assistant" if previous == "user" else "user"
    if role == following:
        role = "assistant" if role == "user" else "user"
    return None if role in (previous, following) else role


def with_note(messages: Sequence[Message], note: str) -> tuple[Message, ...]:
    """The note at the end of the first message, if that is a system message and none has the note yet.

    Text stays text, a list of blocks gets one more block (fault A2).
    """
    if not messages or not messages[0].is_system or any(map(has_note, messages)):
        return tuple(messages)
    sealed = f"{note.strip()}\n{NOTE_LINE}"
    first, *rest = messages
    if len(first.parts) == 1 and isinstance(first.parts[0], Text) and first.parts[0].raw is None:
        parts: tuple[Text, ...] = (Text(f"{first.parts[0].text}\n\n{sealed}"),)
        return (first.with_parts(parts), *rest)
    return (first.with_parts((*first.parts, Text(sealed))), *rest)


def has_note(message: Message) -> bool:
    """Whether a message is a system message with our note: the line by itself, not a mention of it."""
    return message.is_system and f"\n{NOTE_LINE}\n" in f"\n{message.text}\n".replace("\r\n", "\n")


def _last_role(messages: Sequence[Message]) -> str | None:
    return next((message.role for message in reversed(messages) if not message.is_system), None)


def _first_role(messages: Sequence[Message]) -> str | None:
    place = _first_place(messages)
    return None if place is None else messages[place].role


def _first_place(messages: Sequence[Message]) -> int | None:
    return next((place for place, message in enumerate(messages) if not message.is_system), None)
