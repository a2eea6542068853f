"""What one compaction costs apart from the summarizer: it is scripted and answers at once.

Counts are warm, as they are in an agent that checks on every turn. The yardstick is ``json.loads`` of the same
transcript in the same process.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.measuring import Row, call_seconds, medians
from benchmarks.transcripts import Messages, transcript
from compactor.engine import Compactor
from compactor.result import CompactionResult, Outcome

LENGTHS = (1_000, 10_000)
POLICIES = ("default", "hermes")
MODEL = "gpt-4o"
SUMMARY = "## Goal\nKeep the service running.\n\n## Progress\n" + "- one module was read, changed and tested\n" * 200
"""About 2,000 tokens."""

Call = Callable[[], CompactionResult]


def measure(rounds: int) -> Iterator[Row]:
    """CPU milliseconds of one forced compaction, by policy and number of messages."""
    for length in LENGTHS:
        messages = transcript(length)
        text = json.dumps(messages)
        yardstick = f"json.loads, {length:,} messages"
        calls = {f"compact, {policy}, {length:,} messages": compaction(policy, messages) for policy in POLICIES}
        cases = {name: call_seconds(call) for name, call in calls.items()}
        taken = medians({yardstick: call_seconds(partial(json.loads, text)), **cases}, rounds)
        for name, seconds in taken.items():
            yield Row(name, seconds * 1000, "ms", seconds / taken[yardstick], "json.loads")


def compaction(policy: str, messages: Messages) -> Call:
    """A call that compacts ``messages``, all of them counted before.

    Raises ``RuntimeError`` when there is nothing to measure because the messages were not compacted.
    """
    compactor = Compactor(policy, model=MODEL, summarizer=lambda request: answer(request.prompt), environ={})

    def call() -> CompactionResult:
        return compactor.compact(messages, force=True)

    result = call()
    if result.outcome is not Outcome.COMPACTED:
        raise RuntimeError(f"{policy}: {result.outcome}, {result.reason}")
    return call


def answer(prompt: str) -> str:
    """The scripted reply. The prompt has to be written to get it, as for a model."""
    if not prompt:
        raise RuntimeError("the summarizer was given no prompt")
    return SUMMARY
