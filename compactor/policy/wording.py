"""How keys, values and suggestions are worded in problems."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

Key = tuple[str | int, ...]
"""The path of a key in a policy: names of keys and positions in lists, outermost first."""


def dotted(key: Key) -> str:
    """The key as people write it: ``triggers.0.when``."""
    return ".".join(str(part) for part in key)


def shown(value: Any) -> str:
    """A value as YAML would have it; a mapping or a list by its kind only."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    return repr(value)


def listed(words: Iterable[str]) -> str:
    """The words in quotes, separated by commas."""
    return ", ".join(repr(word) for word in words)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A suggestion for a word that is not known; empty when nothing is near it. Case is ignored."""
    spellings = {spelling.lower(): spelling for spelling in known}
    near = difflib.get_close_matches(word.lower(), spellings, n=1)
    return f"did you mean {spellings[near[0]]!r}?" if near else ""
