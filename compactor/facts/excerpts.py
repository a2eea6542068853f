"""Excerpts: lines of a tool's output that say something, for outputs that are neither code nor errors."""

import re

_LIMIT, _HEAD, _TAIL = 6000, 4000, 1500  # code points looked at, as in REFERENCE section 6
_RUN = 220
_FRONT = re.compile(r"\s*(?:\d+\s*[→\t|:]\s*)?(?:[#>*•·-]+\s+|#+)*")
_NAMED = re.compile(r"[A-Za-z]\w*[_./:-]\w|[a-z][A-Z]|\d{3,}|`")
_NOISE = re.compile(
    r"(?:[\W\d]+$|import\b|from \S+ import|package \w+$|return\b.{0,12}$|Chunk ID|Wall time|Original token|Output:)"
)


def excerpts(output: str, most: int = 40) -> list[str]:
    """Runs of neighboring lines of ``output`` that name something (a symbol, a path, an id, an amount), in order.

    At most ``most`` runs of about ``_RUN`` code points, " | " between the lines: a name keeps its neighborhood.
    """
    if len(output) > _LIMIT:
        output = f"{output[:_HEAD]}\n{output[-_TAIL:]}"
    runs: list[str] = []
    run = ""
    for line in output.splitlines():
        front = _FRONT.match(line)
        line = line[front.end() if front else 0 : 600].rstrip()
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
