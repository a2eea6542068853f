"""The provider-neutral conversation: frozen messages made of parts.

A format (``messages/formats``) reads provider dictionaries into these values and writes them back. ``raw`` is
the dictionary as it came: a message that nobody touched is written as exactly that; a touched one is rendered
anew from its parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Raw = Mapping[str, Any]

SYSTEM_ROLES = frozenset({"system", "developer"})
RESULT_ROLES = frozenset({"tool", "function"})


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text; ``raw`` is the content block that it came as, None where content was a plain string."""

    text: str
    raw: Raw | None = None


@dataclass(frozen=True, slots=True)
class Media:
    """An image, audio clip, video or file. Its bytes are never counted or shown as text.

    ``size`` is the decoded size in bytes where the data is inline; ``width`` and ``height`` are pixels where
    the header of inline image data tells them.
    """

    kind: str
    label: str
    size: int | None = None
    width: int | None = None
    height: int | None = None
    raw: Raw | None = None


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Thinking of the model. A signed block may be kept or removed as a whole, never edited."""

    text: str
    signed: bool = False
    raw: Raw | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """Content of a type that we do not know: kept as it is when kept, named by ``kind`` when folded."""

    kind: str
    raw: Any = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. ``ids`` are all the ids that a result may name it by (``id``, ``call_id``), stripped.

    ``arguments`` is the raw string as the model wrote it, usually JSON.
    """

    ids: tuple[str, ...]
    name: str
    arguments: str
    raw: Raw | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call returned; ``ids`` as in ``ToolCall``."""

    ids: tuple[str, ...]
    content: tuple[Text | Media | Opaque, ...]
    raw: Raw | None = None

    @property
    def text(self) -> str:
        return _joined(self.content)


Part = Text | Media | Reasoning | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    ``index`` is its place in the input, None for a message of our own; ``touched`` says that ``parts`` no
    longer equal ``raw``.
    """

    role: str
    parts: tuple[Part, ...]
    index: int | None = None
    raw: Raw | None = None
    touched: bool = False

    @property
    def is_system(self) -> bool:
        return self.role in SYSTEM_ROLES

    @property
    def is_result(self) -> bool:
        """Whether the message holds tool results and nothing else that a model could answer."""
        return self.role in RESULT_ROLES

    @property
    def text(self) -> str:
        """The text of the message, tool results included, reasoning and arguments not."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return self.parts[0].text
        return _joined(self.parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    @property
    def media(self) -> tuple[Media, ...]:
        """All media of the message, also those inside tool results."""
        found: list[Media] = []
        for part in self.parts:
            if isinstance(part, Media):
                found.append(part)
            elif isinstance(part, ToolResult):
                found.extend(item for item in part.content if isinstance(item, Media))
        return tuple(found)

    def with_parts(self, parts: tuple[Part, ...]) -> "Message":
        """The same message with other content, to be rendered anew."""
        return Message(self.role, parts, self.index, self.raw, touched=True)


def is_blank(part: Part) -> bool:
    """Whether a part is a text of nothing but blanks, which providers refuse."""
    return isinstance(part, Text) and not part.text.strip()


def _joined(parts: tuple[Part, ...]) -> str:
    """Texts and result texts of ``parts``, a line break between any two."""
    texts = [part.text for part in parts if isinstance(part, (Text, ToolResult))]
    return "\n".join(text for text in texts if text)
