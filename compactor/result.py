"""What a compaction hands back: the messages, the state for the next one, and a report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from compactor.assembly.laws import CHECKED, Violation
from compactor.assembly.repair import Repairs
from compactor.hooks import PluginReport
from compactor.messages.message import Raw
from compactor.state import CompactionState
from compactor.summarizing.chain import Attempt


class Outcome(StrEnum):
    """How a compaction ended. On all but the first two the messages are the input, untouched."""

    COMPACTED = "compacted"
    """A summary (or the static note) replaced the middle."""
    PRUNED = "pruned"
    """Pruning alone was enough."""
    NOT_NEEDED = "not_needed"
    """No trigger is true."""
    NOTHING_TO_GAIN = "nothing_to_gain"
    """What could be saved is less than the policy's ``min_gain``."""
    CANNOT_FIT = "cannot_fit"
    """Even compacted it does not fit the window."""
    FAILED = "failed"
    """There is no summary and the policy says abort, or the result would have broken a law."""
    BUSY = "busy"
    """Somebody else is compacting the same session; only a session with a store can come to this."""


@dataclass(frozen=True, slots=True)
class Report:
    """The numbers of a compaction. Token figures are as the policy's counter counts.

    ``head``, ``folded`` and ``tail`` are numbers of messages, ``pruned`` of messages that pruning changed.
    ``summary_budget`` is the size in tokens that the summary was to aim at. ``redacted`` counts the secrets that were
    kept from summarisers and plugins, by kind; ``plugins`` are the calls of plugins. ``parts`` has the tokens by part,
    before and after; ``seconds`` the time by phase.
    """

    policy: str
    model: str | None
    counter: str
    window: int
    window_source: str
    threshold_tokens: int
    target_tokens: int | None
    trigger: str | None
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    head: int = 0
    folded: int = 0
    tail: int = 0
    pruned: int = 0
    summary_budget: int = 0
    compaction_count: int = 0
    repaired: Repairs = field(default_factory=Repairs)
    violations: tuple[Violation, ...] = ()
    summarizer: str | None = None
    attempts: tuple[Attempt, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)
    plugins: tuple[PluginReport, ...] = ()
    parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; ``laws`` has what was checked and what was broken."""
        data = asdict(self)
        broken = data.pop("violations")
        return {**data, "laws": {"checked": list(CHECKED), "violations": list(broken)}}


@dataclass(frozen=True, slots=True)
class Archived:
    """A message of the input that is no longer there as it was: ``index`` is its place in the input.

    ``fate``: ``folded`` into the summary, or ``pruned``; ``reason`` says why.
    """

    index: int
    fate: str
    reason: str


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The outcome of one compaction.

    ``messages`` are provider dictionaries: those that were not touched are the very objects of the input.
    ``system`` is the system prompt where it was given apart. ``state`` belongs to the next compaction of this
    conversation. ``target_missed`` says why the result costs more than the policy's target, None when it does
    not. ``summary`` is the new summary, ``summary_index`` the message that it is in. ``archive`` lists the messages
    of the input that were folded or pruned: what somebody has to keep who wants to bring them back.
    """

    outcome: Outcome
    reason: str
    messages: Sequence[Raw]
    state: CompactionState
    report: Report
    system: Any = None
    summary: str | None = None
    summary_index: int | None = None
    target_missed: str | None = None
    archive: tuple[Archived, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether ``messages`` differ from the input."""
        return self.outcome in (Outcome.COMPACTED, Outcome.PRUNED)

    def to_dict(self) -> dict[str, Any]:
        """Outcome, reason and report as plain data for JSON, without the messages."""
        return {
            "outcome": str(self.outcome),
            "reason": self.reason,
            "target_missed": self.target_missed,
            **self.report.to_dict(),
        }
