"""What one conversation remembers between compactions: a small value that goes in and comes out."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Settled:
    """A request that needs no other look: what was decided about it, and its fingerprint.

    The fingerprint covers the messages, the system prompt, the tools, and the limits that they were held against.
    """

    fingerprint: str
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class CompactionState:
    """The memory of a conversation across compactions and restarts.

    Everything but the cooldowns can also be read back from the transcript, so a lost state costs no summary.

    ``summary``: the newest summary that a summariser made (never a static note).
    ``count``: compactions so far, over all sessions of the conversation.
    ``cooldowns``: summariser -> time (seconds since the epoch) before which it is not asked again.
    ``settled``: what the last call decided; while nothing changes, the next one decides the same without trying.
    """

    summary: str | None = None
    count: int = 0
    cooldowns: Mapping[str, float] = field(default_factory=dict)
    settled: Settled | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "cooldowns": dict(self.cooldowns)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "CompactionState":
        """The inverse of ``to_dict``; unknown keys are an error (``TypeError``)."""
        settled = data.get("settled")
        return cls(**{**data, "settled": None if settled is None else Settled(**settled)})
