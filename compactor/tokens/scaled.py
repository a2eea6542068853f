"""A counter corrected by what a provider's reports have taught."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from compactor.extension.protocols import Counter
from compactor.messages.message import Message


class Scaled:
    """Another counter's figures times a ratio, rounded up to whole tokens above 0."""

    name: str

    def __init__(self, counter: Counter, ratio: float) -> None:
        self.name = counter.name
        self._counter = counter
        self._ratio = ratio

    def text(self, text: str) -> int:
        return scale(self._counter.text(text), self._ratio)

    def message(self, message: Message, *, arguments: bool = True) -> int:
        return scale(self._counter.message(message, arguments=arguments), self._ratio)

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
        return scale(self._counter.request(messages, tools), self._ratio)


def scale(tokens: int, ratio: float) -> int:
    """Tokens times a ratio, rounded up."""
    return tokens if ratio == 1 else ceil(tokens * ratio)


def scaled(counter: Counter, ratio: float) -> Counter:
    """The counter itself where there is nothing to correct."""
    return counter if ratio == 1 else Scaled(counter, ratio)
