"""How large messages are as the body of a request: in bytes, where tokens say nothing about media."""

from collections.abc import Iterable
from dataclasses import dataclass

from compactor.messages.as_json import compact_json
from compactor.messages.message import Message


@dataclass(frozen=True, slots=True)
class BodySize:
    """``total`` bytes of messages as JSON; ``media`` of these are the decoded bytes of inline media; ``images``."""

    total: int = 0
    media: int = 0
    images: int = 0

    def __add__(self, other: "BodySize") -> "BodySize":
        return BodySize(self.total + other.total, self.media + other.media, self.images + other.images)

    def __sub__(self, other: "BodySize") -> "BodySize":
        return BodySize(self.total - other.total, self.media - other.media, self.images - other.images)


def body_size(message: Message) -> BodySize:
    """The size of one message that was not touched."""
    media = message.media
    return BodySize(
        len(compact_json(message.raw).encode("utf-8", "surrogatepass")),
        sum(item.size or 0 for item in media),
        sum(item.kind == "image" for item in media),
    )


def body_sizes(messages: Iterable[Message]) -> BodySize:
    """The size of all of them."""
    return sum(map(body_size, messages), BodySize())
