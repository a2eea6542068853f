"""Keeps one conversation below its window: what is done before a call, after it, and when a provider refuses it.

What may ask a summariser is a generator of steps, so that one body serves synchronous and asynchronous callers.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from compactor.compaction import first_that_changes
from compactor.contributors import largest
from compactor.errors import CannotFit, StoreError
from compactor.messages.message import Raw
from compactor.perform import Step
from compactor.planning.trigger import Decision
from compactor.redaction import Redaction
from compactor.result import CompactionResult, Outcome
from compactor.session.archive import Archive
from compactor.session.background import BackgroundCompaction
from compactor.session.changes import Change
from compactor.session.compacting import Compacting, Compactions, Wait
from compactor.session.events import EventKind, Events
from compactor.session.lessons import after_refusal, after_report, is_for_the_answer, windows_to_try, with_window
from compactor.session.outgoing import Outgoing
from compactor.session.policies import Policies
from compactor.session.provider_errors import ProviderError
from compactor.session.recall import NAME
from compactor.session.standing import HostRequest, Sent, Standing
from compactor.session.store.records import View
from compactor.state import CompactionState
from compactor.tokens.usage import read_usage, says_something

_HOPELESS = frozenset((Outcome.CANNOT_FIT, Outcome.NOTHING_TO_GAIN))
"""Outcomes after which another try would come to the same."""

Steps = Generator[Step | Wait, Any, Outgoing]


class Keeper:
    """One conversation and what is done with it. For one caller at a time."""

    def __init__(
        self, policies: Policies, model: str | None, state: CompactionState, events: Events, archive: Archive
    ) -> None:
        self._events = events
        self._standing = Standing(policies, model, state, events, archive)
        self._compactions = Compactions(self._standing, events)
        self._attempt = 0

    @property
    def archive(self) -> Archive:
        """What keeps the conversation."""
        return self._standing.archive

    @property
    def state(self) -> CompactionState:
        """What is to be kept of the conversation beside its messages."""
        return self._standing.state

    @property
    def messages(self) -> list[Raw]:
        """The conversation as it would be sent now."""
        return self._standing.ledger.messages

    @property
    def background(self) -> BackgroundCompaction | None:
        """The compaction that is being made in the background."""
        return self._compactions.background

    def check(self, request: HostRequest) -> Decision:
        """Whether a compaction is due before this request. Costs what is new in it."""
        if self._standing.look_at(request, only_grown=True) is None:
            return self._standing.check_apart(request)
        return self._decided()

    def before_call(self, request: HostRequest) -> Steps:
        """The request as it is to be sent, compacted if that is due. Raises ``CannotFit``."""
        self._attempt = 0
        self._look_at(request)
        self._compactions.use_background()
        decision = self._decided()
        if decision.due and not decision.background:
            if self._compactions.background is not None:
                yield Wait(self._compactions.background)
                self._compactions.use_background()
            self._standing.recount()  # it is worth a look at every message now: a host may have changed some in place
            decision = self._decided()
        if decision.background:
            self._compactions.begin_in_background(decision)
        if not decision.due or decision.background:
            return self._outgoing(decision)
        decision, result = yield from first_that_changes(
            decision,
            self._compactions.compacted,
            lambda tried: self._standing.decided(self._standing.moment, background=False, without=tried),
        )
        if result.outcome is not Outcome.BUSY:
            self._standing.follow(request)  # the host may have added messages in the meantime
        if result.outcome in _HOPELESS and self._is_too_large:
            raise CannotFit(result.reason, self._largest())
        return self._outgoing(decision, result)

    def compact(self, request: HostRequest, focus: str | None) -> Compacting:
        """A compaction that the caller asks for, due or not."""
        self._look_at(request)
        self._standing.recount()
        self._compactions.background = None
        self._standing.state = replace(self.state, strikes=0)
        decision = self._standing.decided("manual", background=False)
        return (yield from self._compactions.compacted(decision, focus=focus))

    def resume(self, view: View) -> None:
        """Goes on with a kept conversation as it is now."""
        self._compactions.background = None
        self._attempt = 0
        self._standing.resume(view)

    def undo(self) -> bool:
        """Undoes the newest compaction; False where there is none."""
        archive = self._standing.archive
        view = None if archive.session is None else archive.store.undo(archive.conversation)
        if view is not None:
            self.resume(view)
        return view is not None

    def rewind(self, message_id: int) -> None:
        """Takes back what was said after a message. Raises ``StoreError``."""
        archive = self._standing.archive
        if archive.session is None:
            raise StoreError(f"there is no message {message_id}: nothing was said yet")
        self.resume(archive.store.rewind(archive.conversation, message_id))

    def offer_recall(self) -> None:
        """From now on summaries say that what was folded can be found again."""
        self._compactions.recall = NAME

    def save(self, request: HostRequest) -> None:
        """Keeps what is new in the host's list, without a check."""
        self._look_at(request)

    def note_usage(self, usage: Any) -> None:
        """Takes what the provider reported for the last request; figures that say nothing are ignored."""
        found, sent = read_usage(usage), self._standing.sent
        if found is None or sent is None or not says_something(found.prompt_tokens, sent.counted):
            return
        self._standing.measured = replace(sent, reported=found.prompt_tokens)
        before, policy = self.state.strikes, self._standing.compactor.policy
        state = after_report(self.state, sent.model, found.prompt_tokens, sent.counted, policy.min_gain)
        self._standing.state = state
        if state.strikes > before:
            gained_nothing = "the last compaction gained next to nothing: the provider now reports"
            self._events.tell(EventKind.INEFFECTIVE, f"{gained_nothing} {found.prompt_tokens:,} tokens")
        if state.strikes > before and state.strikes >= policy.session.max_ineffective:
            more = self._standing.ready.limits.tail
            self._events.tell(
                EventKind.STOPPED,
                f"{state.strikes} compactions in a row gained nothing: there will be no automatic one until {more:,} "
                "tokens have been added or something else changes",
            )

    def recovered(self, error: BaseException) -> Steps:
        """The last request, compacted after the provider refused it.

        Raises the error itself where that would be no help, and ``CannotFit`` where it no longer is.
        """
        standing = self._standing
        if standing.sent is None:
            raise error
        refusal = standing.policies.errors.classify(error)
        decision = standing.decided_on(refusal, self._attempt + 1)
        if not decision.due or is_for_the_answer(refusal, standing.ready.limits):
            raise error
        said = Redaction(standing.ready.redactors).text(refusal.message)
        most = standing.compactor.policy.max_attempts
        if self._attempt >= most:
            raise self._refused_for_good(said, f"{most} compactions (max_attempts) were not enough") from error
        self._attempt += 1
        told = f"the provider refused the request as too large (attempt {self._attempt} of {most}): {said}"
        self._events.tell(EventKind.REFUSED, told)
        decision, result = yield from first_that_changes(
            decision,
            lambda chosen: self._smaller(chosen, refusal),
            lambda tried: standing.decided_on(refusal, self._attempt, without=tried),
        )
        if not result.changed:
            raise self._refused_for_good(said, result.reason) from error
        return self._outgoing(decision, result)

    def _smaller(self, decision: Decision, refusal: ProviderError) -> Compacting:
        """What was refused, compacted under the first window that it can be made to fit."""
        assert decision.by is not None
        standing = self._standing
        standing.recount()
        self._compactions.background = None
        limits, model = standing.ready.limits, standing.model
        now = limits.window.tokens
        standing.state = after_refusal(self.state, model, refusal, standing.ledger.size.tokens, now)
        known = self.state
        policy, ready, ledger = standing.compactor.policy, standing.ready, standing.ledger
        fixed, refused = ready.scaled(ledger.fixed_tokens), ready.scaled(ledger.size.tokens)
        hopeless = False
        for window in windows_to_try(policy, limits, decision.by.trigger, refusal, fixed=fixed, refused=refused):
            if hopeless and window < now:
                continue
            standing.state = known if window == now else with_window(known, model, window)
            made = False
            try:
                result = yield from self._compactions.compacted(decision, past_cooldowns=self._attempt == 1)
                made = result.changed
            finally:
                if not made and refusal.limit is None:  # a guess that led to nothing is not learnt
                    standing.state = replace(standing.state, learned=known.learned)
            if result.outcome not in _HOPELESS:
                break
            hopeless = result.outcome is Outcome.CANNOT_FIT  # under a still smaller one it fits even less
        return result

    def _look_at(self, request: HostRequest) -> None:
        if self._standing.look_at(request) in (Change.REWOUND, Change.NEW):
            self._attempt = 0

    def _decided(self) -> Decision:
        standing = self._standing
        return standing.decided(standing.moment, background=self._compactions.background is None)

    def _outgoing(self, decision: Decision, result: CompactionResult | None = None) -> Outgoing:
        standing = self._standing
        standing.sent = Sent(standing.model, standing.ledger.size.tokens)
        return Outgoing(standing.ledger.messages, standing.ledger.system, decision, result)

    @property
    def _is_too_large(self) -> bool:
        """Whether the request does not fit a window that is known: of one that is assumed, the provider decides."""
        standing = self._standing
        limits = standing.ready.limits
        return limits.window.known and standing.numbers().tokens > limits.usable

    def _largest(self) -> tuple[str, ...]:
        standing = self._standing
        conversation = standing.ledger.read(self.state)
        return tuple(map(str, largest(standing.ready.counter, conversation.given, conversation.tools)))

    def _refused_for_good(self, said: str, why: str) -> CannotFit:
        weighty = self._largest()
        return CannotFit(f"the provider refuses the request ({said}): {why}; largest: {', '.join(weighty)}", weighty)
