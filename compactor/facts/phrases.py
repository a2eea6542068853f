"""Phrases: lists of words that a sentence is searched for."""

import re

_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789'"
_SPACED = bytes(code if code in _KEPT else 32 for code in range(256))


def words(lowered: str) -> list[bytes]:
    """The ASCII words of a text in lower case, as bytes: what a search looks at before it looks at the text."""
    return lowered.encode("ascii", "replace").translate(_SPACED).split()


class Phrases:
    """Phrases in lower case, separated by "|", that stand between word boundaries.

    ``unspaced`` are those of scripts that put no blanks between words, "|" between them, too.
    """

    __slots__ = ("_pattern", "_signs", "_unspaced")

    def __init__(self, phrases: str, unspaced: str = "") -> None:
        listed = [phrase.strip() for phrase in phrases.split("|")]
        self._pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, listed))})\b")
        self._signs = frozenset(word for phrase in listed for word in words(phrase)[:1])
        self._unspaced = re.compile(unspaced) if unspaced else None

    def found(self, lowered: str, its_words: list[bytes]) -> bool:
        """Whether a phrase stands in the text ``lowered``, which has the words ``its_words``."""
        if not self._signs.isdisjoint(its_words) and self._pattern.search(lowered):
            return True
        return self._unspaced is not None and not lowered.isascii() and bool(self._unspaced.search(lowered))
