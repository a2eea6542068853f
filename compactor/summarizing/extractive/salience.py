"""Salience: which words of a conversation matter, and how much of that a line carries."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from compactor.messages.message import Message, Text, ToolCall

Words = AbstractSet[bytes]

_SAID, _CALLED = 4000, 1200  # code points read of one text, of one call: names that matter come early or often
_PERIODS = 50  # parts of a conversation, whose words are taken together
_AGAIN = 170  # per cent of its weight for a name that was used in an earlier part, too
_KEPT = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_SPACED = bytes(code if code in _KEPT else 32 for code in range(256))


def words_of(text: str) -> Words:
    """The different words of ``text``, dots and dashes inside kept, as ASCII: names are written in that."""
    return frozenset(text.encode("ascii", "replace").translate(_SPACED).replace(b". ", b" ").split())


class Salience:
    """Weighs names (symbols, files, ids) by who used them, how often and how lately.

    A name that the assistant or a user has used is likely to be used again; one that only ever scrolled by in a
    tool's output is not. Weights are whole numbers: their sums do not depend on the order.
    """

    def __init__(self, messages: Sequence[Message], focus: str | None = None) -> None:
        self._weights: dict[bytes, int] = {}
        known: set[bytes] = set()
        step = max(len(messages) // _PERIODS, 1)
        for start in range(0, len(messages), step):
            period = messages[start : start + step]
            words = words_of(" ".join(text for message in period for text in _spoken(message)))
            new = words - known
            known |= new
            weight = 500 + 1000 * (start + step) // max(len(messages), 1)
            again = self._weights.keys() & words
            self._weights.update(dict.fromkeys(again, weight * _AGAIN // 100))
            self._weights.update(dict.fromkeys(filter(_is_name, new), weight))
        self._focus = frozenset(word.lower() for word in re.findall(r"\w{3,}", focus or ""))

    def names(self, line: str) -> Words:
        """The names in ``line`` that the assistant or a user has used."""
        return words_of(line) & self._weights.keys()

    def weight(self, names: Words) -> int:
        """What ``names`` are worth together."""
        return sum(map(self._weights.__getitem__, names))

    def focused(self, line: str) -> float:
        """The share of the focus' words that ``line`` mentions, 0 to 1."""
        if not self._focus:
            return 0.0
        lower = line.lower()
        return sum(word in lower for word in self._focus) / len(self._focus)


def _is_name(word: bytes) -> bool:
    """Whether ``word`` looks like the name of something rather than like prose."""
    return len(word) > 3 and not (word.isalpha() and word[1:].islower())


def _spoken(message: Message) -> Iterable[str]:
    for part in message.parts:
        if isinstance(part, Text):
            if part.text and message.role in ("assistant", "user"):
                yield part.text[:_SAID]
        elif isinstance(part, ToolCall) and isinstance(part.arguments, str):
            yield part.arguments[:_CALLED].replace("\\n", " ")
