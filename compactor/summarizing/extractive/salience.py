"""Salience: which words of a conversation matter, and how much of that a line carries."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from compactor.messages.message import Message, Text, ToolCall

Words = frozenset[bytes]

_SEEN = 2000  # code points read of one text or argument string: names that matter come early or often
_UNUSED = 250  # the weight of a name that nobody but a tool has used; one use in the newest message is 1500
_AGAIN = 0.7  # what each earlier use counts of the one after it
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
        uses: Counter[bytes] = Counter()
        last: dict[bytes, int] = {}
        for index, message in enumerate(messages):
            for text in _spoken(message):
                words = words_of(text)
                uses.update(words)
                last.update(dict.fromkeys(words, index))
        self._weights = _Weights(uses, last, max(len(messages), 1))
        self._focus = frozenset(word.lower() for word in re.findall(r"\w{3,}", focus or ""))

    def weight(self, words: Words) -> int:
        """What the names among ``words`` are worth together."""
        return sum(map(self._weights.__getitem__, words))

    def focused(self, line: str) -> float:
        """The share of the focus' words that ``line`` mentions, 0 to 1."""
        if not self._focus:
            return 0.0
        lower = line.lower()
        return sum(word in lower for word in self._focus) / len(self._focus)


class _Weights(dict[bytes, int]):
    """What each word is worth, found out when it is first asked for: 0 for those that name nothing."""

    def __init__(self, uses: Counter[bytes], last: dict[bytes, int], count: int) -> None:
        super().__init__()
        self._uses, self._last, self._count = uses, last, count

    def __missing__(self, word: bytes) -> int:
        weight = 0
        if _looks_like_name(word):
            times = self._uses.get(word, 0)
            weight = _UNUSED
            if times:
                lately = 0.5 + (self._last[word] + 1) / self._count
                weight = int(1000 * lately * (1 - _AGAIN**times) / (1 - _AGAIN))
        self[word] = weight
        return weight


def _looks_like_name(word: bytes) -> bool:
    word = word.strip(b".-")
    return len(word) > 3 and (not word.isalpha() or not (word.islower() or word[1:].islower()))


def _spoken(message: Message) -> Iterable[str]:
    for part in message.parts:
        if isinstance(part, Text):
            if part.text and message.role in ("assistant", "user"):
                yield part.text[:_SEEN]
        elif isinstance(part, ToolCall) and isinstance(part.arguments, str):
            yield part.arguments[:_SEEN].replace("\\n", " ")
