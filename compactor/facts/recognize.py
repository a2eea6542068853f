"""One pass over a conversation that finds its facts."""

from collections.abc import Iterator, Mapping, Sequence

from compactor.facts.actions import Action, action_of
from compactor.facts.asks import ask
from compactor.facts.commands import checks
from compactor.facts.constraints import binding
from compactor.facts.decisions import classify
from compactor.facts.errors import error_lines, failed, reports_failures
from compactor.facts.excerpts import LIMIT, excerpts
from compactor.facts.fact import Fact, Kind
from compactor.facts.outcomes import ending
from compactor.facts.outlines import definitions
from compactor.facts.paths import is_code
from compactor.facts.prose import clip, one_line, scrub, sentences
from compactor.facts.rules import rules
from compactor.facts.values import has_value
from compactor.messages.message import Media, Message, Text, ToolCall, ToolResult

TODO = "to-do"
"""Subject of plans that stand on a to-do list; their text starts with the status in brackets."""

RULE = "rule"
"""Subject of constraints that stand on a list of rules."""

_ORDER = 800  # code points of a sentence that binds: what is cut off of it binds nobody
_ORDER_SHORT = 8  # code points from which on what a user says can be an order: "No mocks."
_SENTENCE = 320  # code points of a quoted sentence
_STATED = 300  # code points of sentences that are quoted together
_STATEMENT = 0.5  # the weight of a sentence that only states something
_MANY = 25  # sentences of one message above which preferences do not count as constraints
_SHORT = 4  # lines of an output that a call which only looks shows whole
_END, _SHORT_END = 240, 140  # code points of an ending: of a command, of a call whose arguments say most already
_LINE = 320  # code points of a quoted line of output
_OLD = 300  # code points of a text of the assistant or a tool that are read outside of what is read in full
_CODE = LIMIT // 4  # code points of a source that are quoted: its definitions tell more; measured by forward recall
_SHORTEST = 12  # code points below which a text says nothing
_BACKGROUND = ("Command running in background", "Command is running in the background", "Process running with")
_TROUBLE = ("rror", "ail", "FAIL")  # one of these stands in the output of a command that had trouble


def recognize(messages: Sequence[Message], reading: int | None = None) -> tuple[Fact, ...]:
    """All facts of ``messages``, in their order. Never raises, whatever the content.

    Only the newest ``reading`` code points are read in full (None for all): of older texts of the assistant and
    outputs of tools just the start is quoted. What was asked, called and done is found everywhere.
    """
    reader = _Reader(_newest(messages, reading))
    found: list[Fact] = []
    for index, message in enumerate(messages):
        found += reader.message(index, message)
    return tuple(found)


def _newest(messages: Sequence[Message], reading: int | None) -> int:
    """The index from which on ``messages`` have ``reading`` code points."""
    if reading is None:
        return 0
    for index in range(len(messages) - 1, -1, -1):
        reading -= len(messages[index].text)
        if reading < 0:
            return index
    return 0


class _Reader:
    """Reads messages in order and knows the calls that wait for their results."""

    def __init__(self, newest: int) -> None:
        self._newest = newest
        self._open: dict[str, tuple[str, Action]] = {}

    def message(self, index: int, message: Message) -> Iterator[Fact]:
        for part in message.parts:
            if isinstance(part, Text):
                if message.role == "assistant":
                    yield from _told(index, part.text) if index >= self._newest else _gist(index, part.text)
                elif part.text and not part.text.isspace():
                    yield from _spoken(index, message, part.text)
            elif isinstance(part, ToolCall):
                yield from self._call(index, part)
            elif isinstance(part, ToolResult):
                yield from self._result(index, part)
            elif isinstance(part, Media) and message.role == "user":
                yield Fact(Kind.VALUE, f"The user sent: {clip(f'{part.kind} {part.label}', _LINE)}", index, 0.5)

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
        name, action = "?", None
        for id_ in result.ids:
            if id_ in self._open:
                name, action = self._open[id_]
        action = action or Action(f"{name}()", name, False)
        output = result.text
        bad = _flagged(result) or failed(output)
        yield Fact(Kind.CALL, "failed" if bad else "ok", index, 0.2, name)
        if not bad and any(mark in output[:300] for mark in _BACKGROUND):
            # Nobody knows yet how it ends, so it solves nothing.
            yield Fact(Kind.OUTCOME, f"{action.text} → started in the background", index, 0.7)
            return
        # A file tool that worked only says so, and a long thing looked at is quoted by excerpts.
        told = bad or (action.effect and not action.files) or (not action.effect and output.count("\n") < _SHORT)
        end = ending(output, bad, _END if action.text.startswith("`") else _SHORT_END) if told else ""
        text = f"{action.text} → {end}" if end else action.text
        if bad:
            yield Fact(Kind.FAILURE, text, index, 0.8 if action.effect else 0.5, action.subject)
            for line in error_lines(output):
                yield Fact(Kind.ERROR, clip(line, _LINE), index, 0.6, action.subject)
            return
        if action.effect and checks(action.subject) and reports_failures(output):
            # The exit code is that of the whole line, a pager or a step behind it included.
            yield Fact(Kind.FAILURE, f"{action.text} → failed: {end}", index, 0.8, action.subject)
            yield from _shown(index, action, output, index >= self._newest)
            return
        kind, weight = (Kind.OUTCOME, 0.7) if action.effect else (Kind.LOOK, 0.35)
        yield Fact(kind, text, index, weight, action.subject)
        yield from _files(index, action, index >= self._newest)
        yield from _shown(index, action, output, index >= self._newest)


def _spoken(index: int, message: Message, text: str) -> Iterator[Fact]:
    """Facts of what a user, a system prompt or another role said."""
    if message.role == "user":
        asked = scrub(ask(text))
        if asked:
            yield Fact(Kind.ASK, asked, index, 1.0)
        listed, text = rules(text)
        for rule in listed:
            yield Fact(Kind.CONSTRAINT, clip(rule, _ORDER), index, 1.0, RULE)
    said = sentences(text, _ORDER_SHORT if message.role == "user" else _SHORTEST)
    # In a long text of rules or plans preferences stand everywhere, and only orders bind.
    least = 1.0 if message.is_system or len(said) > _MANY else 0.0
    share = 1.0 if message.role == "user" else 0.5
    for sentence in said:
        bound = binding(sentence)
        if bound and bound >= least:
            yield Fact(Kind.CONSTRAINT, clip(sentence, _ORDER), index, bound * share)
        elif not message.is_system and has_value(sentence):
            yield Fact(Kind.VALUE, clip(sentence, _SENTENCE), index, 0.6)


def _told(index: int, text: str) -> Iterator[Fact]:
    """Facts of what the assistant said; neighboring sentences that only state something stay together."""
    stated = ""
    for sentence in sentences(text):
        kind, weight = classify(sentence)
        if kind is not Kind.STATEMENT:
            yield Fact(kind, clip(sentence, _SENTENCE), index, weight)
        elif stated and len(stated) + len(sentence) > _STATED:
            yield Fact(kind, clip(stated, _SENTENCE), index, weight)
            stated = sentence
        else:
            stated = f"{stated} {sentence}" if stated else sentence
    if stated:
        yield Fact(Kind.STATEMENT, clip(stated, _SENTENCE), index, _STATEMENT)


def _gist(index: int, text: str) -> Iterator[Fact]:
    """The start of what the assistant said long ago, as one fact."""
    start = clip(text[: 2 * _OLD], _OLD)
    if len(start) > _SHORTEST:
        kind, weight = classify(start)
        yield Fact(kind, start, index, weight)


def _files(index: int, action: Action, new: bool) -> Iterator[Fact]:
    for path, done in action.files:
        yield Fact(Kind.FILE, done, index, 0.4 if done == "read" else 0.8, path)
    if action.written and action.files:
        most = 12 if new else 4
        for line in definitions(action.written, most):
            yield Fact(Kind.SYMBOL, clip(line, _LINE), index, 0.7, action.files[0][0])
        for line in excerpts(action.written, most)[1:]:
            yield Fact(Kind.EXCERPT, clip(line, _LINE), index, 0.6, action.files[0][0])


def _shown(index: int, action: Action, output: str, new: bool) -> Iterator[Fact]:
    """Facts of an output: trouble that a command had, the outline of what was looked at, lines of both."""
    if not action.effect:
        for line in definitions(output) if new else definitions(output, limit=2 * _OLD):
            yield Fact(Kind.SYMBOL, clip(line, _LINE), index, 0.4, action.subject)
    elif any(sign in output for sign in _TROUBLE):
        for line in error_lines(output, most=3):
            yield Fact(Kind.ERROR, clip(line, _LINE), index, 0.5, action.subject)
    most = _CODE if not action.effect and is_code(action.subject) else LIMIT
    for line in excerpts(output, limit=most if new else _OLD):
        yield Fact(Kind.EXCERPT, clip(line, _LINE), index, 0.3, action.subject)


def _flagged(result: ToolResult) -> bool:
    """Whether the provider's own mark says that the call failed."""
    return isinstance(result.raw, (dict, Mapping)) and result.raw.get("is_error") is True
