"""Salience: which words of a conversation matter, and how much of that a line carries."""

import re
from collections.abc import Iterable, Sequence

from compactor.messages.message import Message, Text, ToolCall

_WORD = re.compile(r"[A-Za-z_]\w*(?:[.-]\w+)*|\d{3,}")
_SEEN = 4000  # code points read of one text or argument string: names that matter come early or often
_UNUSED = 0.25  # the weight of a name that nobody but a tool has used


class Salience:
    """Weighs names (symbols, files, ids) by who used them, how often and how lately.

    A name that the assistant or a user has used is likely to be used again; one that only ever scrolled by in a
    tool's output is not.
    """

    def __init__(self, messages: Sequence[Message], focus: str | None = None) -> None:
        self._weights: dict[str, float] = {}
        self._is_name: dict[str, bool] = {}
        total = max(len(messages), 1)
        for index, message in enumerate(messages):
            lately = 0.5 + (index + 1) / total
            for name in {name for text in _spoken(message) for name in self._names(text[:_SEEN])}:
                self._weights[name] = self._weights.get(name, 0.0) * 0.7 + lately
        self._focus = frozenset(word.lower() for word in re.findall(r"\w{3,}", focus or ""))

    def weights(self, line: str) -> dict[str, float]:
        """The names of ``line`` with what each is worth."""
        known = self._weights
        return {name: known.get(name, _UNUSED) for name in self._names(line)}

    def focused(self, line: str) -> float:
        """The share of the focus' words that ``line`` mentions, 0 to 1."""
        if not self._focus:
            return 0.0
        lower = line.lower()
        return sum(word in lower for word in self._focus) / len(self._focus)

    def _names(self, text: str) -> list[str]:
        """The different words of ``text`` that look like names of something rather than like prose."""
        is_name = self._is_name
        found = []
        for word in dict.fromkeys(_WORD.findall(text)):
            named = is_name.get(word)
            if named is None:
                named = is_name[word] = _looks_like_name(word)
            if named:
                found.append(word)
        return found


def _looks_like_name(word: str) -> bool:
    return len(word) > 3 and (not word.isalpha() or not (word.islower() or word[1:].islower()))


def _spoken(message: Message) -> Iterable[str]:
    for part in message.parts:
        if isinstance(part, Text):
            if part.text and message.role in ("assistant", "user"):
                yield part.text
        elif isinstance(part, ToolCall) and isinstance(part.arguments, str):
            yield part.arguments
