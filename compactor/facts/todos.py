"""To-do lists that an agent keeps with a tool."""

from collections.abc import Mapping

_LISTS = ("todos", "plan", "items", "tasks", "todo_list")
_TEXTS = ("content", "step", "title", "task", "description", "text")


def todos(arguments: Mapping[str, object]) -> list[tuple[str, str]]:
    """``(item, status)`` of the list that a call's ``arguments`` set; empty where they set none."""
    for key in _LISTS:
        entries = arguments.get(key)
        if isinstance(entries, list) and entries:
            found = [_entry(entry) for entry in entries if isinstance(entry, Mapping) and "status" in entry]
            return [item for item in found if item[0]]
    return []


def _entry(entry: Mapping[str, object]) -> tuple[str, str]:
    text = next((value for key in _TEXTS if isinstance(value := entry.get(key), str)), "")
    return text, str(entry.get("status", "")).lower().replace(" ", "_")
