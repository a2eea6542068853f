"""How much memory one compaction adds at its peak, with the transcript and its counts already there."""

import tracemalloc
from collections.abc import Iterator

from benchmarks.compaction import POLICIES, compaction
from benchmarks.measuring import Row
from benchmarks.transcripts import transcript

LENGTH = 10_000


def measure(rounds: int) -> Iterator[Row]:
    """Megabytes above the level before the call, by policy. Allocations repeat exactly: ``rounds`` is not used."""
    messages = transcript(LENGTH)
    for policy in POLICIES:
        call = compaction(policy, messages)
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            call()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        yield Row(f"peak of one compaction, {policy}, {LENGTH:,} messages", (peak - before) / 1e6, "MB")
