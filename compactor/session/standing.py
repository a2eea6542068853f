"""Where a conversation stands: its messages and their size, what is known of it, and what the rules say of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compactor.assembly.assemble import with_note
from compactor.checking import decided
from compactor.conversation import parsed, parsed_system
from compactor.engine import Compactor
from compactor.errors import CompactorError
from compactor.extension.protocols import Format
from compactor.messages.message import RESULT_ROLES, Raw
from compactor.planning.trigger import Decision, Numbers, decide, trigger_variables, wants_body
from compactor.policy.triggers import Moment
from compactor.prepared import PreparedPolicy
from compactor.session.archive import Archive
from compactor.session.changes import Change
from compactor.session.events import EventKind, Events
from compactor.session.hostlist import plain
from compactor.session.ledger import Ledger
from compactor.session.policies import Policies
from compactor.session.provider_errors import ProviderError
from compactor.session.store.records import View
from compactor.state import CompactionState

_CURED_BY_LESS = frozenset(("context_overflow", "payload_too_large", "long_context_tier"))


@dataclass(frozen=True, slots=True)
class HostRequest:
    """What a host is about to send: its messages as they are, the system prompt where it is apart, tools, the model."""

    messages: Sequence[Any]
    system: Any
    tools: Sequence[Raw]
    model: str | None


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that was sent: to which model, and its tokens as the counter counts; as the provider ``reported`` them,
    0 while it has not."""

    model: str | None
    counted: int
    reported: int = 0


class Standing:
    """One conversation as a session sees it.

    Replaced as things happen: ``state``, ``sent`` (the last request), ``measured`` (the last one whose size the
    provider reported), ``model``.
    """

    def __init__(
        self, policies: Policies, model: str | None, state: CompactionState, events: Events, archive: Archive
    ) -> None:
        self.state = state
        self.sent: Sent | None = None
        self.measured: Sent | None = None
        self.model = model
        self.policies = policies
        self.archive = archive
        self._events = events
        ready = self.compactor.prepared
        self.ledger = Ledger(ready.formats, ready.counter, wants_body=wants_body(ready.rules))

    @property
    def compactor(self) -> Compactor:
        """The compactor for the model that the session talks to."""
        return self.policies.for_model(self.model)

    @property
    def ready(self) -> PreparedPolicy:
        """The policy with what the conversation has taught about the model."""
        return self.compactor.prepared.learned(self.state)

    @property
    def moment(self) -> Moment:
        """Which call comes next: the first one of a turn, or one that sends tool results."""
        return "tool_results" if self.ledger.newest_role in RESULT_ROLES else "turn_start"

    def look_at(self, request: HostRequest, *, only_grown: bool = False) -> Change | None:
        """Takes note of what the host is about to send, and of an edited policy. Raises ``InputError``.

        With ``only_grown``, messages that do anything but go on from the known ones are left alone: None.
        """
        edited = self._refresh(request.model)
        if edited or request.model != self.model:
            self.model = request.model
            self.recount()
        return self.follow(request, only_grown=only_grown)

    def follow(self, request: HostRequest, *, only_grown: bool = False) -> Change | None:
        """Takes note of the host's messages. What was known of others is forgotten. Raises ``InputError``."""
        update = self.ledger.update(
            request.messages, request.system, request.tools, self.state, self.noted, only_grown=only_grown
        )
        if update is None:
            return None
        self.archive.follow(update, self.ledger, model=self.model, policy=self.compactor.policy.name)
        change = update.change
        if change in (Change.REWOUND, Change.NEW):
            self.forget_sent()
            self.state = replace(self.state, strikes=0, unjudged=None)
        if change is Change.NEW:
            self.state = CompactionState(cooldowns=self.state.cooldowns, learned=self.state.learned)
        return change

    def resume(self, view: View) -> None:
        """Goes on with a kept conversation as it is now."""
        self.archive.resume(view, self.ledger)
        self.state = replace(view.state, learned={**view.state.learned, **self.state.learned})
        self.forget_sent()

    def forget_sent(self) -> None:
        """What was sent before is no measure of what will be sent."""
        self.sent = self.measured = None

    def recount(self) -> None:
        """Counts all messages anew."""
        ready = self.compactor.prepared
        self.ledger.count_with(ready.counter, wants_body=wants_body(ready.rules))

    def numbers(self) -> Numbers:
        """The size of the request as it would be sent now.

        What the provider measured of the last one stands for as much; only what was added since is counted.
        """
        ready, size, measured = self.ready, self.ledger.size, self.measured
        tokens = estimated = ready.scaled(size.tokens)
        reported = 0
        if measured is not None and measured.model == self.model:
            reported = measured.reported
            tokens = max(reported + estimated - ready.scaled(measured.counted), 0)
        return Numbers(
            tokens=tokens,
            estimated=estimated,
            reported=reported,
            new=max(estimated - ready.scaled(self.state.tokens), 0),
            messages=size.messages,
            compactions=max(self.state.count, self.ledger.compactions),
            body=size.body,
        )

    def decided(self, at: Moment, *, background: bool, without: frozenset[str] = frozenset()) -> Decision:
        """What the policy's rules say, those for the background only where there is room for one."""
        return decided(self.ready, self.numbers(), self.state, at, background=background, without=without)

    def decided_on(self, refusal: ProviderError, attempt: int, *, without: frozenset[str] = frozenset()) -> Decision:
        """What the policy's rules say of a provider's refusal."""
        ready = self.ready
        variables: Mapping[str, int] = {
            **trigger_variables(ready.policy, ready.limits, self.numbers()),
            "stated_tokens": refusal.limit or 0,
            "attempt": attempt,
        }
        if refusal.kind not in _CURED_BY_LESS:
            return Decision(False, None, f"a smaller request does not help against {refusal.kind}", variables)
        return decide(ready.policy, ready.rules, variables, at="error", error=refusal.kind, without=without)

    def check_apart(self, request: HostRequest) -> Decision:
        """Whether a compaction of messages would be due that are not those of this conversation."""
        compactor = self.policies.for_model(request.model)
        state = CompactionState(learned=self.state.learned)
        messages = list(plain(request.messages))
        return compactor.check(messages, system=request.system, tools=request.tools, state=state)

    def _refresh(self, model: str | None) -> bool:
        try:
            edited = self.policies.refresh(model)
        except CompactorError as error:
            message = f"the edited policy has mistakes; the one before it stays: {error}"
            self._events.tell(EventKind.POLICY_REFUSED, message)
            return False
        if edited is None:
            return False
        self.state = replace(self.state, strikes=0, settled=None)
        self._events.tell(EventKind.POLICY_CHANGED, f"the policy {edited!r} was edited; it applies from now on")
        return True

    def noted(self, format_: Format, lead: Sequence[Raw], system: Any) -> tuple[Sequence[Raw], Any]:
        """A new system prompt with the note of the compactions that there were."""
        ready = self.ready
        if not max(self.state.count, self.ledger.compactions):
            return lead, system
        note = ready.templates.render(ready.policy.assembly.system_note, {"count": self.state.count})
        if system is not None:
            (message,) = with_note([parsed_system(format_, system)], note)
            return lead, format_.render(message)["content"] if message.touched else system
        noted = with_note([parsed(format_, message, place) for place, message in enumerate(lead)], note)
        return [format_.render(new) if new.touched else old for new, old in zip(noted, lead, strict=True)], system
