"""What is told of the compactions of a kept conversation."""

from collections.abc import Sequence

from compactor.session.store.records import CompactionRecord


def change(made: CompactionRecord) -> str:
    """What it did to the request, in tokens."""
    return f"{made.tokens_before:,} -> {made.tokens_after:,} tokens"


def author(made: CompactionRecord) -> str:
    """Who wrote the summary."""
    if made.outcome == "pruned":
        return "pruning alone"
    return made.summarizer or "static note"


def in_force(made: Sequence[CompactionRecord]) -> list[CompactionRecord]:
    """Those that were not undone, the newest last: it is the one that applies."""
    return [each for each in made if each.undone_at is None]


def last_undone(made: Sequence[CompactionRecord]) -> CompactionRecord:
    """The one that was undone last; there must be one."""
    return max((each for each in made if each.undone_at is not None), key=lambda each: (each.undone_at or 0.0, each.id))
