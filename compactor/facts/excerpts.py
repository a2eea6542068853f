"""Excerpts: lines of a tool's output that say something, for outputs that are neither code nor errors."""

import re

from compactor.facts.prose import bare

_HEAD, _TAIL = 6000, 2000  # code points looked at: what a summariser sees of a long result (REFERENCE section 6)
_RUN = 220
_NUMBERED = re.compile(r"^\s*\d+\s*[→\t|:]\s*")
_NAMED = re.compile(r"[A-Za-z]\w*[_./:-]\w|[a-z][A-Z]|\d{3,}|`")
_NOISE = re.compile(r"^(?:[\W\d]+$|import\b|from \S+ import|package \w+$|return\b.{0,12}$|Chunk ID|Wall time|Original token|Output:)")


def excerpts(output: str, most: int = 40) -> list[str]:
    """Runs of neighboring lines of ``output`` that name something (a symbol, a path, an id, an amount), in order.

    At most ``most`` runs of about ``_RUN`` code points, " | " between the lines: a name keeps its neighborhood.
    """
    if len(output) > _HEAD + _TAIL:
        output = f"{output[:_HEAD]}\n{output[-_TAIL:]}"
    runs: list[str] = []
    run = ""
    for line in output.splitlines():
        line = bare(_NUMBERED.sub("", line[:600], count=1))
        if len(line) < 8 or _NOISE.match(line) or not _NAMED.search(line):
            continue
        if run and len(run) + len(line) > _RUN:
            runs.append(run)
            run = line
        else:
            run = f"{run} | {line}" if run else line
        if len(runs) >= most:
            return runs
    return [*runs, run] if run else runs
