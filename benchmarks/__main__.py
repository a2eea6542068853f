"""Runs the benchmarks and prints one table: ``python -m benchmarks [--rounds N] [name ...]``."""

import argparse
import sys
from collections.abc import Iterable

from benchmarks import checking, cold_start, compaction, memory, redaction, replay, store
from benchmarks.measuring import Row

BENCHMARKS = {
    "cold_start": cold_start.measure,
    "compaction": compaction.measure,
    "checking": checking.measure,
    "replay": replay.measure,
    "memory": memory.measure,
    "redaction": redaction.measure,
    "store": store.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What Compactor costs.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--rounds", type=int, default=9, help="rounds to take the median of (9)")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if chosen.rounds < 1:
        parser.error("--rounds needs at least 1")
    rows: list[Row] = []
    for name in chosen.names or BENCHMARKS:
        print(f"measuring {name} ...", file=sys.stderr)
        rows.extend(BENCHMARKS[name](chosen.rounds))
    print(table(rows))


def table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table with aligned columns."""
    cells = [("what", "cost", "ratio", "to"), *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
    rule = "-|-".join("-" * width for width in widths)
    return "\n".join(f"| {line} |" for line in [lines[0], rule, *lines[1:]])


def _cells(row: Row) -> tuple[str, str, str, str]:
    value = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.2g}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2g} x"
    return row.name, f"{value} {row.unit}", ratio, row.yardstick


if __name__ == "__main__":
    main()
