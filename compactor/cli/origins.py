"""Where every value of a policy comes from: a table, or lines where a table has no room for the values."""

from collections.abc import Mapping

from rich.cells import cell_len

from compactor.cli.output import GAP, Column, Output, folded, printable
from compactor.cli.policy_values import Value

_LEAST_VALUE = 24
"""Characters of the column of values below which it tells too little."""


def print_origins(output: Output, values: Mapping[str, Value]) -> None:
    """Prints every key with its value and the ``file:line`` that set it."""
    keys = max(cell_len(printable(key)) for key in values)
    lines = max(cell_len(printable(value.line)) for value in values.values())
    room = output.width - keys - lines - 2 * GAP
    if room >= _LEAST_VALUE:
        columns = (Column("key", whole=True), Column("value", whole=True), Column("where", whole=True))
        rows = [(key, output.shortened(printable(value.shown), room), value.line) for key, value in values.items()]
        output.table(columns, rows)
        return
    for key, value in values.items():
        for line in _lines(printable(f"{key} = {value.shown}"), printable(f"# {value.line}"), output.width):
            output.line(line)


def _lines(setting: str, origin: str, width: int) -> list[str]:
    """A setting and its origin, on one line if that has room for both."""
    one = f"{setting}  {origin}"
    if cell_len(one) <= width:
        return [one]
    return [*folded(setting, width, hanging="    "), *folded(origin, width, indent="    ")]
