"""What weighs most in a request, for the message that it does not fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compactor.conversation import SYSTEM_INDEX
from compactor.extension.protocols import Counter
from compactor.messages.message import Message, Raw


@dataclass(frozen=True, slots=True)
class Contributor:
    """A part of a request, named for people, and its tokens."""

    name: str
    tokens: int

    def __str__(self) -> str:
        return f"{self.name} ({self.tokens:,})"


def largest(
    counter: Counter, messages: Iterable[Message], tools: Sequence[Raw], count: int = 3
) -> tuple[Contributor, ...]:
    """The largest messages and the tool schemas as one, largest first."""
    found = [Contributor(_called(message), counter.message(message)) for message in messages]
    if tools:
        found.append(Contributor("the tool schemas", counter.request((), tools)))
    return tuple(sorted(found, key=lambda contributor: -contributor.tokens)[:count])


def _called(message: Message) -> str:
    """A message by its place in the input, for people."""
    if message.index is None:
        return "the summary"
    return "the system prompt" if message.index == SYSTEM_INDEX else f"message {message.index} ({message.role})"
