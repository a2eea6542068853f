"""What the check on every turn costs: one new message, and the question whether a compaction is due.

All earlier messages were counted on earlier turns. The slope says how the cost grows with the history: 0 not at
all, 1 in proportion.
"""

import itertools
import json
import math
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.measuring import Row, call_seconds, medians
from benchmarks.transcripts import Messages, prose, transcript
from compactor.engine import Compactor

LENGTHS = (1_000, 10_000)
POLICIES = ("default", "hermes")
MODEL = "gpt-4o"
TURNS = 5
"""Turns that are measured together; the figures are for one."""


def measure(rounds: int) -> Iterator[Row]:
    """CPU microseconds of one check, by policy and number of messages, and the slope of each policy."""
    for policy in POLICIES:
        taken = {}
        for length in LENGTHS:
            messages = transcript(length)
            text = json.dumps(messages)
            cases = {"check": turns(policy, messages), "json": call_seconds(partial(json.loads, text))}
            seconds = medians(cases, rounds)
            taken[length] = seconds["check"]
            ratio = seconds["check"] / seconds["json"]
            yield Row(f"check, {policy}, {length:,} messages", seconds["check"] * 1e6, "us", ratio, "json.loads")
        first, last = LENGTHS
        slope = math.log(taken[last] / taken[first]) / math.log(last / first)
        yield Row(f"check, {policy}, growth with the history", slope, "slope")


def turns(policy: str, messages: Messages) -> Callable[[], float]:
    """A case: the seconds of one turn of a conversation that has grown to ``messages``."""
    compactor = Compactor(policy, model=MODEL, environ={})
    compactor.check(messages)
    source = random.Random(0)
    numbers = itertools.count()

    def run() -> float:
        history = list(messages)
        new = [{"role": "user", "content": f"{next(numbers)} {prose(source, 100)}"} for _ in range(TURNS)]
        started = time.process_time()
        for message in new:
            history.append(message)
            compactor.check(history)
        return (time.process_time() - started) / TURNS

    return run
