"""From a plan and a summary to the outcome: is the result valid, does it fit, was it worth it?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compactor.assembly.finish import Finished, finish
from compactor.assembly.frame import frame_static, frame_summary
from compactor.contributors import largest
from compactor.conversation import Conversation, fingerprint
from compactor.gain import Cost, body_cost, too_little
from compactor.hooks import PluginReport
from compactor.messages.earlier import summaries_in
from compactor.messages.message import Message, Raw
from compactor.parts import parts_after, parts_before
from compactor.planning.plan import Plan
from compactor.planning.trigger import Decision
from compactor.prepared import PreparedPolicy
from compactor.redaction import Redaction
from compactor.result import Archived, CompactionResult, Outcome, Report
from compactor.state import CompactionState, Settled, Unjudged
from compactor.summarizing.chain import Answered


@dataclass(frozen=True, slots=True)
class Case:
    """A compaction under way: the policy at work, the conversation, its state, and the report so far."""

    ready: PreparedPolicy
    conversation: Conversation
    state: CompactionState
    decision: Decision
    report: Report
    archive: tuple[Archived, ...] = ()
    recall: str | None = None

    def with_plan(self, plan: Plan, seconds: float) -> "Case":
        """The case with a plan's numbers in its report."""
        report = replace(
            self.report,
            head=len(plan.head),
            folded=len(plan.folded),
            tail=len(plan.between) + len(plan.tail),
            pruned=len(plan.edits),
            summary_budget=plan.summary_tokens,
            parts={"before": parts_before(self.ready.counter, self.conversation, plan, self.report.tokens_before)},
            seconds={"planning": seconds},
        )
        return replace(self, report=report, archive=tuple(_archive(plan)))

    def with_plugins(self, reports: Sequence[PluginReport]) -> "Case":
        """The case with the calls of plugins in its report."""
        return replace(self, report=replace(self.report, plugins=(*self.report.plugins, *reports)))

    def with_answer(self, answered: Answered, seconds: float, redaction: Redaction) -> "Case":
        """The case with what the summarisers said in its report, and their cooldowns in its state."""
        timings = {**self.report.seconds, "summary": seconds}
        report = replace(
            self.report,
            summarizer=answered.summarizer,
            attempts=answered.attempts,
            seconds=timings,
            redacted=dict(redaction.counts),
        )
        return replace(self, report=report, state=replace(self.state, cooldowns=answered.cooldowns))

    @property
    def settled(self) -> Settled | None:
        """What was decided about this very request before."""
        known = self.state.settled
        return known if known is not None and known.fingerprint == self._fingerprint() else None

    def unchanged(self, outcome: Outcome, reason: str, *, settled: bool = False) -> CompactionResult:
        """The input handed back; ``settled`` remembers that this request is not worth another try."""
        state = self.state
        if settled:
            again = f"{reason}; nothing has changed since"
            state = replace(state, settled=Settled(self._fingerprint(), outcome.value, again))
        report = replace(self.report, head=0, folded=0, tail=0, pruned=0, parts={})
        return CompactionResult(outcome, reason, list(self.conversation.raw), state, report, self.conversation.system)

    def pruned(self, plan: Plan) -> CompactionResult:
        """The result where nothing is folded: what pruning saved, if that is enough to be worth it."""
        if not plan.edits:
            if self.report.tokens_before > plan.limits.usable:
                return self._cannot_fit(self.conversation.given, self.report.tokens_before)
            reason = "there is nothing to prune" if plan.pruned_only else _nothing_between(plan)
            return self.unchanged(Outcome.NOTHING_TO_GAIN, reason, settled=True)
        finished = self._finished((), _pruned(self.conversation.ordered, plan), None, note=None)
        made = f"{len(plan.edits)} messages made smaller"
        reason = f"pruning was enough: {made}" if plan.pruned_only else f"{made}; {_nothing_between(plan)}"
        return self._judged(finished, Outcome.PRUNED, reason, self.state)

    def compacted(self, plan: Plan, answered: Answered, redaction: Redaction, restated: str | None) -> CompactionResult:
        """The result with the summary, or with the static note where nobody made one and the policy allows it.

        ``restated`` is the state that stands behind the summary.
        """
        summary = answered.summary
        previous = plan.previous and redaction.text(plan.previous)
        policy, templates = self.ready.policy, self.ready.templates
        failures = "; ".join(f"{attempt.summarizer}: {attempt.failure}" for attempt in answered.attempts)
        if summary is None and policy.summary.on_failure == "abort":
            return self.unchanged(Outcome.FAILED, f"no summary, and summary.on_failure is abort ({failures})")
        count = self.conversation.count + 1
        turns = len(plan.folded)
        warnings = []
        if summary is not None:
            text = frame_summary(
                templates,
                policy.assembly,
                summary,
                count=count,
                anchored=plan.anchored,
                state=restated,
                recall=self.recall,
            )
            reason = f"{turns} messages folded into a summary by {answered.summarizer}"
        else:
            text = frame_static(
                templates,
                policy.assembly,
                previous,
                turns=turns,
                count=count,
                anchored=plan.anchored,
                state=restated,
                recall=self.recall,
            )
            reason = f"{turns} messages removed with a static note: no summary ({failures})"
            warnings.append(f"no summary could be made ({failures}); a static note says so in its place")
        if count >= policy.session.warn_after:
            warnings.append(
                f"this conversation has been compacted {count} times; accuracy may degrade, consider starting fresh"
            )
        note = templates.render(policy.assembly.system_note, {"count": count})
        finished = self._finished(plan.head, (*plan.between, *plan.tail), text, note=note)
        state = replace(self.state, summary=summary or previous, count=count)
        return self._judged(finished, Outcome.COMPACTED, reason, state, summary=summary, warnings=warnings)

    def _finished(
        self, before: Sequence[Message], after: Sequence[Message], summary: str | None, *, note: str | None
    ) -> Finished:
        return finish(
            before,
            after,
            summary=summary,
            note=note,
            given=self.conversation.messages,
            policy=self.ready.policy,
            format_=self.conversation.format,
        )

    def _judged(
        self,
        finished: Finished,
        outcome: Outcome,
        reason: str,
        state: CompactionState,
        *,
        summary: str | None = None,
        warnings: Sequence[str] = (),
    ) -> CompactionResult:
        """The result, or the input where the result breaks a law, does not fit, or saves too little (law 5)."""
        if finished.violations:
            broken = "; ".join(f"law {violation.law}: {violation.message}" for violation in finished.violations)
            case = replace(self, report=replace(self.report, violations=finished.violations))
            return case.unchanged(Outcome.FAILED, f"the result would have broken a law ({broken})")
        after = self._tokens(finished)
        if after > self.ready.limits.usable:
            return (self._struck() if summary is not None else self)._cannot_fit(finished.parsed, after)
        if (too_little := self._too_little(finished, after)) is not None:
            tried = summary is not None or outcome is Outcome.PRUNED  # a summariser that failed may yet recover
            case = self._struck() if summary is not None else self
            return case.unchanged(Outcome.NOTHING_TO_GAIN, too_little, settled=tried)
        missed = self._target_missed(finished.parsed, after)
        apart = self.conversation.system is not None
        messages = finished.messages[1:] if apart else finished.messages
        system = finished.messages[0]["content"] if apart else None
        index = finished.summary_index
        settled = Settled(
            self._fingerprint(messages, system),
            Outcome.NOTHING_TO_GAIN.value,
            "the conversation is unchanged since its last compaction",
        )
        return CompactionResult(
            outcome,
            reason,
            list(messages),
            self._lighter(state, settled, len(messages), after),
            self._measured(finished, after, state.count, (*warnings, *([missed] if missed else []))),
            system,
            summary,
            index if index is None or not apart else index - 1,
            missed,
            self.archive,
        )

    def _too_little(self, finished: Finished, tokens: int) -> str | None:
        by_bytes = self.decision.by is not None and self.decision.by.weighs_bytes
        given, sent = self.conversation.given, finished.messages
        before = Cost(self.report.tokens_before, body_cost(given) if by_bytes else 0)
        after = Cost(tokens, body_cost(finished.parsed, sent) if by_bytes else 0)
        return too_little(before, after, self.ready.policy.min_gain, usable=self.ready.limits.usable, by_bytes=by_bytes)

    def _struck(self) -> "Case":
        """The case with one more compaction in its state that took a summary and gained nothing."""
        strikes, tokens = self.state.strikes + 1, self.ready.unscaled(self.report.tokens_before)
        return replace(self, state=replace(self.state, strikes=strikes, tokens=tokens))

    def _lighter(self, state: CompactionState, settled: Settled, messages: int, tokens: int) -> CompactionState:
        """The state after a result of so many messages and tokens, which the next measured request will judge."""
        variables = self.decision.variables
        best, measured = variables["tokens"], variables["reported_tokens"] > 0
        return replace(
            state,
            settled=settled,
            messages=messages,
            tokens=self.ready.unscaled(tokens),
            strikes=0,
            unjudged=Unjudged(
                best if measured else self.ready.unscaled(best), measured, state.strikes, self.ready.model or ""
            ),
        )

    def _fingerprint(self, messages: Sequence[Raw] | None = None, system: Any = None) -> str:
        """Of the conversation, or of other messages in its place."""
        conversation = self.conversation
        if messages is None:
            messages, system = conversation.raw, conversation.system
        limits, min_gain = self.ready.limits, self.ready.policy.min_gain
        return fingerprint(messages, system, conversation.tools, limits, min_gain, prune_only=self.ready.prune_only)

    def _tokens(self, finished: Finished) -> int:
        return self.ready.counter.request(finished.parsed, self.conversation.tools)

    def _measured(self, finished: Finished, tokens: int, count: int, warnings: Sequence[str]) -> Report:
        """The report with the result's own numbers."""
        after = parts_after(self.ready.counter, finished, self.conversation.tools, tokens)
        return replace(
            self.report,
            messages_after=len(finished.messages),
            tokens_after=tokens,
            compaction_count=count,
            repaired=replace(finished.repairs, moved=self.conversation.moved),
            parts={**self.report.parts, "after": after},
            warnings=(*self.report.warnings, *warnings),
        )

    def _cannot_fit(self, messages: Sequence[Message], tokens: int) -> CompactionResult:
        reason = (
            f"{tokens:,} tokens do not fit the usable window of {self.ready.limits.usable:,}; "
            f"largest: {self._largest(messages)}"
        )
        return self.unchanged(Outcome.CANNOT_FIT, reason, settled=True)

    def _target_missed(self, messages: Sequence[Message], tokens: int) -> str | None:
        target = self.ready.limits.target
        if target is None or tokens <= target:
            return None
        return f"{tokens:,} tokens, over the target of {target:,}; largest: {self._largest(messages)}"

    def _largest(self, messages: Sequence[Message]) -> str:
        return ", ".join(map(str, largest(self.ready.counter, messages, self.conversation.tools)))


def _archive(plan: Plan) -> Iterator[Archived]:
    for message in plan.folded:
        if message.index is not None and message.index >= 0:
            yield Archived(message.index, "folded", "between head and tail")
    folded = {message.index for message in plan.folded}
    for index, edit in plan.edits.items():
        if index is not None and index >= 0 and index not in folded:
            yield Archived(index, "pruned", edit.reason)


def _nothing_between(plan: Plan) -> str:
    return (
        f"nothing lies between head and tail: {len(plan.head)} messages are protected at the start and the "
        f"last {len(plan.tail)} are within the tail's {plan.limits.tail:,} tokens "
        "(boundaries.protect_first_n, boundaries.tail_budget_ratio, threshold, target)"
    )


def _pruned(messages: Sequence[Message], plan: Plan) -> tuple[Message, ...]:
    """All messages with the plan's edits; one that carries an earlier summary of ours keeps it, unedited."""
    return tuple(
        message.with_parts(plan.edits[message.index].parts)
        if message.index in plan.edits and not summaries_in(message)
        else message
        for message in messages
    )
