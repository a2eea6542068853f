"""The to-do list, restated after a compaction: what is open, word for word, and how much is done."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compactor import hookimpl
from compactor.extension.events import StateRequest
from compactor.facts.actions import action_of
from compactor.facts.prose import one_line
from compactor.messages.message import Message

_DONE = frozenset({"completed", "complete", "done", "finished"})
_DROPPED = frozenset({"cancelled", "canceled", "dropped", "skipped"})
_UNDER_WAY = frozenset({"in_progress", "active", "doing", "started"})
_TEXTS = ("content", "step", "title", "task", "description", "text")
_LONGEST = 400  # code points of an item
_CHARS = 3  # code points of a token, roughly; the engine counts, and cuts what is still too long

Item = tuple[str, str]
"""What is to be done, and its status."""


@hookimpl
def provide_state(event: StateRequest) -> str | None:
    """The open items, those under way first; the done ones are counted. None where there is no list.

    The list is ``host["todos"]`` where the host hands it over (items as texts, or as mappings with ``content`` and
    ``status``; a list, or a function that returns one), else what the newest to-do call in the messages set.
    """
    given = event.host.get("todos")
    items = _from_messages(event.messages) if given is None else _from_host(given() if callable(given) else given)
    if not items:
        return None
    kinds = Counter(_kind(status) for _, status in items)
    ended = ", ".join(f"{kinds[kind]} {kind}" for kind in ("done", "dropped") if kinds[kind])
    lines = [f"To-do list ({kinds['under way'] + kinds['open']} open{ended and ', ' + ended}):"]
    for kind, mark in (("under way", "[in progress]"), ("open", "[open]")):
        lines += [f"- {mark} {one_line(text)[:_LONGEST]}" for text, status in items if _kind(status) == kind]
    return _fitting(lines, event.max_tokens * _CHARS)


def _from_messages(messages: Sequence[Message]) -> list[Item]:
    """The list as the newest call left it; one that sets an empty list clears it."""
    for message in reversed(messages):
        for call in reversed(message.calls):
            if "status" in call.arguments and (items := action_of(call.name, call.arguments).todos):
                return list(items)
            if _clears(call.name, call.arguments):
                return []
    return []


def _clears(name: str, arguments: str) -> bool:
    compact = "".join(arguments.split()) if len(arguments) < 100 else ""
    return "todo" in name.lower() and compact in ('{"todos":[]}', '{"items":[]}')


def _from_host(given: Any) -> list[Item]:
    """Raises ``TypeError`` for something that is no list of items: the report says so."""
    if given is None:
        return []
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(f"the host's 'todos' are {type(given).__name__}, not a list of items")
    return [item for item in map(_item, given) if item[0].strip()]


def _item(entry: Any) -> Item:
    if isinstance(entry, str):
        return entry, "pending"
    if not isinstance(entry, Mapping):
        raise TypeError(f"an item of the host's 'todos' is {type(entry).__name__}, not a text or a mapping")
    text = next((value for key in _TEXTS if isinstance(value := entry.get(key), str)), "")
    return text, str(entry.get("status", "pending"))


def _kind(status: str) -> str:
    status = status.lower().replace(" ", "_").replace("-", "_")
    if status in _DONE:
        return "done"
    if status in _DROPPED:
        return "dropped"
    return "under way" if status in _UNDER_WAY else "open"


def _fitting(lines: list[str], most: int) -> str:
    """The first lines that fit, and how many do not."""
    size, kept = 0, 0
    for line in lines:
        size += len(line) + 1
        if kept and size > most - 20:
            break
        kept += 1
    return "\n".join([*lines[:kept], *([f"- … {len(lines) - kept} more"] if kept < len(lines) else [])])
