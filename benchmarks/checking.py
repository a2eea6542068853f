"""What the check on every turn costs: one new message, and the question whether a compaction is due.

A session counts a message when it comes. The floor is the counter alone on the text of the new message. The slope
says how the cost grows with the history: 0 not at all, 1 in proportion.
"""

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks.measuring import Row, medians
from benchmarks.transcripts import Messages, prose, transcript
from compactor.engine import Compactor
from compactor.session.session import Session

LENGTHS = (1_000, 2_000, 10_000)
POLICIES = ("default", "hermes")
COUNTERS = ("estimate", "tiktoken")
MODEL = "gpt-4o"
TURNS = {"session": 20, "Compactor.check": 2}
"""Turns that are measured together; the figures are for one."""

Check = Callable[[Messages], object]


def measure(rounds: int) -> Iterator[Row]:
    """CPU microseconds of one check by counter, policy and number of messages, and how that grows.

    First those of a session, then those of ``Compactor.check``, which looks at every message each time.
    """
    transcripts = {length: transcript(length) for length in LENGTHS}
    for counter in COUNTERS:
        floor = f"{counter}, the new text alone"
        cases = {floor: floor_case(counter)}
        for (name, check), length in itertools.product(checks(counter), LENGTHS):
            at_once = TURNS[name.partition(",")[0]]
            cases[f"{name}, {length:,} messages"] = turns(check(), transcripts[length], at_once)
        taken = medians(cases, rounds)
        yield Row(floor, taken[floor] * 1e6, "us")
        for name, _ in checks(counter):
            seconds = [taken[f"{name}, {length:,} messages"] for length in LENGTHS]
            for length, one in zip(LENGTHS, seconds, strict=True):
                yield Row(f"{name}, {length:,} messages", one * 1e6, "us", one / taken[floor], "the new text alone")
            yield Row(f"{name}, growth with the history", slope(LENGTHS, seconds), "slope")


def checks(counter: str) -> Iterator[tuple[str, Callable[[], Check]]]:
    """What is measured: a name, and what makes a fresh check."""
    for policy in POLICIES:
        yield f"session, {policy}, {counter}", partial(session_check, policy, counter)
    yield f"Compactor.check, default, {counter}", partial(compactor_check, "default", counter)


def session_check(policy: str, counter: str) -> Check:
    """The check of a session that knows nothing yet."""
    return Session(policy, model=MODEL, overrides={"counter": counter}, environ={}).check


def compactor_check(policy: str, counter: str) -> Check:
    """The check of a compactor, whose counter remembers texts and which remembers nothing else."""
    return Compactor(policy, model=MODEL, overrides={"counter": counter}, environ={}).check


def turns(check: Check, messages: Messages, at_once: int) -> Callable[[], float]:
    """A case: the seconds of one turn of a conversation that has grown to ``messages`` and goes on growing."""
    history = list(messages)
    check(history)
    texts = new_texts()

    def run() -> float:
        new = [{"role": "user", "content": next(texts)} for _ in range(at_once)]
        started = time.process_time()
        for message in new:
            history.append(message)
            check(history)
        return (time.process_time() - started) / at_once

    return run


def floor_case(counter: str) -> Callable[[], float]:
    """A case: the seconds that the counter takes for the text of one turn."""
    count = Compactor("default", model=MODEL, overrides={"counter": counter}, environ={}).counter.text
    texts = new_texts()

    def run() -> float:
        new = [next(texts) for _ in range(TURNS["session"])]
        started = time.process_time()
        for text in new:
            count(text)
        return (time.process_time() - started) / len(new)

    return run


def new_texts() -> Iterator[str]:
    """Texts of a hundred words, no two of them the same."""
    source = random.Random(0)
    return (f"{number} {prose(source, 100)}" for number in itertools.count())


def slope(lengths: Sequence[int], seconds: Sequence[float]) -> float:
    """The exponent of the growth: the slope of the line through the points, both axes logarithmic."""
    fitted = statistics.linear_regression([math.log(length) for length in lengths], [math.log(one) for one in seconds])
    return fitted.slope
