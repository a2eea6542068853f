"""The files that were last read or written, restated after a compaction, with what was done to them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from compactor import hookimpl
from compactor.extension.events import StateRequest
from compactor.facts.actions import action_of
from compactor.facts.errors import failed
from compactor.facts.prose import one_line
from compactor.messages.message import Message

_LONGEST = 300  # code points of a path
_CHARS = 3  # code points of a token, roughly; the engine counts, and cuts what is still too long

File = tuple[str, str]
"""A path, and what was done with it last ("" where nobody knows)."""


class Settings(BaseModel):
    """What a policy says about the plugin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(15, ge=1, le=1000, description="Files that are named at most.")


class Plugin:
    """Names files, newest first."""

    Config = Settings

    def __init__(self, config: Settings) -> None:
        self._limit = config.limit

    @hookimpl
    def provide_state(self, event: StateRequest) -> str | None:
        """The files with what was done last. None where there are none.

        They are ``host["files"]`` where the host hands them over, newest first (paths, or mappings with ``path`` and
        ``action``; a list, or a function that returns one), else those in the tool calls of the messages.
        """
        given = event.host.get("files")
        found = _from_messages(event.messages) if given is None else _from_host(given() if callable(given) else given)
        last: dict[str, str] = {}
        room = event.max_tokens * _CHARS
        for path, done in found:
            if path in last or not path:
                continue
            line = f"- {path}{done and f' ({done})'}"
            room -= len(line) + 1
            if len(last) == self._limit or (last and room < 0):
                break
            last[path] = line
        return "\n".join(["Files last worked with, newest first:", *last.values()]) if last else None


def _from_messages(messages: Sequence[Message]) -> Iterator[File]:
    """Newest first. What failed did nothing to a file."""
    failures: set[str] = set()
    for message in reversed(messages):
        for result in message.results:
            if failed(result.text):
                failures.update(result.ids)
        for call in reversed(message.calls):
            if failures.isdisjoint(call.ids):
                for path, done in reversed(action_of(call.name, call.arguments).files):
                    yield one_line(path)[:_LONGEST], done


def _from_host(given: Any) -> Iterator[File]:
    """Raises ``TypeError`` for something that is no list of files: the report says so."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, (Iterable, type(None))):
        raise TypeError(f"the host's 'files' are {type(given).__name__}, not a list of paths")
    for entry in given or ():
        if isinstance(entry, Mapping):
            yield one_line(str(entry.get("path", "")))[:_LONGEST], one_line(str(entry.get("action") or ""))[:40]
        else:
            yield one_line(str(entry))[:_LONGEST], ""
