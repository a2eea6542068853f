"""Outcomes: how a call ended, in the most telling words of its output."""

import re
from collections.abc import Iterable
from itertools import islice

from compactor.facts.errors import error_lines, exit_code
from compactor.facts.prose import bare, clip

_TELLING = re.compile(
    r"\b(?:\d+ (?:passed|failed|skipped|tests?|files? changed|insertions?|errors?|warnings?|problems?)"
    r"|tests? pass(?:ed)?|ok\s+\S+\s+[\d.]+s|PASS|BUILD \w+|[Ss]uccess\w*|created|installed)\b|\[\S+ [0-9a-f]{7,}\]"
)
# A result line has one of these.
_SIGNS = (
    *("passed", "failed", "skipped", "test", "changed", "insertion", "error", "warning", "problem", "ok"),
    *("PASS", "BUILD", "uccess", "created", "installed", "] "),
)
_LAST, _LAST_LINES = 1000, 10  # what of the end of an output is searched for it: code points, lines
# Lines that wrap an output without saying anything of it.
_WRAPPER = re.compile(
    r"^(?:Command:|Chunk ID|Wall time|Process exited|Original token|Output:|Exit code|Total output"
    r"|</?\w+>$|\d+→?$|[-=_*#~]{3,}|```)",
    re.I,
)

# What stands where an output was: a remark in brackets.
_CLEARED = re.compile(r"\s*[\[(<][^\n]*\b(?:cleared|omitted|elided|removed|pruned)\b[^\n]*[\])>]\s*", re.I)
_ROWS = frozenset(sign * 4 for sign in "=_*#~-")
_PADDING = re.compile(r"^([=_*#~-])\1{3,} +| +([=_*#~-])\2{3,}$")


def ending(output: str, failed: bool, limit: int = 240) -> str:
    """How a call ended, on one line of at most ``limit`` code points; "" where a success was cleared since.

    Of a failure these are its error lines, of a success its result lines; else the first and the last line.
    """
    if len(output) < 200 and _CLEARED.fullmatch(output):
        return "failed" if failed else ""
    if failed:
        code = exit_code(output)
        found = error_lines(output, most=3) or _edges(output)
        head = f"exit {code}: " if code else "failed: "
        return clip(head + "; ".join(clip(line, 160) for line in found), limit) if found else head.rstrip(": ")
    if len(output) <= limit and "\n" not in output.strip():
        return clip(unpadded(output.strip()), limit)
    telling = _telling(output[-_LAST:])
    return clip("; ".join(telling or _edges(output)), limit)


def unpadded(line: str) -> str:
    """``line`` without the row of signs that centers it: "==== 3 passed ====" is "3 passed"."""
    return _PADDING.sub("", line) if line[-4:] in _ROWS or line[:4] in _ROWS else line


def _telling(end: str) -> list[str]:
    """The last two lines at the ``end`` of an output that state a result."""
    signs = [sign for sign in _SIGNS if sign in end]
    found: list[str] = []
    for line in reversed(end.splitlines()[-_LAST_LINES:]) if signs else ():
        if any(sign in line for sign in signs) and _TELLING.search(line):
            found.append(unpadded(line.strip()))
            if len(found) == 2:
                break
    return found[::-1]


def _edges(output: str) -> list[str]:
    """The first and the last line of ``output`` that say something."""
    first = _first(output[:1500].splitlines())
    last = _first(reversed(output[-1500:].splitlines()))
    return first + [line for line in last if line not in first]


def _first(lines: Iterable[str]) -> list[str]:
    shown = (line for line in map(unpadded, map(bare, lines)) if len(line) > 2 and not _WRAPPER.match(line))
    return list(islice(shown, 1))
