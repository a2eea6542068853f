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
class Learned:
    """What a provider's reports and refusals have taught about a model.

    ``ratio``: reported tokens for each counted one. ``window``: its window in tokens, None where no refusal has shown
    that it is smaller than assumed.
    """

    ratio: float = 1.0
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A compaction that the next measured request will judge.

    ``tokens`` is what the request cost before it, the provider's own figure where ``measured``; ``strikes`` is how
    many compactions in a row before this one gained nothing; ``model`` whose tokens these are.
    """

    tokens: int
    measured: bool
    strikes: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class CompactionState:
    """The memory of a conversation across compactions and restarts.

    Summary and count can also be read back from the transcript, so a lost state costs no summary.

    ``summary``: the newest summary that a summariser made (never a static note).
    ``count``: compactions so far, over all sessions of the conversation.
    ``cooldowns``: summariser -> time (seconds since the epoch) before which it is not asked again.
    ``settled``: what the last call decided; while nothing changes, the next one decides the same without trying.
    ``messages``, ``tokens``: the size of what the last compaction left, tokens as the policy's counter counts (what a
    provider reports for a request with fewer messages is older than the compaction).
    ``strikes``: compactions in a row that gained nothing; ``unjudged``: the last one, while that is not known of it.
    ``learned``: what is known of models, by name ("" for none named).
    """

    summary: str | None = None
    count: int = 0
    cooldowns: Mapping[str, float] = field(default_factory=dict)
    settled: Settled | None = None
    messages: int = 0
    tokens: int = 0
    strikes: int = 0
    unjudged: Unjudged | None = None
    learned: Mapping[str, Learned] = field(default_factory=dict)

    def about(self, model: str | None) -> Learned:
        """What has been learnt about a model."""
        return self.learned.get(model or "", Learned())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "cooldowns": dict(self.cooldowns)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "CompactionState":
        """The inverse of ``to_dict``; what is None has its default. Unknown keys are an error (``TypeError``)."""
        settled, unjudged = data.get("settled"), data.get("unjudged")
        values = {
            **{name: value for name, value in data.items() if value is not None},
            "settled": None if settled is None else Settled(**settled),
            "unjudged": None if unjudged is None else Unjudged(**unjudged),
            "learned": {model: Learned(**learned) for model, learned in (data.get("learned") or {}).items()},
        }
        return cls(**values)
