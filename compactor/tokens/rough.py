"""The reference's counter: four characters are a token (REFERENCE section 3)."""

from collections.abc import Mapping, Sequence
from typing import Any

from compactor.messages.as_json import compact_json
from compactor.messages.message import Message
from compactor.tokens.cache import CountCache
from compactor.tokens.media import media_tokens
from compactor.tokens.wire import Render, json_length, neutral, on_the_wire

CHARS_PER_TOKEN = 4
MESSAGE_OVERHEAD = 10


class Rough:
    """Counts characters, not tokens: instant, the same everywhere, and off by up to two thirds for other scripts.

    ``render`` writes a message that was changed or is our own, as ``Format.render`` does. Without it such
    messages are counted from a neutral rendering, which differs from a provider's by a few tokens.
    """

    name: str = "rough"

    def __init__(self, render: Render | None = None) -> None:
        self._render = render or neutral
        self._quoted = CountCache(lambda text: len(compact_json(text)))

    def text(self, text: str) -> int:
        """A quarter of the characters, rounded down."""
        return len(text) // CHARS_PER_TOKEN

    def message(self, message: Message, *, arguments: bool = True) -> int:
        """As the walks of REFERENCE section 3 weigh a message: ``arguments`` for the tail, without for pruning.

        Each call's arguments are rounded down on their own. Media are added at their cost.
        """
        tokens = len(message.text) // CHARS_PER_TOKEN + MESSAGE_OVERHEAD
        if arguments:
            tokens += sum(len(call.arguments) // CHARS_PER_TOKEN for call in message.calls)
        return tokens + sum(map(media_tokens, message.media))

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
        """A quarter of the characters of the compact JSON of messages and tools, plus the cost of the media."""
        return self.tokens_of(sum(map(self.weigh, messages)) + self.weigh_tools(tools), len(messages))

    def weigh(self, message: Message) -> int:
        """As ``AdditiveCounter``: characters, the cost of media as if it were so many."""
        media = message.media
        characters = json_length(on_the_wire(message, self._render, media), self._quoted)
        return characters + CHARS_PER_TOKEN * sum(map(media_tokens, media))

    def weigh_tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        return json_length(list(tools), self._quoted) if tools else 0

    def tokens_of(self, weight: int, messages: int) -> int:
        return (weight + 2 + max(0, messages - 1)) // CHARS_PER_TOKEN  # brackets, and a comma between any two
