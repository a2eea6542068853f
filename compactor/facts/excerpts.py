"""Excerpts: lines of a tool's output that say something, for outputs that are neither code nor errors."""

import re

from compactor.facts.outcomes import unpadded

LIMIT = 6000
"""Code points of one output that are looked at, as in REFERENCE section 6."""

_HEAD, _TAIL = 0.68, 0.25  # the shares of that from the start and the end of a longer output
_RUN = 320  # code points of neighboring lines that are quoted together
_SHORTEST = 8  # code points below which a line says nothing
# What stands in front of lines (numbers, marks), and all of a line that only wraps others; one pass takes them off.
# The line break comes first: a literal that the search can jump to.
_FRONT = re.compile(
    r"\n[ \t]*(?:\d+(?:[ \t]*[→\t|:]|  )[ \t]*)?(?:[#>*•·-]+[ \t]+|#+)*"
    r"(?:(?:import|from|package|Chunk ID|Wall time|[Ee]xit code|Original token|Output:)\b[^\n]*"
    r"|[\W\d]+(?=\n)|return\b[^\n]{0,12}(?=\n))?"
)


def excerpts(output: str, most: int = 40, limit: int = LIMIT) -> list[str]:
    """Runs of neighboring lines of ``output``, in order: a name keeps its neighborhood.

    At most ``most`` runs of about ``_RUN`` code points, " | " between the lines; of an output longer than ``limit``
    code points the start and the end are read.
    """
    if len(output) > limit:
        end = output[-int(limit * _TAIL) :]
        whole = end[end.find("\n") + 1 :]  # no line from its middle on
        output = f"{output[: int(limit * _HEAD)]}\n{whole}"
    padded = "====" in output
    runs: list[str] = []
    run: list[str] = []
    size = 0
    for line in _FRONT.sub("\n", f"\n{output}\n").splitlines():
        if padded:
            line = unpadded(line)
        length = len(line)
        if length < _SHORTEST:
            continue
        if run and size + length > _RUN:
            runs.append(" | ".join(run))
            run, size = [], 0
            if len(runs) >= most:
                return runs
        run.append(line if length < 600 else line[:600])
        size += length + 3
    return [*runs, " | ".join(run)] if run else runs
