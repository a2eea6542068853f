"""YAML with the surprises taken out: text becomes a located tree, or problems that explain themselves.

Built on PyYAML's events rather than its loaders, so that nothing is resolved, expanded or overwritten before it
could be reported. Scalars are read as YAML 1.2 does; where YAML 1.1 would read something else, they are refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from compactor.errors import Problem
from compactor.policy.scalars import Surprise, resolve
from compactor.policy.tree import Mark, Node, Origin
from compactor.policy.wording import Key, dotted, shown

MAX_DEPTH = 40
"""Levels of nesting that are read; a policy has six, its options hardly more."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """What a YAML text says. ``root`` is None where it could not be read to the end or has no content."""

    root: Node | None
    problems: tuple[Problem, ...]


def read_yaml(text: str, source: str) -> Document:
    """Read a file's text, which must be one mapping; ``source`` is the file's name in positions. Never raises."""
    document = _read(_Builder(text, source, located=True))
    if document.root is None and document.problems:
        return document
    if document.root is None or document.root.content is None:
        return _unusable(source, "the file is empty", "a policy begins with 'version: 1' and 'name: ...'")
    if not isinstance(document.root.content, dict):
        return _unusable(source, "a policy is a mapping of keys to values", "such as 'version: 1'")
    return document


def read_value(text: str, where: str, key: Key) -> Document:
    """Read one value from outside a file, such as ``0.6`` or ``[a, b]``; ``key`` is what it is for. Never raises."""
    document = _read(_Builder(text, where, located=False, key=key))
    if document.root is None and not document.problems:
        return Document(Node(None, Origin(where)), ())
    return document


def _unusable(source: str, message: str, hint: str) -> Document:
    return Document(None, (Problem(f"{source}:1:1", "", message, hint),))


def _read(builder: "_Builder") -> Document:
    root = None
    try:
        root = builder.document()
    except yaml.MarkedYAMLError as error:
        builder.problems.append(_syntax_problem(error, builder))
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        message = "this is not YAML: it contains a control character, or bytes that are not text"
        builder.problems.append(Problem(builder.source, dotted(builder.key), message, "write it as '\\x..' in quotes"))
    except _TooDeep as error:
        builder.problems.append(Problem(builder.where(error.mark), dotted(builder.key), str(error)))
    return Document(root, tuple(builder.problems))


def _syntax_problem(error: yaml.MarkedYAMLError, builder: "_Builder") -> Problem:
    mark = error.problem_mark or error.context_mark
    message = " ".join(part for part in (error.problem, error.context) if part)
    rest = builder.text[mark.index :] if mark else ""
    hint = ""
    if rest.startswith("\t"):
        hint = "YAML is indented with blanks, not with tabs"
    elif rest.startswith(("@", "`", "%")):
        hint = "text that begins with a special character needs quotes"
    return Problem(builder.where(mark), dotted(builder.key), f"this is not YAML: {message}", hint)


class _TooDeep(Exception):
    def __init__(self, mark: Any) -> None:
        super().__init__(f"more than {MAX_DEPTH} levels of nesting")
        self.mark = mark


class _Builder:
    """Turns the events of one text into nodes and collects what is wrong on the way."""

    def __init__(self, text: str, source: str, *, located: bool, key: Key = ()) -> None:
        self.text = text
        self.source = source
        self.key = key
        self.problems: list[Problem] = []
        self._located = located
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))

    def where(self, mark: Any) -> str:
        """The position of a mark, or the source alone where the text has no lines of its own."""
        return f"{self.source}:{mark.line + 1}:{mark.column + 1}" if self._located and mark else self.source

    def document(self) -> Node | None:
        """The first document; None if there is none."""
        next(self._events)  # start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        first = next(self._events)
        root = self._node(first, self.key, first)
        next(self._events)  # end of the document
        following = next(self._events)
        if not isinstance(following, yaml.StreamEndEvent):
            self._refuse(following, self.key, "a second document begins here", "keep one policy a file, without '---'")
        return root

    def _node(self, event: Any, key: Key, key_event: Any) -> Node:
        if len(key) > MAX_DEPTH:
            raise _TooDeep(event.start_mark)
        origin = self._origin(key_event, event)
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, key, "aliases (*name) are not allowed", "write the value out")
            return Node(f"*{event.anchor}", origin)
        if event.anchor is not None:
            self._refuse(event, key, "anchors (&name) are not allowed", "write the value out where it is needed")
        if event.tag is not None:
            self._refuse(event, key, f"tags ({event.tag}) are not allowed", "leave it out")
        if isinstance(event, yaml.MappingStartEvent):
            return Node(self._mapping(key), origin)
        if isinstance(event, yaml.SequenceStartEvent):
            return Node(self._sequence(key), origin)
        return Node(self._scalar(event, key), origin)

    def _mapping(self, key: Key) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            name = self._name(event, key)
            value = self._node(next(self._events), (*key, name or "?"), event)
            if name is None:
                continue
            if name in entries:
                first = entries[name].origin.key
                self._refuse(event, (*key, name), "the key is there twice", f"the first one is {first}")
            else:
                entries[name] = value
        return entries

    def _name(self, event: Any, key: Key) -> str | None:
        if not isinstance(event, yaml.ScalarEvent):
            self._node(event, key, event)
            self._refuse(event, key, "a key must be text", "write it on one line, before a colon")
            return None
        name = str(event.value)
        place = (*key, name)
        if name == "<<" and not event.style:
            self._refuse(event, place, "merge keys (<<) are not allowed", "use 'extends', or write the keys out")
        elif not isinstance(value := self._scalar(event, place), str):
            self._refuse(event, place, f"a key must be text, got {shown(value)}", "quote it")
        return name

    def _sequence(self, key: Key) -> tuple[Node, ...]:
        entries: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            entries.append(self._node(event, (*key, len(entries)), event))
        return tuple(entries)

    def _scalar(self, event: Any, key: Key) -> Any:
        if event.style:
            return event.value
        value = resolve(event.value)
        if isinstance(value, Surprise):
            self._refuse(event, key, value.message, value.hint)
            return event.value
        return value

    def _origin(self, key_event: Any, value_event: Any) -> Origin:
        if not self._located:
            return Origin(self.source)
        marks = [Mark(event.start_mark.line + 1, event.start_mark.column + 1) for event in (key_event, value_event)]
        return Origin(self.source, *marks)

    def _refuse(self, event: Any, key: Key, message: str, hint: str) -> None:
        self.problems.append(Problem(self.where(event.start_mark), dotted(key), message, hint))
