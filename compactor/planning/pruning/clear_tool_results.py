"""Clears old tool results: outside the newest ones, a long result is replaced by a short placeholder."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from compactor.extension.protocols import Edit, PruningContext
from compactor.messages.message import Message, Text, ToolResult


class Outside(BaseModel):
    """Which messages are too new to be pruned."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    tail_tokens: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        1.0, description="Times the tail's token budget that is spared, counted back from the end. 0: nothing is."
    )


class ClearToolResults(BaseModel):
    """REFERENCE section 4: a tool result over ``longer_than`` characters, outside the newest, becomes a placeholder.

    The walk is its own: from the end, tokens (content only) are added up until one message would exceed the
    budget; that message is still spared. When everything fits, nothing is pruned. The head is not exempt. Results that
    the model has not answered yet are spared, too: nobody has read them.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    longer_than: Annotated[int, Field(ge=0)] = Field(200, description="Characters; shorter results stay.")
    outside: Outside = Field(Outside(), description="Which messages are too new to be pruned.")
    placeholder: Annotated[str, Field(min_length=1, pattern=r"\S")] = Field(
        "[Old tool output cleared to save context space]", description="What a cleared result says instead."
    )

    def prune(self, messages: Sequence[Message], context: PruningContext) -> Iterator[Edit]:
        """The cleared results as edits, oldest first."""
        placeholder = (Text(self.placeholder),)
        for position in range(min(self._spared_from(messages, context), _unanswered(messages))):
            message = messages[position]
            if not message.is_result:
                continue
            length = len(message.text)
            if length > max(self.longer_than, len(self.placeholder)):
                cleared = tuple(ToolResult(result.ids, placeholder, result.raw) for result in message.results)
                yield Edit(position, cleared, f"tool result of {length:,} characters cleared")

    def _spared_from(self, messages: Sequence[Message], context: PruningContext) -> int:
        if context.tail_tokens <= 0:
            return max(0, len(messages) - context.protect_last_n)
        budget = context.tail_tokens * self.outside.tail_tokens
        total = 0
        for position in range(len(messages) - 1, -1, -1):
            total += context.counter.message(messages[position], arguments=False)
            if total > budget:
                return position
        return 0


def _unanswered(messages: Sequence[Message]) -> int:
    """The place behind the newest assistant message."""
    return next((place + 1 for place in range(len(messages) - 1, -1, -1) if messages[place].role == "assistant"), 0)
