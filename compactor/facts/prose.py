"""Small tools on text that all recognisers share: cleaning, clipping, sentences."""

import re

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0e-\x1b\x7f\u200b-\u200f\u2028-\u202e\ufeff]")
# A blank behind the end of a sentence: blanks come first in the pattern, so that a search jumps from one to the next.
_END = re.compile(r"[ \t](?<=[^\d\s][.!?][ \t])\s*")
_WIDE_END = re.compile(r"(?<=[。！？])")
_MARKS = frozenset("#>*•·-")
_MARKERS = re.compile(r"^(?:[#>*•·-]+ +|#+)+")
_LONGEST = 1200  # code points of a sentence that are looked at: what is longer is no sentence
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.S)


def scrub(text: str) -> str:
    """``text`` without lone surrogates, so that it always encodes as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str) -> str:
    """``text`` on one line: blanks collapsed, control characters and colour codes gone, surrogates scrubbed."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = _CONTROL.sub("", scrub(line))
    return line


def clip(text: str, limit: int) -> str:
    """``text`` on one line of at most ``limit`` code points; ``…`` stands where the rest was cut off."""
    if len(text) <= limit and text.isprintable() and "  " not in text:
        return text.strip()
    cut = len(text) > 4 * limit
    line = one_line(text[: 4 * limit] if cut else text)
    if len(line) <= limit and not cut:
        return line
    shown = line[: max(limit - 1, 0)]
    blank = shown.rfind(" ", int(limit * 0.8))
    return (shown[:blank] if blank > 0 else shown).rstrip() + "…"


def bare(line: str) -> str:
    """``line`` without the list, quote and heading marks in front, so that it cannot pass for structure."""
    line = line.strip()
    return _MARKERS.sub("", line) if line[:1] in _MARKS else line


def sentences(text: str, shortest: int = 12) -> list[str]:
    """The sentences and lines of ``text`` in order, marks in front removed.

    Fenced code is left out, and so is what says nothing alone: single words, labels that end in a colon, what has
    fewer than ``shortest`` code points.
    """
    if "```" in text:
        text = _FENCE.sub("\n", text)
    lines = text.splitlines()
    pieces = (bare(piece[:_LONGEST]) for line in lines for piece in _END.split(line))
    if not text.isascii():
        pieces = (part for piece in pieces for part in _WIDE_END.split(piece))
    return [piece for piece in pieces if _says_something(piece, shortest)]


def _says_something(piece: str, shortest: int) -> bool:
    if not piece.isascii():
        return len(piece) > 5
    return len(piece) >= shortest and " " in piece and not (piece.endswith(":") and len(piece) < 60)
