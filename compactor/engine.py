"""One compaction from start to end."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from compactor.assembly.assemble import with_note
from compactor.assembly.frame import frame_summary
from compactor.conversation import Conversation, read_conversation
from compactor.errors import PluginError, PromptError
from compactor.extension.functions import Function
from compactor.extension.protocols import Counter, Summarizer, SummaryRequest
from compactor.messages.message import Message, Raw, Text
from compactor.perform import Step, perform, perform_async
from compactor.planning.limits import Limits
from compactor.planning.plan import Plan, Task, make_plan
from compactor.planning.trigger import Decision, decide, trigger_variables
from compactor.plugin_calls import PluginCalls, RequiredPluginFailed, completion
from compactor.policy.models import Policy
from compactor.policy.overrides import Override
from compactor.prepared import PolicySource, PreparedPolicy, prepare
from compactor.redaction import Redaction
from compactor.result import CompactionResult, Outcome, Report
from compactor.state import CompactionState
from compactor.steps import drive, drive_async
from compactor.summarizing import chain
from compactor.summarizing.transcript import write_prompt
from compactor.verdict import Case

Steps = Generator[Step, Any, CompactionResult]

_STATE_SHARE = 5
"""Restated state may take a fifth of the target (of the window, without one): it must not crowd out the rest."""

FORCED = "forced"
"""What stands for the trigger's name in a compaction that the caller forced."""


class Compactor:
    """Compacts conversations under one policy for one model. Holds no conversation: safe to share and to reuse."""

    def __init__(
        self,
        policy: PolicySource = "default",
        *,
        model: str | None = None,
        overrides: Sequence[Override] | Mapping[str, Any] = (),
        summarizer: Summarizer | Function | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        host_state: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """``policy`` is a name, a file or a mapping; ``model`` the agent's model, for its window and encoding.

        ``overrides`` are values for single keys (``{"threshold": 0.6}``); ``summarizer`` (an object or a function
        ``(SummaryRequest) -> str``) is asked in place of the policy's own; ``environ`` stands in for
        ``os.environ``; ``clock`` tells the seconds since the epoch, for cooldowns. ``host_state`` is handed to state
        plugins: values, or functions without arguments that give one, by the names that the plugins document.

        Raises ``PolicyError`` with every mistake in the policy.
        """
        self._ready = prepare(policy, model=model, overrides=overrides, summarizer=summarizer, environ=environ)
        self._clock = clock
        self._host_state = host_state

    @property
    def prepared(self) -> PreparedPolicy:
        """The policy with everything that it names, and where each of its values came from."""
        return self._ready

    @property
    def policy(self) -> Policy:
        """The policy as it applies: merged and validated."""
        return self._ready.policy

    @property
    def limits(self) -> Limits:
        """The policy's numbers in tokens, for the model's window."""
        return self._ready.limits

    @property
    def counter(self) -> Counter:
        """The policy's counter."""
        return self._ready.counter

    def check(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        state: CompactionState | None = None,
    ) -> Decision:
        """Whether a compaction is due, by which rule and which numbers. Raises ``InputError``."""
        conversation = self._read(messages, system, tools, state)
        return self._decide(conversation, self._tokens(conversation))

    def plan(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        state: CompactionState | None = None,
    ) -> Plan:
        """What a compaction would do, due or not; asks no summariser. Raises ``InputError``."""
        conversation = self._read(messages, system, tools, state)
        tokens = self._tokens(conversation)
        return self._plan(conversation, self._decide(conversation, tokens), tokens)

    def compact(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        state: CompactionState | None = None,
        focus: str | None = None,
        force: bool = False,
    ) -> CompactionResult:
        """Compacts a conversation if a trigger is true, or if ``force``.

        ``messages`` are provider dictionaries and never changed; ``system`` is the system prompt where it is
        given apart, ``tools`` the tool schemas of the request (they count). ``state`` is the one that the last
        compaction of this conversation returned. ``focus`` tells the summariser what matters most.

        Raises ``InputError`` when the messages cannot be read; whatever goes wrong after that is an outcome.
        """
        steps = self._steps(messages, system, tools, state, focus, force)
        return drive(steps, perform)

    async def acompact(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        state: CompactionState | None = None,
        focus: str | None = None,
        force: bool = False,
    ) -> CompactionResult:
        """As ``compact``, with the summarisers awaited."""
        steps = self._steps(messages, system, tools, state, focus, force)
        return await drive_async(steps, perform_async)

    def _read(
        self, messages: Sequence[Raw], system: Any, tools: Sequence[Raw], state: CompactionState | None
    ) -> Conversation:
        return read_conversation(messages, system, tools, state or CompactionState(), self._ready.formats)

    def _tokens(self, conversation: Conversation) -> int:
        return self.counter.request(conversation.given, conversation.tools)

    def _decide(self, conversation: Conversation, tokens: int) -> Decision:
        variables = trigger_variables(
            self.policy,
            self.limits,
            tokens=tokens,
            message_count=len(conversation.given),
            compaction_count=conversation.count,
        )
        return decide(self.policy, self._ready.rules, variables)

    def _plan(self, conversation: Conversation, decision: Decision, tokens: int, state: str | None = None) -> Plan:
        return make_plan(
            Task(
                decision=decision,
                messages=conversation.messages,
                tools=conversation.tools,
                earlier=conversation.earlier,
                policy=self.policy,
                limits=self.limits,
                counter=self.counter,
                pruners=self._ready.pruners,
                tokens=tokens,
                overhead=self._overhead(conversation, state),
                count=conversation.count,
            )
        )

    def _overhead(self, conversation: Conversation, state: str | None) -> int:
        """Tokens of what is added to the result beside the summary itself: its frame, restated state, the note."""
        count = conversation.count + 1
        templates, assembly = self._ready.templates, self.policy.assembly
        frame = Message(
            "user", (Text(frame_summary(templates, assembly, "-", count=count, anchored=True, state=state)),)
        )
        first = conversation.given[:1]
        noted = with_note(first, templates.render(assembly.system_note, {"count": count}))
        note = sum(map(self.counter.message, noted)) - sum(map(self.counter.message, first))
        return self.counter.message(frame) + note

    def _steps(
        self,
        messages: Sequence[Raw],
        system: Any,
        tools: Sequence[Raw],
        state: CompactionState | None,
        focus: str | None,
        force: bool,
    ) -> Steps:
        """The one body of ``compact`` and ``acompact``: yields the calls of summarisers."""
        state = state or CompactionState()
        conversation = self._read(messages, system, tools, state)
        earlier = conversation.earlier
        state = replace(state, summary=earlier.summary if earlier else state.summary, count=conversation.count)
        try:
            tokens = self._tokens(conversation)
            decision = self._decide(conversation, tokens)
        except PluginError as error:  # a counter of a plugin
            unknown = self._report(conversation, Decision(False, None, str(error)), 0)
            return Case(self._ready, conversation, state, unknown).unchanged(Outcome.FAILED, str(error))
        if force:
            decision = replace(decision, due=True, rule=FORCED, reason="forced by the caller")
        case = Case(self._ready, conversation, state, self._report(conversation, decision, tokens))
        if not decision.due:
            return case.unchanged(Outcome.NOT_NEEDED, decision.reason)
        if (settled := case.settled) is not None:
            return case.unchanged(Outcome(settled.outcome), settled.reason)
        plugins = PluginCalls(self._ready.hooks, self.counter, Redaction(self._ready.redactors))
        try:
            result = yield from self._compaction(case, decision, focus, plugins)
        except RequiredPluginFailed as error:
            result = case.with_plugins(error.reports).unchanged(Outcome.FAILED, str(error))
        except (PromptError, PluginError) as error:
            result = case.unchanged(Outcome.FAILED, str(error))
        return (yield from plugins.told(result))

    def _compaction(self, case: Case, decision: Decision, focus: str | None, plugins: PluginCalls) -> Steps:
        """Plan, plugins, summary, result.

        Raises ``PromptError`` for a template that fails on this conversation, ``RequiredPluginFailed`` for a plugin
        that may not fail, ``PluginError`` for a pruner, counter or redactor that does.
        """
        with _Stopwatch() as planning:
            plan = self._plan(case.conversation, decision, case.report.tokens_before)
        if not plan.folded:
            return case.with_plan(plan, planning.seconds).pruned(plan)
        redaction = plugins.redaction
        focus = focus and redaction.text(focus)
        room = (self.limits.target or self.limits.usable) // _STATE_SHARE
        state, reports = yield from plugins.state(case.conversation.given, self._host_state, room)
        if state is not None:
            plan = self._plan(case.conversation, decision, case.report.tokens_before, state=state)
        case = case.with_plan(plan, planning.seconds).with_plugins(reports)
        if not plan.folded:
            return case.pruned(plan)
        complete = completion(self.policy.summary, redaction)
        memory, reports = yield from plugins.memory(
            case.conversation.given, plan, count=case.conversation.count, focus=focus, complete=complete
        )
        case = case.with_plugins(reports)
        with _Stopwatch() as summarizing:
            answered = yield from chain.summaries(
                self._ready.summarizers,
                self._request(plan, focus, memory, redaction),
                replaced_tokens=self._replaced_tokens(plan),
                wait_after=self.policy.summary.cooldown_after,
                cooldowns=case.state.cooldowns,
                now=self._clock(),
                redact=redaction.text,
            )
        return case.with_answer(answered, summarizing.seconds, redaction).compacted(plan, answered, redaction, state)

    def _request(self, plan: Plan, focus: str | None, memory: str | None, redaction: Redaction) -> SummaryRequest:
        folded = redaction.messages(plan.folded)
        previous = plan.previous and redaction.text(plan.previous)

        def write() -> str:
            return write_prompt(
                self.policy,
                self._ready.templates,
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
            sections=self.policy.summary.sections,
            budget_tokens=plan.summary_tokens,
            counter=self.counter,
            focus=focus,
            memory=memory,
        )

    def _replaced_tokens(self, plan: Plan) -> int:
        return self.counter.request(plan.folded) + self.counter.text(plan.previous or "")

    def _report(self, conversation: Conversation, decision: Decision, tokens: int) -> Report:
        """The report before anything was done."""
        limits = self.limits
        return Report(
            policy=self.policy.name,
            model=self._ready.model,
            counter=self.policy.counter,
            window=limits.window.tokens,
            window_source=limits.window.source,
            threshold_tokens=limits.threshold,
            target_tokens=limits.target,
            trigger=decision.rule,
            messages_before=len(conversation.given),
            messages_after=len(conversation.given),
            tokens_before=tokens,
            tokens_after=tokens,
            compaction_count=conversation.count,
            warnings=self._ready.warnings,
        )


def compact(messages: Sequence[Raw], policy: PolicySource = "default", **options: Any) -> CompactionResult:
    """Compacts a conversation with a ``Compactor`` made for this call.

    ``options`` are those of ``Compactor`` (``model``, ``overrides``, ``summarizer``) and of ``Compactor.compact``
    (``system``, ``tools``, ``state``, ``focus``, ``force``). An agent that compacts more than once keeps a
    ``Compactor`` instead.
    """
    call = {key: options.pop(key) for key in ("system", "tools", "state", "focus", "force") if key in options}
    return Compactor(policy, **options).compact(messages, **call)


class _Stopwatch:
    """Measures the seconds that a block takes."""

    seconds = 0.0

    def __enter__(self) -> "_Stopwatch":
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._started
