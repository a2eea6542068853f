"""What it costs to look for secrets in every text that leaves the conversation."""

from collections.abc import Iterator

from benchmarks.measuring import Row, call_seconds, medians
from benchmarks.transcripts import transcript
from compactor.redaction import PatternRedactor, shipped_patterns

LENGTH = 10_000


def measure(rounds: int) -> Iterator[Row]:
    """CPU milliseconds for each million characters. The yardstick is ``str.lower`` of the same texts."""
    texts = [message["content"] for message in transcript(LENGTH) if message["content"]]
    millions = sum(map(len, texts)) / 1e6
    redactor = PatternRedactor(shipped_patterns())
    cases = {
        "str.lower, 1 MB": call_seconds(lambda: [text.lower() for text in texts]),
        "redaction, 1 MB": call_seconds(lambda: [redactor.redact(text) for text in texts]),
    }
    taken = medians(cases, rounds)
    for name, seconds in taken.items():
        yield Row(name, seconds * 1000 / millions, "ms", seconds / taken["str.lower, 1 MB"], "str.lower")
