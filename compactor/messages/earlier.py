"""Finding the summaries that earlier compactions left in a conversation, and lifting them out of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compactor.messages.envelope import MARK, Envelope, Found, find_summary
from compactor.messages.message import Message, Part, Text, is_blank


@dataclass(frozen=True, slots=True)
class Earlier:
    """What earlier compactions left behind.

    ``summary`` is what the next summary has to build on, None where only empty static notes were found.
    ``position`` is where the first summary stood in the conversation that is left when they are lifted out;
    ``indices`` are the input positions of the messages that were nothing but a summary.
    """

    summary: str | None
    count: int
    position: int
    indices: tuple[int, ...]


def lift(messages: Sequence[Message]) -> tuple[tuple[Message, ...], Earlier | None]:
    """The conversation without our own summaries, and what they said.

    A summary that shares a message with a user's text is taken out of it; the user's own text stays. Where a host
    ran the two together into one text, the summary is taken out of its start or end, but only if no summary stands
    alone anywhere: else the text quotes one, and a quotation belongs to whoever made it. Of several summaries (a
    host may have copied one) none is lost: their texts follow each other.
    """
    places = [place for place, message in enumerate(messages) if _may_hold(message)]
    alone = any(found.alone for place in places for found in _found(messages[place]).values())
    ours = {place: _ours(messages[place], alone) for place in places}
    ours = {place: found for place, found in ours.items() if found}
    if not ours:
        return tuple(messages), None
    left: list[Message] = []
    indices: list[int] = []
    for place, message in enumerate(messages):
        found = ours.get(place)
        rest = message if found is None else _without(message, found)
        if rest is None:
            indices.append(place if message.index is None else message.index)
        else:
            left.append(rest)
    first = min(ours)
    behind = _without(messages[first], ours[first]) is not None and _stands_behind(messages[first], ours[first])
    envelopes = [found.envelope for held in ours.values() for found in held.values()]
    texts = dict.fromkeys(envelope.summary for envelope in envelopes if envelope.summary)
    count = max(envelope.count for envelope in envelopes)
    return tuple(left), Earlier("\n\n".join(texts) or None, count, first + behind, tuple(indices))


def summaries_in(message: Message) -> tuple[Envelope, ...]:
    """The summaries that stand alone in a text of a message."""
    return tuple(found.envelope for found in _found(message).values() if found.alone)


def own_parts(message: Message) -> tuple[Part, ...]:
    """What a message says apart from summaries of ours: its parts that are not blank, ours taken out."""
    rest = _without(message, _ours(message, alone_elsewhere=False))
    return () if rest is None else tuple(part for part in rest.parts if not is_blank(part))


def is_real_user(message: Message) -> bool:
    """Whether a person (or the host, for one) says something here: a user message with more than our summary.

    A message that merely quotes a summary is real; so is one that carries ours beside its own content.
    """
    return message.role == "user" and bool(own_parts(message))


def _may_hold(message: Message) -> bool:
    return message.role in ("user", "assistant") and any(
        isinstance(part, Text) and MARK in part.text for part in message.parts
    )


def _found(message: Message) -> dict[int, Found]:
    """Position of a part -> the summary in its text."""
    if not _may_hold(message):
        return {}
    found = {place: find_summary(part.text) for place, part in enumerate(message.parts) if isinstance(part, Text)}
    return {place: summary for place, summary in found.items() if summary is not None}


def _ours(message: Message, alone_elsewhere: bool) -> dict[int, Found]:
    """Those summaries of a message that are ours, not quoted: see ``lift``."""
    return {
        place: found
        for place, found in _found(message).items()
        if found.alone or not (alone_elsewhere or (found.before and found.after))
    }


def _without(message: Message, ours: dict[int, Found]) -> Message | None:
    """The message without these summaries; None when nothing else is in it."""
    if not ours:
        return message
    parts: list[Part] = []
    for place, part in enumerate(message.parts):
        if place not in ours:
            parts.append(part)
        elif ours[place].rest and isinstance(part, Text):
            parts.append(replace(part, text=ours[place].rest))
    return message.with_parts(tuple(parts)) if parts else None


def _stands_behind(message: Message, ours: dict[int, Found]) -> bool:
    """Whether the summary stands behind the other text of its message."""
    place, found = next(iter(ours.items()))
    return bool(found.before) or any(not is_blank(part) for part in message.parts[:place])
