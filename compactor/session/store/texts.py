"""What of a message can be searched for."""

from compactor.extension.protocols import Format
from compactor.messages.message import Raw
from compactor.session.recall import is_recall

MAX_TEXT = 1_000_000
"""Characters of a message that can be searched; a database indexes no more of one text."""


def searchable(raw: Raw, format_: Format) -> tuple[str, str]:
    """Role and text of a message, the calls in it included. What the recall tool found once is not found again in its
    place."""
    message = format_.parse(raw, 0)
    calls = [f"{call.name} {call.arguments}" for call in message.calls]
    text = "" if is_recall(message) else "\n".join(filter(None, (message.text, *calls)))
    # A database cannot hold NUL, nor halves of surrogate pairs.
    return message.role, text[:MAX_TEXT].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
