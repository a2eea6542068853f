"""A loaded policy as keys and values for people."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from compactor.policy.chain import EXTENDS
from compactor.policy.loader import LoadedPolicy
from compactor.policy.models import Policy
from compactor.policy.overrides import entry_name
from compactor.policy.search import PolicyEntry
from compactor.policy.source import read_yaml
from compactor.policy.tree import Node

_NAMING = ("name", "description")
"""Keys by which any two policies differ."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value that has no keys of its own; ``line`` is the ``file:line`` that set it."""

    content: Any
    line: str

    @property
    def shown(self) -> str:
        """The value on one line, as YAML would have it."""
        text = yaml.safe_dump(self.content, default_flow_style=True, allow_unicode=True, width=2**31)
        return text.removesuffix("\n").removesuffix("\n...")


def described(entry: PolicyEntry) -> str:
    """A policy's description; of one that has none, what it extends."""
    path = Path(entry.path)
    if entry.description.strip() or not path.is_file():
        return entry.description
    root = read_yaml(path.read_text(encoding="utf-8-sig"), entry.path).root
    parent = root.child(EXTENDS) if root else None
    return f"(extends {parent.content})" if parent else ""


def as_yaml(policy: Policy) -> str:
    """The policy as the text of a policy file."""
    data = policy.model_dump(mode="json")
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)


def values_of(loaded: LoadedPolicy) -> dict[str, Value]:
    """Every value by its key, as ``--set`` takes it: entries of lists go by their names."""
    order = list(Policy.model_fields)
    found = sorted(_values(loaded.tree, ""), key=lambda pair: order.index(pair[0].partition(".")[0]))
    return dict(found)


def differences(one: LoadedPolicy, other: LoadedPolicy) -> list[tuple[str, str, str]]:
    """The keys whose values differ, with both values; ``-`` where a policy has no such key."""
    ours, theirs = values_of(one), values_of(other)
    keys = [key for key in {**ours, **theirs} if key not in _NAMING]
    return [
        (key, _shown(ours, key), _shown(theirs, key))
        for key in keys
        if key not in ours or key not in theirs or ours[key].content != theirs[key].content
    ]


def _shown(values: Mapping[str, Value], key: str) -> str:
    return values[key].shown if key in values else "-"


def _values(node: Node, key: str) -> Iterator[tuple[str, Value]]:
    inner = dict(_children(node))
    if not inner:
        yield key, Value(node.plain(), node.origin.line)
    for name, child in inner.items():
        yield from _values(child, f"{key}.{name}" if key else name)


def _children(node: Node) -> Iterator[tuple[str, Node]]:
    """What is below a node, by name; a list of plain values is a value itself."""
    if isinstance(node.content, dict):
        yield from node.content.items()
    elif isinstance(node.content, tuple) and any(isinstance(entry.content, dict) for entry in node.content):
        names = [entry_name(entry) for entry in node.content]
        for index, (name, entry) in enumerate(zip(names, node.content, strict=True)):
            yield (name if name and names.count(name) == 1 else str(index)), entry
