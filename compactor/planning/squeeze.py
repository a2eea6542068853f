"""The last resort: tool results that stay, and that do not fit the window together, are cut to their ends."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compactor.extension.protocols import Counter, Edit
from compactor.messages.message import Media, Message, Opaque, Text, ToolResult

_LEAST = 1_000
"""Characters that are left of a text, so that it still tells what it was."""

_HEAD_SHARE = 2 / 3
"""Of what is left, the part from the start: what follows is from the end."""

_MARGIN = 0.95
"""Tokens are not spread evenly over a text: a little more is cut than the mean asks for."""


def squeezed(messages: Sequence[Message], excess: int, counter: Counter) -> Iterator[tuple[int, Edit]]:
    """The places and edits that take ``excess`` tokens off, if that can be had: oldest results first, newest last."""
    for place, message in enumerate(messages):
        if excess <= 0:
            return
        if not message.results:
            continue
        before = counter.message(message)
        edited = message.with_parts(
            tuple(_cut(part, excess, counter) if isinstance(part, ToolResult) else part for part in message.parts)
        )
        saved = before - counter.message(edited)
        if saved > 0:
            excess -= saved
            sizes = f"from {len(message.text):,} to {len(edited.text):,} characters"
            yield place, Edit(place, edited.parts, f"tool result cut {sizes} to fit the window")


def _cut(result: ToolResult, excess: int, counter: Counter) -> ToolResult:
    """A result of which each text is cut by at most ``excess`` tokens."""
    content: list[Text | Media | Opaque] = []
    for item in result.content:
        if isinstance(item, Text) and len(item.text) > _LEAST:
            content.append(replace(item, text=_shortened(item.text, counter.text(item.text) - excess, counter)))
        else:
            content.append(item)
    return replace(result, content=tuple(content))


def _shortened(text: str, tokens: int, counter: Counter) -> str:
    """The ends of a text, of at most so many tokens where that leaves enough to tell what it was."""
    keep, shown = len(text), text
    while keep > _LEAST and (now := counter.text(shown)) > tokens:
        keep = max(int(keep * max(tokens, 0) / now * _MARGIN), _LEAST)
        shown = _ends(text, keep)
    return shown


def _ends(text: str, keep: int) -> str:
    head = int(keep * _HEAD_SHARE)
    return f"{text[:head]}\n[... {len(text) - keep:,} characters cut to fit the window ...]\n{text[-(keep - head) :]}"
