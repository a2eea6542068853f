"""Clears old images and other media: they weigh on the request's body long after they were looked at."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from compactor.extension.protocols import Edit, PruningContext
from compactor.messages.earlier import is_real_user
from compactor.messages.message import Media, Message, Opaque, Part, Text, ToolResult


class ClearMedia(BaseModel):
    """Media outside the newest messages that hold any become a short text; the newest user message keeps its own."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    keep_last: Annotated[int, Field(ge=0)] = Field(1, description="Messages with media, from the end, that keep them.")
    placeholder: Annotated[str, Field(min_length=1, pattern=r"\S")] = Field(
        "[{kind} removed to save space]", description="What stands in the place of a medium; {kind} is what it was."
    )

    def prune(self, messages: Sequence[Message], context: PruningContext) -> Iterator[Edit]:
        """The messages without their media as edits, oldest first."""
        holding = [place for place, message in enumerate(messages) if message.media]
        spared = set(holding[-self.keep_last :] if self.keep_last else ())
        ask = next((place for place in range(len(messages) - 1, -1, -1) if is_real_user(messages[place])), None)
        for place in holding:
            if place not in spared and place != ask:
                count = len(messages[place].media)
                parts = tuple(map(self._cleared, messages[place].parts))
                yield Edit(place, parts, f"{count} {'medium' if count == 1 else 'media'} cleared")

    def _cleared(self, part: Part) -> Part:
        if isinstance(part, ToolResult):
            return ToolResult(part.ids, tuple(map(self._item, part.content)), part.raw)
        return self._item(part) if isinstance(part, Media) else part

    def _item(self, item: Text | Media | Opaque) -> Text | Media | Opaque:
        return Text(self.placeholder.replace("{kind}", item.kind)) if isinstance(item, Media) else item
