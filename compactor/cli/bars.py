"""Two stacked bars, tokens by part before and after, that can be told apart without color."""

from collections.abc import Mapping
from dataclasses import dataclass

from compactor.cli.output import Column, Output

WIDTH = 64
"""Characters of the longer bar, where the line has room for them."""

_MARGIN = 30
"""Characters of a line that are kept for label and total."""


@dataclass(frozen=True, slots=True)
class _Look:
    fill: str
    plain_fill: str
    color: str


_LOOKS: Mapping[str, _Look] = {
    "system": _Look("▓", "#", "magenta"),
    "tools": _Look("▚", "%", "blue"),
    "head": _Look("▒", "=", "cyan"),
    "middle": _Look("░", ".", "yellow"),
    "summary": _Look("█", "@", "green"),
    "tail": _Look("▞", "+", "bright_blue"),
}
"""The parts in the order of a conversation."""

_TITLES = {"summary": "summary (at its budget)"}
"""What the legend calls a part, where it is more than its name."""


def print_bars(output: Output, before: Mapping[str, int], after: Mapping[str, int], *, total: int) -> None:
    """The bars on one scale, and a legend. ``total`` is the whole request before."""
    totals = {"before": total, "after": sum(after.values())}
    longest = max(*totals.values(), 1)
    width = min(WIDTH, max(output.width - _MARGIN, 10))
    for label, parts in (("before", before), ("after", after)):
        cells = split_cells(parts, max(round(width * totals[label] / longest), 1))
        pieces = [(_fill(name, output) * count, _LOOKS[name].color) for name, count in cells.items()]
        padding = " " * (width - sum(cells.values()))
        output.pieces([(f"{label:<7}", "bold"), *pieces, (f"{padding} {totals[label]:>9,} tokens", "")])
    output.line("")
    names = [name for name in _LOOKS if before.get(name) or after.get(name)]
    output.table(
        (Column(""), Column("part"), Column("before", right=True), Column("after", right=True)),
        [
            (_fill(name, output) * 2, _TITLES.get(name, name), f"{before.get(name, 0):,}", f"{after.get(name, 0):,}")
            for name in names
        ],
    )


def split_cells(parts: Mapping[str, int], width: int) -> dict[str, int]:
    """How many of ``width`` cells each part gets; a part that is there gets at least one, if that is possible."""
    there = {name: parts[name] for name in _LOOKS if parts.get(name, 0) > 0}
    total = sum(there.values())
    cells = {name: max(1, round(width * tokens / total)) for name, tokens in there.items()}
    if cells:  # what rounding made too many or too few is least seen in the largest part
        largest = max(cells, key=lambda name: cells[name])
        cells[largest] = max(1, cells[largest] + width - sum(cells.values()))
    return cells


def _fill(name: str, output: Output) -> str:
    look = _LOOKS[name]
    return look.plain_fill if output.ascii_only else look.fill
