"""How long a new process takes to start: the command, and the import of the package.

The yardstick is a process that imports Typer and Rich, which any command made with them has to pay for.
"""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Row, medians, process_seconds

YARDSTICK = 'python -c "import typer, rich"'


def measure(rounds: int) -> Iterator[Row]:
    """CPU milliseconds of whole processes."""
    command = str(Path(sysconfig.get_path("scripts")) / "compactor")
    cases = {
        YARDSTICK: ["-c", "import typer, rich"],
        "compactor --help": [command, "--help"],
        "compactor --version": [command, "--version"],
        'python -c "import compactor"': ["-c", "import compactor"],
    }
    taken = medians({name: process_seconds(arguments) for name, arguments in cases.items()}, rounds)
    for name, seconds in taken.items():
        yield Row(name, seconds * 1000, "ms", seconds / taken[YARDSTICK], "typer, rich")
