"""A policy's merged data before it is validated, for checks that know more than the models do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compactor.errors import Problem
from compactor.policy.tree import DEFAULT, Node
from compactor.policy.wording import Key, dotted


@dataclass(frozen=True, slots=True)
class Draft:
    """The merged data. It may be wrong in any way: a check must look before it relies on a type."""

    tree: Node

    @property
    def data(self) -> dict[str, Any]:
        """The data as plain dicts, lists and scalars."""
        return self.tree.plain()  # type: ignore[no-any-return]

    def locate(self, key: Key, *, at_key: bool = False) -> str:
        """Where the value at ``key`` comes from (or its key, with ``at_key``): ``file:line:column`` or the source.

        A key that is not there, or has its default, is located at the mapping or list that it belongs to.
        """
        nodes = self.tree.trail(key)
        nearest = next((node for node in reversed(nodes) if node.origin is not DEFAULT), nodes[0])
        is_there = nearest is nodes[-1] and len(nodes) == len(key) + 1
        return nearest.origin.key if at_key and is_there else nearest.origin.value

    def folder(self, key: Key) -> Path | None:
        """The folder of the file that the value at ``key`` comes from; None where it comes from no file on disk."""
        path = Path(self.locate(key).rsplit(":", 2)[0])
        return path.parent if path.is_file() else None

    def problem(self, key: Key, message: str, hint: str = "", *, at_key: bool = False) -> Problem:
        """A located problem with the value at ``key`` (or with the key itself, with ``at_key``)."""
        return Problem(self.locate(key, at_key=at_key), dotted(key), message, hint)


Check = Callable[[Draft], Iterable[Problem]]
"""Finds what is wrong with a draft; called even when the models have found mistakes, so that all come at once."""
