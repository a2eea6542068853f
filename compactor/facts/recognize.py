"""One pass over a conversation that finds its facts."""

from collections.abc import Iterator, Mapping, Sequence

from compactor.facts.actions import Action, action_of
from compactor.facts.asks import ask
from compactor.facts.constraints import binding
from compactor.facts.decisions import classify
from compactor.facts.errors import error_lines, failed
from compactor.facts.excerpts import LIMIT, excerpts
from compactor.facts.fact import Fact, Kind
from compactor.facts.outcomes import ending
from compactor.facts.outlines import definitions
from compactor.facts.prose import clip, one_line, scrub, sentences
from compactor.facts.values import has_value
from compactor.messages.message import Media, Message, Text, ToolCall, ToolResult

TODO = "to-do"
"""Subject of plans that stand on a to-do list; their text starts with the status in brackets."""

_SENTENCE = 320  # code points of a quoted sentence
_SHORT = 4  # lines of an output that a call which only looks shows whole
_END, _SHORT_END = 240, 140  # code points of an ending: of a command, of a call whose arguments say most already
_LEAST = 300  # code points that any output may give
_LINE = 240  # code points of a quoted line of output


def recognize(messages: Sequence[Message], reading: int | None = None) -> tuple[Fact, ...]:
    """All facts of ``messages``, in their order. Never raises, whatever the content.

    ``reading`` bounds how many code points of tool output are quoted from, all outputs together: without it each
    gives up to ``excerpts.LIMIT``. Endings and errors are found in any case.
    """
    reader = _Reader(len(messages), _fair_limit(messages, reading))
    found: list[Fact] = []
    for index, message in enumerate(messages):
        found += reader.message(index, message)
    return tuple(found)


def _fair_limit(messages: Sequence[Message], reading: int | None) -> int:
    """The code points that each output may give so that all together give ``reading``: short ones leave theirs over."""
    if reading is None:
        return LIMIT
    sizes = sorted(
        sum(len(item.text) for item in part.content if isinstance(item, Text))
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult)
    )
    for number, size in enumerate(sizes):
        share = reading // (len(sizes) - number)
        if size > share:
            return min(max(share, _LEAST), LIMIT)
        reading -= size
    return LIMIT


class _Reader:
    """Reads messages in order and knows the calls that wait for their results."""

    def __init__(self, count: int, limit: int) -> None:
        self._open: dict[str, tuple[str, Action]] = {}
        self._count = count
        self._limit = limit

    def message(self, index: int, message: Message) -> Iterator[Fact]:
        for part in message.parts:
            if isinstance(part, Text) and part.text and not part.text.isspace():
                yield from _spoken(index, message, part.text)
            elif isinstance(part, Media) and message.role == "user":
                yield Fact(Kind.VALUE, f"The user sent: {clip(f'{part.kind} {part.label}', _LINE)}", index, 0.5)
            elif isinstance(part, ToolCall):
                yield from self._call(index, part)
            elif isinstance(part, ToolResult):
                yield from self._result(index, part)

    def _call(self, index: int, call: ToolCall) -> Iterator[Fact]:
        name = one_line(call.name) if isinstance(call.name, str) and call.name.strip() else "?"
        action = action_of(name, call.arguments)
        for id_ in call.ids:
            self._open[id_] = (name, action)
        if not call.ids:
            yield Fact(Kind.CALL, "ok", index, 0.2, name)
        for item, status in action.todos:
            yield Fact(Kind.PLAN, f"[{status}] {clip(item, _SENTENCE)}", index, 0.9, TODO)

    def _result(self, index: int, result: ToolResult) -> Iterator[Fact]:
        name, action = next((self._open[id_] for id_ in result.ids if id_ in self._open), ("?", None))
        output = result.text
        bad = _flagged(result) or failed(output)
        yield Fact(Kind.CALL, "failed" if bad else "ok", index, 0.2, name)
        if action is None:
            action = Action(f"{name}()", name, False)
        # A file tool that worked only says so, and a long thing looked at is quoted by excerpts.
        told = bad or (action.effect and not action.files) or (not action.effect and output.count("\n") < _SHORT)
        end = ending(output, bad, _END if action.text.startswith("`") else _SHORT_END) if told else ""
        text = f"{action.text} → {end}" if end else action.text
        if bad:
            yield Fact(Kind.FAILURE, text, index, 0.8 if action.effect else 0.5, action.subject)
            for line in error_lines(output):
                yield Fact(Kind.ERROR, clip(line, _LINE), index, 0.6, action.subject)
            return
        kind, weight = (Kind.OUTCOME, 0.7) if action.effect else (Kind.LOOK, 0.35)
        yield Fact(kind, text, index, weight, action.subject)
        yield from _files(index, action)
        yield from _shown(index, action, output, self._limit)


def _spoken(index: int, message: Message, text: str) -> Iterator[Fact]:
    """Facts of what a user, a system prompt or the assistant said."""
    if message.role == "assistant":
        for sentence in sentences(text):
            kind, weight = classify(sentence)
            yield Fact(kind, clip(sentence, _SENTENCE), index, weight)
        return
    if message.role == "user":
        asked = scrub(ask(text))
        if asked:
            yield Fact(Kind.ASK, asked, index, 1.0)
    share = 0.5 if message.is_system else 1.0
    for sentence in sentences(text):
        bound = binding(sentence)
        if bound:
            yield Fact(Kind.CONSTRAINT, clip(sentence, _SENTENCE), index, bound * share)
        elif has_value(sentence) and not message.is_system:
            yield Fact(Kind.VALUE, clip(sentence, _SENTENCE), index, 0.6)


def _files(index: int, action: Action) -> Iterator[Fact]:
    for path, done in action.files:
        yield Fact(Kind.FILE, done, index, 0.4 if done == "read" else 0.8, path)
    if action.written and action.files:
        for line in definitions(action.written, most=12):
            yield Fact(Kind.SYMBOL, clip(line, _LINE), index, 0.7, action.files[0][0])
        for line in excerpts(action.written, most=12)[1:]:
            yield Fact(Kind.EXCERPT, clip(line, _LINE), index, 0.6, action.files[0][0])


def _shown(index: int, action: Action, output: str, limit: int) -> Iterator[Fact]:
    """Facts of an output: the outline of code, else the lines that name something."""
    if action.effect:
        for line in error_lines(output, most=3):
            yield Fact(Kind.ERROR, clip(line, _LINE), index, 0.5, action.subject)
    for line in definitions(output):
        yield Fact(Kind.SYMBOL, clip(line, _LINE), index, 0.4, action.subject)
    for line in excerpts(output, limit=limit):
        yield Fact(Kind.EXCERPT, clip(line, _LINE), index, 0.3, action.subject)


def _flagged(result: ToolResult) -> bool:
    """Whether the provider's own mark says that the call failed."""
    return isinstance(result.raw, Mapping) and result.raw.get("is_error") is True
