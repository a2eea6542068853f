"""A policy's raw data as a tree in which every value knows where it came from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compactor.policy.wording import Key


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a file, both numbers from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from.

    ``source`` is a file as shown to people, the name of an environment variable or option, or ``default``.
    In a file, ``key_mark`` is where the key stands (in a list, the entry) and ``value_mark`` the value.
    """

    source: str
    key_mark: Mark | None = None
    value_mark: Mark | None = None

    @property
    def key(self) -> str:
        """``file:line:column`` of the key, or the source where there are no lines."""
        return _position(self.source, self.key_mark)

    @property
    def value(self) -> str:
        """``file:line:column`` of the value, or the source where there are no lines."""
        return _position(self.source, self.value_mark)

    @property
    def line(self) -> str:
        """``file:line`` of the key, or the source where there are no lines."""
        return f"{self.source}:{self.key_mark.line}" if self.key_mark else self.source


def _position(source: str, mark: Mark | None) -> str:
    return f"{source}:{mark.line}:{mark.column}" if mark else source


DEFAULT = Origin("default")
"""The origin of what no policy says and the models supply."""


@dataclass(frozen=True, slots=True)
class Node:
    """One value: ``content`` is a dict of nodes, a tuple of nodes, or a scalar."""

    content: Any
    origin: Origin

    def plain(self) -> Any:
        """The data alone, as dicts, lists and scalars that belong to the caller."""
        if isinstance(self.content, dict):
            return {name: child.plain() for name, child in self.content.items()}
        if isinstance(self.content, tuple):
            return [child.plain() for child in self.content]
        return self.content

    def child(self, part: str | int) -> "Node | None":
        """The value of a key or a position directly below, if there is one."""
        if isinstance(self.content, dict) and isinstance(part, str):
            return self.content.get(part)
        if isinstance(self.content, tuple) and isinstance(part, int) and part < len(self.content):
            return self.content[part]  # type: ignore[no-any-return]
        return None

    def trail(self, key: Key) -> "list[Node]":
        """The nodes from here along ``key``, as far as they exist; this one is always the first."""
        nodes = [self]
        for part in key:
            child = nodes[-1].child(part)
            if child is None:
                break
            nodes.append(child)
        return nodes

    def find(self, key: Key) -> "Node | None":
        """The value at ``key``, if there is one."""
        nodes = self.trail(key)
        return nodes[-1] if len(nodes) == len(key) + 1 else None

    def walk(self, key: Key = ()) -> "Iterator[tuple[Key, Node]]":
        """This node and all below it, each with its key."""
        yield key, self
        if isinstance(self.content, dict):
            for name, child in self.content.items():
                yield from child.walk((*key, name))
        elif isinstance(self.content, tuple):
            for index, child in enumerate(self.content):
                yield from child.walk((*key, index))

    def merged(self, over: "Node") -> "Node":
        """This value overlaid by another: mappings merge key by key, anything else is replaced."""
        if not (isinstance(self.content, dict) and isinstance(over.content, dict)):
            return over
        content = dict(self.content)
        for name, child in over.content.items():
            content[name] = content[name].merged(child) if name in content else child
        return Node(content, over.origin)

    def placed(self, key: Key, value: "Node") -> "Node":
        """This tree with ``value`` merged in at ``key``; mappings on the way there are made where they lack."""
        if not key:
            return self.merged(value)
        first, *rest = key
        if isinstance(self.content, tuple) and isinstance(first, int):
            entries = list(self.content)
            entries[first] = entries[first].placed(tuple(rest), value)
            return Node(tuple(entries), self.origin)
        content = self.content if isinstance(self.content, dict) else {}
        child = content.get(first)
        below = child.placed(tuple(rest), value) if child else _nested(tuple(rest), value)
        return Node({**content, first: below}, self.origin)

    def without(self, *names: str) -> "Node":
        """This mapping without some of its keys."""
        return Node({name: child for name, child in self.content.items() if name not in names}, self.origin)


def _nested(key: Key, value: Node) -> Node:
    for part in reversed(key):
        value = Node({part: value}, value.origin)
    return value


def grow(data: Any, origin: Origin) -> Node:
    """A tree of plain Python data that all came from one place."""
    if isinstance(data, Mapping):
        return Node({str(name): grow(value, origin) for name, value in data.items()}, origin)
    if isinstance(data, (list, tuple)):
        return Node(tuple(grow(value, origin) for value in data), origin)
    return Node(data, origin)
