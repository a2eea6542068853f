"""What an extension provides: counters, pruners, summarisers and formats."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from compactor.messages.message import Message, Part, ToolCall
from compactor.policy.models import Section


@runtime_checkable
class Counter(Protocol):
    """Counts tokens. Counting must be deterministic and free of side effects that a caller could see."""

    name: str

    def text(self, text: str) -> int:
        """Tokens of a piece of text, without any overhead."""
        ...

    def message(self, message: Message, *, arguments: bool = True) -> int:
        """Tokens of one message as the walks weigh it: overhead and media included, arguments if asked for."""
        ...

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
        """Tokens of a whole request: all messages and the tool schemas."""
        ...


@runtime_checkable
class AdditiveCounter(Counter, Protocol):
    """A counter whose ``request`` is a sum: of a conversation that grew, only what is new has to be counted.

    ``request(messages, tools)`` is ``tokens_of(weight, len(messages))`` for the summed weights of messages and tools.
    """

    def weigh(self, message: Message) -> int:
        """What one message adds, in units of the counter's own."""
        ...

    def weigh_tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """What the tool schemas add."""
        ...

    def tokens_of(self, weight: int, messages: int) -> int:
        """The tokens of a request of so many messages with this weight in all."""
        ...


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a message that stays in the conversation: its new parts, and why.

    ``index`` is the position in the sequence that the pruner was given.
    """

    index: int
    parts: tuple[Part, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class PruningContext:
    """The numbers that a pruner may use. ``tail_tokens`` is the policy's tail budget."""

    counter: Counter
    tail_tokens: int
    protect_last_n: int


@runtime_checkable
class Pruner(Protocol):
    """Makes messages smaller without a model. A pydantic model: its fields are its options in the policy."""

    def prune(self, messages: Sequence[Message], context: PruningContext) -> Iterable[Edit]:
        """The edits, at most one a message, in any order. Must not change ids, roles or the order."""
        ...


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """Everything that a summariser may need; most use ``prompt`` alone.

    The rest is what the prompt is made from, for summarisers that work without a model: ``folded`` are the
    messages that will be replaced, ``previous`` the summary to update, ``budget_tokens`` the size to aim at (as
    ``counter`` counts), ``sections`` the headings to fill, ``memory`` what memory plugins want
    remembered. ``write_prompt`` writes the prompt when it is first asked for: a summariser without a model does not
    pay for it.
    """

    write_prompt: Callable[[], str]
    folded: tuple[Message, ...]
    previous: str | None
    sections: tuple[Section, ...]
    budget_tokens: int
    counter: Counter
    focus: str | None = None
    memory: str | None = None

    @property
    def prompt(self) -> str:
        """The complete prompt for a model."""
        return self.write_prompt()


@dataclass(frozen=True, slots=True)
class SummaryReply:
    """What a summariser returned. ``finish_reason`` as the provider gave it (``stop``, ``length`` ...)."""

    text: str
    finish_reason: str | None = None
    model: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class Summarizer(Protocol):
    """Turns a request into a summary, or raises ``SummarizerDeclined`` or ``SummarizerFailed``.

    A plain function ``(SummaryRequest) -> str`` is accepted wherever a summariser is.
    """

    def summarize(self, request: SummaryRequest) -> "SummaryReply | str": ...

    def asummarize(self, request: SummaryRequest) -> "Awaitable[SummaryReply | str]": ...


@runtime_checkable
class Redactor(Protocol):
    """Takes secrets out of texts."""

    def redact(self, text: str) -> tuple[str, Mapping[str, int]]:
        """The text without secrets and how many of each kind there were; the very text where there are none."""
        ...


@runtime_checkable
class Format(Protocol):
    """Knows one provider's shape of messages, and is the only code that does."""

    name: str

    def misfit(self, messages: Sequence[Any]) -> str | None:
        """Why these are not messages of this format, in one clause; None when they are."""
        ...

    def parse(self, message: Any, index: int) -> Message:
        """The value of one message; never raises for content that it does not know."""
        ...

    def render(self, message: Message) -> dict[str, Any]:
        """The dictionary of a message that was touched or made by us."""
        ...

    def stub(self, call: ToolCall, text: str) -> Message:
        """A result of our own for a call that has none."""
        ...
