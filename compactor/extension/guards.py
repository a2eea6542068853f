"""Guards around what plugins provide: what one does wrong is a ``PluginError`` that names it, never a broken result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from compactor.errors import PluginError, SummarizerError, SummarizerFailed
from compactor.extension.isolation import Hook, HookCall, call_hook, call_hook_async, described
from compactor.extension.protocols import (
    Counter,
    Edit,
    Pruner,
    PruningContext,
    Redactor,
    Summarizer,
    SummaryReply,
    SummaryRequest,
)
from compactor.messages.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult

T = TypeVar("T")

_PARTS = (Text, Media, Reasoning, ToolCall, ToolResult, Opaque)
_MOST_TOKENS = 10**12


class GuardedCounter:
    """A plugin's counter; what it returns has to be a whole number from 0."""

    def __init__(self, name: str, counter: Counter) -> None:
        self.name = name
        self._counter = counter

    def text(self, text: str) -> int:
        return self._checked(lambda: self._counter.text(text))

    def message(self, message: Message, *, arguments: bool = True) -> int:
        return self._checked(lambda: self._counter.message(message, arguments=arguments))

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
        return self._checked(lambda: self._counter.request(messages, tools))

    def _checked(self, count: Callable[[], int]) -> int:
        tokens = _guarded(f"counter {self.name!r}", count)
        if type(tokens) is not int or not 0 <= tokens <= _MOST_TOKENS:
            raise PluginError(f"counter {self.name!r} returned {described(tokens)}, not a number of tokens")
        return tokens


class GuardedPruner:
    """A plugin's pruner: sees messages without the dictionaries that they came as, and may change no tool pair."""

    def __init__(self, name: str, pruner: Pruner) -> None:
        self._name = name
        self._pruner = pruner

    def prune(self, messages: Sequence[Message], context: PruningContext) -> Iterable[Edit]:
        shown = [Message(message.role, message.parts, message.index) for message in messages]
        edits = _guarded(f"pruner {self._name!r}", lambda: list(self._pruner.prune(shown, context)))
        for edit in edits:
            fault = _fault(edit, messages)
            if fault is not None:
                raise PluginError(f"pruner {self._name!r} {fault}")
        return edits


class GuardedRedactor:
    """A plugin's redactor. Its error is told without its text, which may quote what had to go."""

    def __init__(self, name: str, redactor: Redactor) -> None:
        self._name = name
        self._redactor = redactor

    def redact(self, text: str) -> tuple[str, Mapping[str, int]]:
        try:
            redacted, counts = self._redactor.redact(text)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise PluginError(f"redactor {self._name!r} failed: {type(error).__name__}") from None
        counted = isinstance(counts, Mapping) and all(type(number) is int for number in counts.values())
        if type(redacted) is not str or not counted:
            raise PluginError(f"redactor {self._name!r} did not return a text and counts")
        return redacted, counts


class GuardedSummarizer:
    """A plugin's summariser, in a thread of its own until its deadline (seconds)."""

    def __init__(self, name: str, summarizer: Summarizer, deadline: float) -> None:
        self._hook = Hook(name, "summarize", summarizer.summarize, deadline, 1, required=False)

    def summarize(self, request: SummaryRequest) -> SummaryReply | str:
        return _reply(call_hook(HookCall(self._hook, request)))

    async def asummarize(self, request: SummaryRequest) -> SummaryReply | str:
        return _reply(await call_hook_async(HookCall(self._hook, request)))


def _reply(answer: Any) -> SummaryReply | str:
    if isinstance(answer.error, SummarizerError):
        raise answer.error
    if answer.failure is not None:
        raise SummarizerFailed(answer.failure, "timeout" if answer.error is None else "error")
    value: SummaryReply | str = answer.value
    return value


def _guarded(what: str, call: Callable[[], T]) -> T:
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(f"{what} failed: {type(error).__name__}: {described(error)[:500]}") from error


def _fault(edit: Any, messages: Sequence[Message]) -> str | None:
    """What a pruner's edit does that it may not, None when it is sound."""
    if not isinstance(edit, Edit) or type(edit.index) is not int or not 0 <= edit.index < len(messages):
        return f"returned {described(edit)[:200]}, which is no edit of one of the messages"
    parts = edit.parts
    if not isinstance(parts, tuple) or not all(isinstance(part, _PARTS) for part in parts):
        return f"returned parts for message {edit.index} that are none"
    if any(isinstance(part, Text) and type(part.text) is not str for part in parts):
        return f"returned a text for message {edit.index} that is none"
    if _ids(parts) != _ids(messages[edit.index].parts):
        return f"changed the tool calls or results of message {edit.index}; only their content may change"
    return None


def _ids(parts: Sequence[Any]) -> list[tuple[str, tuple[str, ...]]]:
    return [(type(part).__name__, part.ids) for part in parts if isinstance(part, (ToolCall, ToolResult))]
