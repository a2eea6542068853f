"""Compactions for callers who keep the conversation themselves: ``Compactor``."""

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from compactor.checking import decided, measure
from compactor.compaction import Compaction, Steps, first_that_changes
from compactor.conversation import Conversation, read_conversation
from compactor.errors import PluginError
from compactor.extension.functions import Function
from compactor.extension.protocols import Counter, Summarizer
from compactor.messages.message import Raw
from compactor.perform import perform, perform_async
from compactor.planned import plan_for
from compactor.planning.limits import Limits
from compactor.planning.plan import Plan
from compactor.planning.trigger import Decision
from compactor.policy.models import Policy
from compactor.policy.overrides import Override
from compactor.policy.triggers import Moment
from compactor.prepared import PolicySource, PreparedPolicy, prepare
from compactor.result import CompactionResult, Outcome
from compactor.state import CompactionState
from compactor.steps import drive, drive_async

CallMoment = Literal["turn_start", "tool_results"]
"""The moments before a model call that a caller can name: a turn's first call, or one that sends tool results."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller asks about: a conversation as it came, what is known of it, and when it asks."""

    messages: Sequence[Raw]
    system: Any
    tools: Sequence[Raw]
    usage: Any
    state: CompactionState | None
    at: Moment


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

    def for_model(self, model: str | None) -> "Compactor":
        """A compactor with the same policy as it applies now, for another model's window."""
        other = copy(self)
        other._ready = self._ready.for_model(model)
        return other

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

    @property
    def host_state(self) -> Mapping[str, Any]:
        """What state plugins may ask for."""
        return self._host_state

    def now(self) -> float:
        """The time as cooldowns see it, in seconds since the epoch."""
        return self._clock()

    def check(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        usage: Any = None,
        state: CompactionState | None = None,
        at: CallMoment = "turn_start",
    ) -> Decision:
        """Whether a compaction is due, by which rule and which numbers; for the arguments see ``compact``.

        Raises ``InputError``, and ``PluginError`` for a counter of a plugin that fails.
        """
        request = Request(messages, system, tools, usage, state, at)
        ready, conversation, known = self._opened(request)
        return decided(ready, measure(ready, conversation, known, usage), known, at)

    def plan(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        usage: Any = None,
        state: CompactionState | None = None,
        at: CallMoment = "turn_start",
    ) -> Plan:
        """What a compaction would do, due or not; asks no summariser. Raises as ``check`` does."""
        request = Request(messages, system, tools, usage, state, at)
        ready, conversation, known = self._opened(request)
        numbers = measure(ready, conversation, known, usage)
        decision = decided(ready, numbers, known, at)
        return plan_for(ready.under(decision.by), conversation, decision, numbers.estimated)

    def compact(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        usage: Any = None,
        state: CompactionState | None = None,
        at: CallMoment = "turn_start",
        focus: str | None = None,
        force: bool = False,
    ) -> CompactionResult:
        """Compacts a conversation if a trigger is true, or if ``force``.

        ``messages`` are provider dictionaries and never changed; ``system`` is the system prompt where it is
        given apart, ``tools`` the tool schemas of the request (they count). ``usage`` is what the provider reported
        for the last request, as it came or as ``Usage``: it is better than any count of ours. ``state`` is the one that
        the last compaction of this conversation returned. ``at`` says which call comes next: the first one of a turn,
        or one with tool results. ``focus`` tells the summariser what matters most.

        Raises ``InputError`` when the messages cannot be read; whatever goes wrong after that is an outcome.
        """
        request = Request(messages, system, tools, usage, state, "manual" if force else at)
        return drive(self._steps(request, focus), perform)

    async def acompact(
        self,
        messages: Sequence[Raw],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        usage: Any = None,
        state: CompactionState | None = None,
        at: CallMoment = "turn_start",
        focus: str | None = None,
        force: bool = False,
    ) -> CompactionResult:
        """As ``compact``, with the summarisers awaited."""
        request = Request(messages, system, tools, usage, state, "manual" if force else at)
        return await drive_async(self._steps(request, focus), perform_async)

    def _opened(self, request: Request) -> tuple[PreparedPolicy, Conversation, CompactionState]:
        state = request.state or CompactionState()
        ready = self._ready.learned(state)
        return ready, read_conversation(request.messages, request.system, request.tools, state, ready.formats), state

    def _steps(self, request: Request, focus: str | None) -> Steps:
        ready, conversation, state = self._opened(request)

        def compaction(decision: Decision, tokens: int) -> Compaction:
            at_work = ready.under(decision.by)
            return Compaction(at_work, conversation, state, decision, tokens, self._host_state, self._clock(), focus)

        try:
            numbers = measure(ready, conversation, state, request.usage)
            decision = decided(ready, numbers, state, request.at)
        except PluginError as error:  # a counter of a plugin
            unknown = Decision(False, None, str(error))
            return compaction(unknown, 0).case().unchanged(Outcome.FAILED, unknown.reason)
        if not decision.due:
            return compaction(decision, numbers.estimated).case().unchanged(Outcome.NOT_NEEDED, decision.reason)
        _, result = yield from first_that_changes(
            decision,
            lambda chosen: compaction(chosen, numbers.estimated).steps(),
            lambda tried: decided(ready, numbers, state, request.at, without=tried),
        )
        return result


def compact(messages: Sequence[Raw], policy: PolicySource = "default", **options: Any) -> CompactionResult:
    """Compacts a conversation with a ``Compactor`` made for this call.

    ``options`` are those of ``Compactor`` (``model``, ``overrides``, ``summarizer``) and of ``Compactor.compact``
    (``system``, ``tools``, ``usage``, ``state``, ``at``, ``focus``, ``force``). An agent that compacts more than once
    keeps a ``Compactor`` or a ``Session`` instead.
    """
    names = ("system", "tools", "usage", "state", "at", "focus", "force")
    call = {key: options.pop(key) for key in names if key in options}
    return Compactor(policy, **options).compact(messages, **call)
