"""Values that override a policy's own: from ``--set``, from the caller, from the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compactor.errors import PolicyError, Problem
from compactor.policy.source import read_value
from compactor.policy.tree import Node, Origin, grow
from compactor.policy.wording import Key, did_you_mean, listed

CALL = "<overrides>"
"""What values given in a call are called in messages."""

_NAMING_KEYS = ("name", "use", "id", "match")
"""The keys by which an entry of a list can be addressed."""


@dataclass(frozen=True, slots=True)
class Override:
    """A value for one key. ``key`` is dotted and reaches into lists by name, use, id, match or position.

    ``value`` is None, and ``problems`` says why, where it could not be read.
    """

    key: str
    value: Node | None
    problems: tuple[Problem, ...] = ()


def parse_set(text: str, where: str = "--set") -> Override:
    """Read ``key.path=value``; the value is YAML, as strict as in a file. Never raises: see ``Override.problems``."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        problem = Problem(where, text, "expected key=value", "such as threshold=0.6")
        return Override(text, None, (problem,))
    return parse_override(key.strip(), value, where)


def parse_override(key: str, text: str, where: str) -> Override:
    """An override whose value is YAML text; ``where`` names its origin. Never raises."""
    document = read_value(text, where, tuple(key.split(".")))
    return Override(key, document.root, document.problems)


def as_overrides(overrides: Sequence[Override] | Mapping[str, Any]) -> tuple[Override, ...]:
    """Overrides as given in a call: parsed ones, or a mapping of (dotted) keys to values."""
    if isinstance(overrides, Mapping):
        return tuple(Override(key, grow(value, Origin(CALL))) for key, value in overrides.items())
    return tuple(overrides)


def apply_override(tree: Node, override: Override) -> Node:
    """The tree with the value in place; mappings are merged. Raises PolicyError if it names no entry of a list."""
    if override.value is None:
        return tree
    try:
        return tree.placed(resolve_key(tree, override.key), override.value)
    except LookupError as error:
        raise PolicyError([Problem(override.value.origin.value, override.key, *error.args)]) from None


def resolve_key(tree: Node, dotted_key: str) -> Key:
    """The path that a dotted key means in this tree, with names of list entries turned into positions.

    Raises LookupError (message, hint) if a list has no such entry; keys of mappings need not exist.
    """
    parts = dotted_key.split(".")
    key: Key = ()
    node: Node | None = tree
    while parts:
        used: int = 1
        part: str | int = parts[0]
        if node and isinstance(node.content, tuple):
            part, used = _entry(node, parts)
        key = (*key, part)
        node = node.child(part) if node else None
        parts = parts[used:]
    return key


def _entry(entries: Node, parts: list[str]) -> tuple[int, int]:
    """The position of the entry that ``parts`` begin with, and how many of them its name takes up."""
    if parts[0].isdecimal() and int(parts[0]) < len(entries.content):
        return int(parts[0]), 1
    names = [entry_name(entry) for entry in entries.content]
    lowered = [name.lower() for name in names]
    for length in range(len(parts), 0, -1):  # the longest first: the name of a model may contain dots
        name = ".".join(parts[:length]).lower()
        if name in lowered:
            return lowered.index(name), length
    known = [name for name in names if name]
    there_are = f"there are {listed(known)}" if known else "the list is empty"
    raise LookupError(f"the list has no entry {parts[0]!r}; {there_are}", did_you_mean(parts[0], known))


def entry_name(entry: Node) -> str:
    """What an entry of a list is called in dotted keys; empty where it has no name."""
    names = (child.content for key in _NAMING_KEYS if (child := entry.child(key)))
    return next((name for name in names if isinstance(name, str)), "")
