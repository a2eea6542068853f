"""Phrases: lists of words that a sentence is searched for, much faster than with a pattern."""

import re

_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789'"
_SPACED = bytes(code if code in _KEPT else 32 for code in range(256))


def words(lowered: str) -> list[bytes]:
    """The words of a text in lower case, as ASCII: other letters part words, in phrases and texts alike."""
    return lowered.encode("ascii", "replace").translate(_SPACED).split()


class Phrases:
    """Phrases in lower case, "|" between them, for scripts that put blanks between words.

    ``unspaced`` is a pattern for those that do not. Of each phrase the longest word is looked for first: most
    sentences have none of these.
    """

    __slots__ = ("_alone", "_longer", "_signs", "_unspaced")

    def __init__(self, phrases: str, unspaced: str = "") -> None:
        listed = [words(phrase) for phrase in phrases.split("|")]
        self._alone = frozenset(phrase[0] for phrase in listed if len(phrase) == 1)
        self._longer: dict[bytes, list[bytes]] = {}
        for phrase in listed:
            if len(phrase) > 1:
                self._longer.setdefault(max(phrase, key=len), []).append(b" %b " % b" ".join(phrase))
        self._signs = frozenset(self._longer)
        self._unspaced = re.compile(unspaced) if unspaced else None

    def found(self, lowered: str, its_words: list[bytes]) -> bool:
        """Whether a phrase stands in the text ``lowered``, which has the words ``its_words``."""
        if not self._alone.isdisjoint(its_words):
            return True
        if not self._signs.isdisjoint(its_words):
            spaced = b" %b " % b" ".join(its_words)
            for sign in self._signs.intersection(its_words):
                for phrase in self._longer[sign]:
                    if phrase in spaced:
                        return True
        return self._unspaced is not None and not lowered.isascii() and bool(self._unspaced.search(lowered))
