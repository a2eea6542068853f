"""The tool by which an agent finds again what was said before a compaction."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from compactor.errors import StoreError
from compactor.messages.as_json import compact_json
from compactor.messages.message import Message

if TYPE_CHECKING:
    from compactor.session.archive import Archive

NAME = "recall_history"
"""The tool's name."""

MARK = "[recall_history]"
"""What its results begin with, by which they are recognised: what it found once is not found again in its place."""

MAX_CHARACTERS = 8_000
"""Of one result: what was folded because it was too much does not come back all at once."""

_HITS = 8

SCHEMA: Mapping[str, Any] = MappingProxyType(
    {
        "type": "function",
        "function": {
            "name": NAME,
            "description": "Finds what was said or read earlier in this conversation, also what was folded into a "
            "summary since. Search by words first, then expand a handle to read the whole message.",
            "parameters": {
                "type": "object",
                "properties": {
                    "search": {"type": "string", "description": "Words that the message has to contain."},
                    "expand": {"type": "integer", "description": "The handle of a message that a search found."},
                    "offset": {"type": "integer", "description": "Where to read on in a long message, in characters."},
                },
            },
        },
    }
)
"""In the form of OpenAI's tool schemas."""


def is_recall(message: Message) -> bool:
    """Whether a message is a result of the tool."""
    return message.is_result and message.text.startswith(MARK)


class RecallTool:
    """``schema`` goes among the request's tools; called with the arguments of a tool call, it gives the result's text.

    It never raises: what is wrong with a call is what it returns.
    """

    name = NAME

    def __init__(self, archive: "Archive") -> None:
        self._archive = archive

    @property
    def schema(self) -> dict[str, Any]:
        """The tool's schema, in the form of OpenAI's."""
        return json.loads(json.dumps(dict(SCHEMA)))  # type: ignore[no-any-return]

    def __call__(self, arguments: str | Mapping[str, Any]) -> str:
        """Searches, or reads a message. ``arguments`` is the JSON of a tool call, or what it says."""
        try:
            asked = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
            answer = f"{MARK} {self._answer(asked)}"
            return answer.encode("utf-8", "replace").decode("utf-8")
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            return (
                f"{MARK} The arguments cannot be read ({error}). Give 'search' with words, or 'expand' with a handle."
            )
        except StoreError as error:
            return f"{MARK} {error}"

    def _answer(self, asked: Mapping[str, Any]) -> str:
        if asked.get("expand") is not None:
            return self._expanded(int(asked["expand"]), max(int(asked.get("offset") or 0), 0))
        words = str(asked.get("search") or "")
        if not words.strip():
            return "Nothing to look for. Give 'search' with words, or 'expand' with a handle."
        hits = self._archive.search(words, within="lineage", limit=_HITS)
        if not hits:
            return f"Nothing was said with all of these words: {words[:200]}"
        return "\n".join(["Found:", *(f"- handle {hit.message_id} ({hit.role}): {hit.snippet}" for hit in hits)])

    def _expanded(self, handle: int, offset: int) -> str:
        if self._archive.session is None:
            return "Nothing was said yet."
        said = self._archive.store.message(handle, self._archive.conversation)
        whole = _text(said.raw)
        part = whole[offset : offset + MAX_CHARACTERS]
        after = offset + len(part)
        more = f"\n[{len(whole) - after:,} more characters: offset {after}]" if after < len(whole) else ""
        return f"Message {handle} ({said.raw.get('role')}):\n{part}{more}"


def _text(raw: Mapping[str, Any]) -> str:
    """The text of a message where that is all of it, else its JSON."""
    content = raw.get("content")
    return content if isinstance(content, str) and not raw.get("tool_calls") else compact_json(raw)
