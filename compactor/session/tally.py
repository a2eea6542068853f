"""Messages that are read and counted once, when they come."""

from collections.abc import Iterable

from compactor.conversation import parsed
from compactor.extension.protocols import AdditiveCounter, Counter, Format
from compactor.messages.body import BodySize, body_size
from compactor.messages.message import Message, Raw


class Tally:
    """A list of messages with its size. ``weight`` is in the units of a counter that is additive, 0 for any other."""

    def __init__(self, format_: Format, counter: Counter, *, wants_body: bool) -> None:
        self._format = format_
        self._wants_body = wants_body
        self._additive = additive(counter)
        self.clear()

    def count_with(self, counter: Counter, *, wants_body: bool) -> None:
        """Reads and counts all messages anew."""
        self._additive, self._wants_body = additive(counter), wants_body
        raw = self.raw
        self.clear()
        self.extend(raw)

    def clear(self) -> None:
        """Forgets all messages."""
        self.raw: list[Raw] = []
        self.messages: list[Message] = []
        self._weights: list[int] = []
        self._bodies: list[BodySize] = []
        self.weight = 0
        self.body = BodySize()

    def extend(self, raw: Iterable[Raw]) -> None:
        """Adds messages at the end. Raises ``InputError`` for one that cannot be read."""
        for item in raw:
            self.add(item, parsed(self._format, item, len(self.raw)))

    def add(self, raw: Raw, message: Message) -> None:
        """Adds one message that was read already."""
        weight = 0 if self._additive is None else self._additive.weigh(message)
        self.raw.append(raw)
        self.messages.append(message)
        self._weights.append(weight)
        self.weight += weight
        if self._wants_body:
            size = body_size(message)
            self._bodies.append(size)
            self.body += size

    def truncate(self, length: int) -> None:
        """Forgets what lies behind the first ``length`` messages."""
        self.weight -= sum(self._weights[length:])
        self.body -= sum(self._bodies[length:], BodySize())
        del self.raw[length:], self.messages[length:], self._weights[length:], self._bodies[length:]


def additive(counter: Counter) -> AdditiveCounter | None:
    """The counter, if it is additive."""
    return counter if isinstance(counter, AdditiveCounter) else None
