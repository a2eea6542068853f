"""Measuring: CPU time of calls and of processes, medians over interleaved rounds.

Seconds differ from machine to machine and with what else runs there; ratios of medians that were taken in the same
rounds do not. So every figure has a yardstick beside it.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was measured, how much of ``unit`` it took, and in relation to what.

    ``ratio`` is None where nothing is compared; ``yardstick`` says what the ratio is to.
    """

    name: str
    value: float
    unit: str
    ratio: float | None = None
    yardstick: str = ""


def medians(cases: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median seconds of each case. A case returns the seconds that it took.

    Every round runs every case once, so that a busy moment of the machine hits all of them. One round more runs
    first and is not counted: it fills caches and compiles modules.
    """
    for run in cases.values():
        run()
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            taken[name].append(run())
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def call_seconds(call: Callable[[], object]) -> Callable[[], float]:
    """A case that measures the CPU seconds of this process during ``call``."""

    def run() -> float:
        started = time.process_time()
        call()
        return time.process_time() - started

    return run


def process_seconds(command: Sequence[str]) -> Callable[[], float]:
    """A case that measures the CPU seconds, user and system, of a Python process with these arguments.

    Raises ``subprocess.CalledProcessError`` when the process fails.
    """

    def run() -> float:
        before = _children_seconds()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        return _children_seconds() - before

    return run


def _children_seconds() -> float:
    """CPU seconds of all processes that were waited for; ``os.times`` would tell them in hundredths only."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
