"""Salience: which words of a conversation matter, and how much of that a line carries."""

import re
from collections.abc import Iterable, Sequence

from compactor.messages.message import Message, Text, ToolCall

_WORD = re.compile(r"[A-Za-z_]\w*(?:[.-]\w+)*|\d{3,}")
_SEEN = 4000  # code points read of one text or argument string: names that matter come early or often


class Salience:
    """Weighs names (symbols, files, ids) by who used them, how often and how lately.

    A name that the assistant or a user has used is likely to be used again; one that only ever scrolled by in a
    tool's output is not.
    """

    def __init__(self, messages: Sequence[Message], focus: str | None = None) -> None:
        self._weights: dict[str, float] = {}
        total = max(len(messages), 1)
        for index, message in enumerate(messages):
            lately = 0.5 + (index + 1) / total
            for word in {word for text in _spoken(message) for word in names(text[:_SEEN])}:
                self._weights[word] = self._weights.get(word, 0.0) * 0.7 + lately
        self._focus = frozenset(word.lower() for word in re.findall(r"\w{3,}", focus or ""))

    def weights(self, line: str) -> dict[str, float]:
        """The names of ``line`` with what each is worth."""
        known = self._weights
        return {word: known.get(word, 0.25) for word in names(line)}

    def focused(self, line: str) -> float:
        """The share of the focus' words that ``line`` mentions, 0 to 1."""
        if not self._focus:
            return 0.0
        lower = line.lower()
        return sum(word in lower for word in self._focus) / len(self._focus)


def names(text: str) -> Iterable[str]:
    """The words of ``text`` that look like names of something rather than like prose."""
    return (word for word in _WORD.findall(text) if len(word) > 3 and _is_name(word))


def _is_name(word: str) -> bool:
    return not word.isalpha() or not (word.islower() or word[1:].islower())


def _spoken(message: Message) -> Iterable[str]:
    for part in message.parts:
        if isinstance(part, Text):
            if part.text and message.role in ("assistant", "user"):
                yield part.text
        elif isinstance(part, ToolCall) and isinstance(part.arguments, str):
            yield part.arguments
