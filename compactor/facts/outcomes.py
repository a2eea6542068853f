"""Outcomes: how a call ended, in the most telling words of its output."""

import re

from compactor.facts.errors import error_lines, exit_code
from compactor.facts.prose import bare, clip

_TELLING = re.compile(
    r"\b(?:\d+ (?:passed|failed|skipped|tests?|files? changed|insertions?|errors?|warnings?|problems?)"
    r"|tests? pass(?:ed)?|ok\s+\S+\s+[\d.]+s|PASS|BUILD \w+|[Ss]uccess\w*|created|installed)\b|\[\S+ [0-9a-f]{7,}\]"
)
# Lines that wrap an output without saying anything of it.
_WRAPPER = re.compile(
    r"^(?:Command:|Chunk ID|Wall time|Process exited|Original token|Output:|Exit code|Total output"
    r"|</?\w+>$|\d+→?$|[-=_*#~]{3,}|```)", re.I
)


def ending(output: str, failed: bool, limit: int = 240) -> str:
    """How a call ended, on one line of at most ``limit`` code points.

    Of a failure these are its error lines, of a success its result lines; else the first and the last line.
    """
    if failed:
        code = exit_code(output)
        found = error_lines(output, most=3) or _edges(output)
        head = f"exit {code}: " if code else "failed: "
        return clip(head + "; ".join(clip(line, 160) for line in found), limit) if found else head.rstrip(": ")
    if len(output) <= limit and "\n" not in output.strip():
        return clip(output, limit)
    telling = [line.strip() for line in output[-4000:].splitlines()[-40:] if _TELLING.search(line)][-2:]
    return clip("; ".join(telling or _edges(output)), limit)


def _edges(output: str) -> list[str]:
    """The first and the last line of ``output`` that say something."""
    told = [line for line in _lines(output[:1500]) if line][:1]
    last = [line for line in _lines(output[-1500:]) if line][-1:]
    return told + [line for line in last if line not in told]


def _lines(text: str) -> list[str]:
    lines = (bare(line) for line in text.splitlines())
    return [line for line in lines if len(line) > 2 and not _WRAPPER.match(line)]
