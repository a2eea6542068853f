"""The text around what was looked for."""

import re
from collections.abc import Sequence

_AROUND = 80
"""Characters before what was found; twice as many behind."""


def snippet(said: str, words: Sequence[str]) -> str:
    """The text around the first place where one of the words stands, on one line, the words in ``**``."""
    pieces = "|".join(map(re.escape, words))
    wanted = re.compile(rf"\b(?:{pieces})\b", re.IGNORECASE)
    match = wanted.search(said)
    if match is None:  # a part of a word was looked for
        wanted = re.compile(pieces, re.IGNORECASE)
        match = wanted.search(said)
    middle = match.start() if match else 0
    start, stop = max(middle - _AROUND, 0), middle + 2 * _AROUND
    shown = " ".join(said[start:stop].split())
    marked = wanted.sub(lambda found: f"**{found[0]}**", shown)
    return f"{'…' if start else ''}{marked}{'…' if stop < len(said) else ''}"
