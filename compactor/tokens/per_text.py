"""A whole counter from one function: what a text costs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compactor.messages.as_json import compact_json
from compactor.messages.message import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from compactor.tokens.cache import CountCache
from compactor.tokens.media import media_tokens

# Around each message: start, role, separator, end; and three tokens that open the reply. OpenAI's published
# recipe for counting chat requests says 3 + 1 for the role, and 3.
MESSAGE_OVERHEAD = 4
REPLY_PRIMING = 3

# Around the name and arguments of a call: recipient, channel and type of content in OpenAI's open harmony
# format, some eight tokens; other providers' framing is of that size.
CALL_OVERHEAD = 8


class TextCounter:
    """A ``Counter`` made of a function ``text -> tokens``, which is called once for each text.

    Counts are remembered by content (``CountCache``), so a conversation that grew costs only its new texts.
    Additive: ``request`` is the sum of ``message`` over all messages, the tools and a constant.
    """

    name: str

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self._count = CountCache(count)

    def text(self, text: str) -> int:
        """Tokens of a piece of text, without any overhead."""
        return self._count(text)

    def message(self, message: Message, *, arguments: bool = True) -> int:
        """Overhead and parts; tool calls with name and framing, and with their arguments if asked for.

        Reasoning counts with its readable text (encrypted reasoning with none: nobody but the provider knows
        its length), content of unknown type as the text of its JSON.
        """
        tokens = MESSAGE_OVERHEAD
        for part in message.parts:
            tokens += self._count(part.text) if type(part) is Text else self._part(part, arguments)
        return tokens

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
        """All messages, each tool's schema as compact JSON, and the opening of the reply."""
        return self.tokens_of(sum(map(self.message, messages)) + self.weigh_tools(tools), len(messages))

    def weigh(self, message: Message) -> int:
        """As ``AdditiveCounter``: tokens."""
        return self.message(message)

    def weigh_tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        return sum(self._count(compact_json(tool)) for tool in tools)

    def tokens_of(self, weight: int, messages: int) -> int:
        return weight + REPLY_PRIMING

    def _part(self, part: Part, arguments: bool) -> int:
        if isinstance(part, ToolResult):
            return sum([self._part(item, arguments) for item in part.content])
        if isinstance(part, (Text, Reasoning)):
            return self._count(part.text)
        if isinstance(part, ToolCall):
            return CALL_OVERHEAD + self._count(part.name) + (self._count(part.arguments) if arguments else 0)
        if isinstance(part, Media):
            return media_tokens(part)
        return self._count(compact_json(part.raw))
