"""Finding the summaries that earlier compactions left in a conversation, and lifting them out of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.messages.envelope import Envelope, read_envelope
from compactor.messages.message import Message, Text, is_blank


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

    A summary that was joined to a user's message is taken out of it; the user's own text stays. Of several
    summaries (a host may have copied one) none is lost: their texts follow each other.
    """
    left: list[Message] = []
    envelopes: list[Envelope] = []
    indices: list[int] = []
    position = 0
    for place, message in enumerate(messages):
        found = summaries_in(message)
        if not found:
            left.append(message)
            continue
        if not envelopes:
            position = len(left)
        envelopes.extend(envelope for _, envelope in found)
        ours = {number for number, _ in found}
        parts = tuple(part for number, part in enumerate(message.parts) if number not in ours)
        if parts:
            if len(envelopes) == len(found) and min(ours) > 0:
                position += 1  # the summary stood behind the text that it was joined to
            left.append(message.with_parts(parts))
        else:
            indices.append(place if message.index is None else message.index)
    if not envelopes:
        return tuple(messages), None
    texts = dict.fromkeys(envelope.summary for envelope in envelopes if envelope.summary)
    count = max(envelope.count for envelope in envelopes)
    return tuple(left), Earlier("\n\n".join(texts) or None, count, position, tuple(indices))


def summaries_in(message: Message) -> tuple[tuple[int, Envelope], ...]:
    """The summaries of ours among a message's texts, with the positions of their parts."""
    if message.role not in ("user", "assistant"):
        return ()
    found = []
    for number, part in enumerate(message.parts):
        if isinstance(part, Text) and "[compactor v1 " in part.text[-200:]:
            envelope = read_envelope(part.text)
            if envelope is not None:
                found.append((number, envelope))
    return tuple(found)


def is_real_user(message: Message) -> bool:
    """Whether a person (or the host, for one) says something here: a user message with more than our summary.

    A message that merely quotes a summary is real; so is one that carries ours beside its own content.
    """
    if message.role != "user":
        return False
    said = sum(not is_blank(part) for part in message.parts)
    return said > len(summaries_in(message))
