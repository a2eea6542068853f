"""What of a message can be searched for."""

from compactor.extension.protocols import Format
from compactor.messages.message import Raw
from compactor.session.recall import is_recall

MAX_TEXT = 1_000_000
"""Characters of a message that can be searched."""


def searchable(raw: Raw, format_: Format) -> tuple[str, str]:
    """Role and text of a message, the calls in it included. What the recall tool found once is not found again in its
    place."""
    message = format_.parse(raw, 0)
    calls = [f"{call.name} {call.arguments}" for call in message.calls]
    text = "" if is_recall(message) else "\n".join(filter(None, (message.text, *calls)))
    return message.role, storable(text[:MAX_TEXT])


def storable(text: str) -> str:
    """A text as a database can hold it: without NUL and without halves of surrogate pairs."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
