"""One compaction from a decision to its result."""

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from compactor.conversation import Conversation
from compactor.errors import PluginError, PromptError
from compactor.extension.protocols import SummaryRequest
from compactor.perform import Step
from compactor.planned import plan_for
from compactor.planning.plan import Plan
from compactor.planning.trigger import Decision
from compactor.plugin_calls import PluginCalls, RequiredPluginFailed, completion
from compactor.prepared import PreparedPolicy
from compactor.redaction import Redaction
from compactor.result import CompactionResult, Outcome, Report
from compactor.state import CompactionState
from compactor.summarizing import chain
from compactor.summarizing.transcript import write_prompt
from compactor.verdict import Case

Steps = Generator[Step, Any, CompactionResult]
"""Yields the calls of summarisers and plugins, is sent their answers, returns the result."""

StepT = TypeVar("StepT")

_STATE_SHARE = 5
"""Restated state may take a fifth of the target (of the window, without one): it must not crowd out the rest."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction that is due: a conversation, its state, and the decision about it.

    ``ready`` is the policy at work, as the state's lessons and the decision's rule make it; ``tokens`` the whole
    request as its counter counts. ``host_state`` is what state plugins may ask for; ``now`` the time for cooldowns, in
    seconds since the epoch. ``past_cooldowns``: summarisers are asked that are cooling down. ``recall``: the
    name of a tool that brings back what is folded.
    """

    ready: PreparedPolicy
    conversation: Conversation
    state: CompactionState
    decision: Decision
    tokens: int
    host_state: Mapping[str, Any]
    now: float
    focus: str | None = None
    past_cooldowns: bool = False
    recall: str | None = None

    def steps(self) -> Steps:
        """The compaction's one body, for synchronous and asynchronous callers."""
        case = self.case()
        refused = self.decision.by is not None and self.decision.by.trigger.at == "error"
        # What a provider refuses is not settled, whatever we thought of it.
        if not refused and (settled := case.settled) is not None:
            return case.unchanged(Outcome(settled.outcome), settled.reason)
        plugins = PluginCalls(self.ready.hooks, self.ready.counter, Redaction(self.ready.redactors))
        try:
            result = yield from self._compacted(case, plugins)
        except RequiredPluginFailed as error:
            result = case.with_plugins(error.reports).unchanged(Outcome.FAILED, str(error))
        except (PromptError, PluginError) as error:
            result = case.unchanged(Outcome.FAILED, str(error))
        return (yield from plugins.told(result))

    def case(self) -> Case:
        """The case before anything was done."""
        earlier, count = self.conversation.earlier, self.conversation.count
        state = replace(self.state, summary=earlier.summary if earlier else self.state.summary, count=count)
        return Case(self.ready, self.conversation, state, self.decision, self._report(), recall=self.recall)

    def _compacted(self, case: Case, plugins: PluginCalls) -> Steps:
        """Plan, plugins, summary, result.

        Raises ``PromptError`` for a template that fails on this conversation, ``RequiredPluginFailed`` for a plugin
        that may not fail, ``PluginError`` for a pruner, counter or redactor that does.
        """
        with _Stopwatch() as planning:
            plan = self._plan()
        if not plan.folded:
            return case.with_plan(plan, planning.seconds).pruned(plan)
        redaction = plugins.redaction
        focus = self.focus and redaction.text(self.focus)
        room = (self.ready.limits.target or self.ready.limits.usable) // _STATE_SHARE
        restated, reports = yield from plugins.state(self.conversation.given, self.host_state, room)
        if restated is not None:
            plan = self._plan(restated)
        case = case.with_plan(plan, planning.seconds).with_plugins(reports)
        if not plan.folded:
            return case.pruned(plan)
        complete = completion(self.ready.policy.summary, redaction)
        memory, reports = yield from plugins.memory(
            self.conversation.given, plan, count=self.conversation.count, focus=focus, complete=complete
        )
        case = case.with_plugins(reports)
        with _Stopwatch() as summarizing:
            answered = yield from chain.summaries(
                self.ready.summarizers,
                self._request(plan, focus, memory, redaction),
                replaced_tokens=self._replaced_tokens(plan),
                wait_after=self.ready.policy.summary.cooldown_after,
                cooldowns={} if self.past_cooldowns else self._cooldowns(),
                now=self.now,
                redact=redaction.text,
            )
        case = case.with_answer(answered, summarizing.seconds, redaction)
        return case.compacted(plan, answered, redaction, restated)

    def _cooldowns(self) -> Mapping[str, float]:
        """The cooldowns, none longer than the policy has any: a clock may have been put back."""
        latest = self.now + max(self.ready.policy.summary.cooldown.values())
        return {name: min(end, latest) for name, end in self.state.cooldowns.items()}

    def _plan(self, restated: str | None = None) -> Plan:
        return plan_for(self.ready, self.conversation, self.decision, self.tokens, restated, self.recall)

    def _request(self, plan: Plan, focus: str | None, memory: str | None, redaction: Redaction) -> SummaryRequest:
        folded = redaction.messages(plan.folded)
        previous = plan.previous and redaction.text(plan.previous)

        def write() -> str:
            return write_prompt(
                self.ready.policy,
                self.ready.templates,
                folded,
                previous=previous,
                budget_tokens=plan.summary_tokens,
                focus=focus,
                memory=memory,
            )

        return SummaryRequest(
            write_prompt=cache(write),
            folded=folded,
            previous=previous,
            sections=self.ready.policy.summary.sections,
            budget_tokens=plan.summary_tokens,
            counter=self.ready.counter,
            focus=focus,
            memory=memory,
        )

    def _replaced_tokens(self, plan: Plan) -> int:
        counter = self.ready.counter
        return counter.request(plan.folded) + counter.text(plan.previous or "")

    def _report(self) -> Report:
        """The report before anything was done."""
        ready, limits, conversation = self.ready, self.ready.limits, self.conversation
        return Report(
            policy=ready.policy.name,
            model=ready.model,
            counter=ready.policy.counter,
            window=limits.window.tokens,
            window_source=limits.window.source,
            threshold_tokens=limits.threshold,
            target_tokens=limits.target,
            trigger=self.decision.rule,
            messages_before=len(conversation.given),
            messages_after=len(conversation.given),
            tokens_before=self.tokens,
            tokens_after=self.tokens,
            compaction_count=conversation.count,
            warnings=ready.warnings,
        )


def first_that_changes(
    decision: Decision,
    make: Callable[[Decision], Generator[StepT, Any, CompactionResult]],
    decide_without: Callable[[frozenset[str]], Decision],
) -> Generator[StepT, Any, tuple[Decision, CompactionResult]]:
    """The compaction that a decision asks for, and the decision.

    A rule that only prunes and finds nothing to prune leaves it to the next one that is true: ``decide_without`` asks
    the rules but for those of these names.
    """
    result = yield from make(decision)
    tried: frozenset[str] = frozenset()
    while decision.only_prunes and not result.changed:
        tried |= {str(decision.rule)}
        decision = decide_without(tried)
        if not decision.due:
            break
        result = yield from make(decision)
    return decision, result


class _Stopwatch:
    """Measures the seconds that a block takes."""

    seconds = 0.0

    def __enter__(self) -> "_Stopwatch":
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._started
