"""Making the compactions of a session: kept by whoever keeps it, now or in the background, by one worker of several.

What may ask a summariser is a generator of steps, so that one body serves synchronous and asynchronous callers.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from compactor.compaction import Compaction
from compactor.errors import CompactorError
from compactor.perform import Step
from compactor.planning.trigger import Decision
from compactor.result import CompactionResult, Outcome
from compactor.session.archive import Made
from compactor.session.background import BackgroundCompaction
from compactor.session.events import EventKind, Events
from compactor.session.standing import Standing
from compactor.session.store.records import Claim
from compactor.session.telemetry import spanned


@dataclass(frozen=True, slots=True)
class Wait:
    """A step: wait for a compaction in the background."""

    background: BackgroundCompaction


Compacting = Generator[Step | Wait, Any, CompactionResult]


class Compactions:
    """The compactions of one conversation.

    ``background`` is the one that is being made there; ``recall`` is the name of the tool that summaries tell of, once
    it is offered.
    """

    def __init__(self, standing: Standing, events: Events) -> None:
        self._standing = standing
        self._events = events
        self.background: BackgroundCompaction | None = None
        self.recall: str | None = None

    def compacted(self, decision: Decision, *, focus: str | None = None, past_cooldowns: bool = False) -> Compacting:
        """The result of a compaction, kept and taken over. Of several workers on one session one makes it."""
        archive, ledger = self._standing.archive, self._standing.ledger
        lead, covered = ledger.lead, ledger.covered
        compaction = self._compaction(decision, focus, past_cooldowns=past_cooldowns)
        claimed = archive.claim()
        if claimed is None:
            busy = compaction.case().unchanged(Outcome.BUSY, "another worker is compacting this session just now")
            self._events.ended(busy)
            return busy
        try:
            if not archive.is_current(claimed):
                return self._overtaken(compaction.case().unchanged(Outcome.BUSY, ""))
            self._events.tell(EventKind.COMPACTING, f"⟳ compacting context… ({decision.reason})")
            with archive.held(claimed):
                result = yield from spanned(compaction)
            return self._take_over(Made(result, lead, covered), claimed)
        finally:
            archive.store.release(claimed)

    def begin_in_background(self, decision: Decision) -> None:
        """Begins a compaction that ``use_background`` puts to use at a later call."""
        self.background = BackgroundCompaction(self._compaction(decision), self._standing.ledger.lead)
        self._events.tell(EventKind.BACKGROUND, f"compacting in the background ({decision.reason})")

    def use_background(self) -> None:
        """Puts to use what was made in the background, if it is ready and the messages that it covers are unchanged."""
        background = self.background
        if background is None or not background.done:
            return
        self.background = None
        ledger = self._standing.ledger
        covered = ledger.said_at(background.length)
        try:
            result = background.result_for(ledger.behind_lead)
        except CompactorError as error:
            self._events.tell(EventKind.BACKGROUND, str(error))
            return
        enabled = self._standing.compactor.policy.enabled
        if result is None or covered is None or not enabled:
            why = "the messages that it covers have changed" if enabled else "the policy is no longer enabled"
            self._events.tell(EventKind.BACKGROUND, f"what was made in the background is thrown away: {why}")
            return
        claimed = self._standing.archive.claim()
        if claimed is None:  # another worker is at it: the next call tries again, and finds out what became of that
            self.background = background
            return
        try:
            if self._standing.archive.is_current(claimed):
                self._take_over(Made(result, background.lead, covered), claimed)
            else:
                self._overtaken(result)
        finally:
            self._standing.archive.store.release(claimed)

    def _compaction(self, decision: Decision, focus: str | None = None, *, past_cooldowns: bool = False) -> Compaction:
        standing = self._standing
        ready, compactor = standing.ready, standing.compactor
        return Compaction(
            ready=ready.under(decision.by),
            conversation=standing.ledger.read(standing.state),
            state=standing.state,
            decision=decision,
            tokens=ready.scaled(standing.ledger.size.tokens),
            host_state=compactor.host_state,
            now=compactor.now(),
            focus=focus,
            past_cooldowns=past_cooldowns,
            recall=self.recall,
        )

    def _take_over(self, made: Made, claimed: Claim) -> CompactionResult:
        standing, result = self._standing, made.result
        if result.changed and not self._kept(made, claimed):
            return self._overtaken(result)
        # What reports have taught in the meantime is newer than what the compaction began with.
        standing.state = replace(result.state, learned=standing.state.learned)
        if result.changed:
            standing.ledger.replace(made.left, made.covered, standing.noted)
            standing.forget_sent()
            self.background = None
        self._events.ended(result)
        return result

    def _kept(self, made: Made, claimed: Claim) -> bool:
        archive, rules = self._standing.archive, self._standing.compactor.policy.session
        rotate = rules.lineage == "rotate"
        title = archive.next_title(rules.title) if rotate else None
        return archive.commit(claimed, made, self._standing.ledger, title=title, rotate=rotate, logs=rules.logs)

    def _overtaken(self, result: CompactionResult) -> CompactionResult:
        """Another worker has compacted the session, or rewound it: what it left applies."""
        standing = self._standing
        standing.resume(standing.archive.store.view(standing.archive.conversation))
        self.background = None
        reason = "another worker has changed this session in the meantime: what it left applies"
        overtaken = replace(
            result, outcome=Outcome.BUSY, reason=reason, messages=standing.ledger.messages, state=standing.state
        )
        self._events.ended(overtaken)
        return overtaken
