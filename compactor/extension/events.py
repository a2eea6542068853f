"""What plugins are told: one frozen event a hook. Its messages are copies without secrets, and cannot be changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compactor.messages.message import Message

Complete = Callable[[str], str]
"""Asks the policy's model (``summary.model``); raises ``SummarizerError`` when it does not answer."""


@dataclass(frozen=True, slots=True)
class PreCompress:
    """A compaction is about to happen; nothing is folded or pruned yet.

    ``messages`` is the whole conversation as it came, ``folded`` those of them that the summary will replace.
    ``summary`` is the one that earlier compactions left, ``count`` how many there were. ``complete`` asks the
    policy's model, None where it names none.
    """

    messages: tuple[Message, ...]
    folded: tuple[Message, ...]
    summary: str | None
    count: int
    focus: str | None
    complete: Complete | None


@dataclass(frozen=True, slots=True)
class PostCompress:
    """A compaction is done. ``summary`` is the new one (None: a static note); ``report`` its numbers as plain data."""

    outcome: str
    summary: str | None
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """A compaction was tried and the input handed back; ``reason`` says why."""

    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class StateRequest:
    """What is to be restated after a compaction? ``messages`` is the conversation as it came.

    ``max_tokens`` is what the answer may cost; ``host`` is what the host handed over for state providers
    (``Compactor(..., host_state={...})``), by name.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    host: Mapping[str, Any] = field(default_factory=dict)
