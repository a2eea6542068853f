"""What a message looks like on its way to the provider, as compact JSON, with the data of media left out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compactor.messages.as_json import compact_json
from compactor.messages.message import Media, Message, Opaque, Reasoning, ToolCall, ToolResult

Render = Callable[[Message], Mapping[str, Any]]

_TEXT_ONLY = frozenset({str})


def json_length(value: Any, quoted: Callable[[str], int]) -> int:
    """``len(compact_json(value))`` without building it; ``quoted`` gives the length of a text as JSON.

    With a ``quoted`` that remembers, a conversation that was measured before costs a look-up for each text.
    """
    try:
        return _length(value, quoted)
    except RecursionError:
        return len(compact_json(value))


def _length(value: Any, quoted: Callable[[str], int]) -> int:
    kind = type(value)
    if kind is str:
        return quoted(value)
    if kind is dict and set(map(type, value)) <= _TEXT_ONLY:
        length = 2 * len(value) + 1 if value else 2  # braces, a colon for each item, a comma between any two
        for item in value.values():
            length += quoted(item) if type(item) is str else _length(item, quoted)
        return length + sum(map(quoted, value))
    if kind is list:
        return sum(_length(item, quoted) for item in value) + (len(value) + 1 if value else 2)
    return len(compact_json(value))


def on_the_wire(message: Message, render: Render, media: Sequence[Media]) -> Any:
    """The dictionary that will be sent for ``message``: as it came, or rendered where it was changed or is ours.

    The blocks of ``media``, which are those of the message, are replaced by None: they cost what
    ``media_tokens`` says.
    """
    wire = message.raw if message.raw is not None and not message.touched else render(message)
    blocks = [item.raw for item in media if item.raw]
    return _without(wire, blocks) if blocks else wire


def neutral(message: Message) -> Mapping[str, Any]:
    """A rendering for callers that have no format at hand: role and parts, no provider's shape."""
    return {"role": message.role, "content": [_neutral_part(part) for part in message.parts]}


def _neutral_part(part: object) -> Any:
    match part:
        case ToolCall():
            return {"id": part.ids[0] if part.ids else "", "name": part.name, "arguments": part.arguments}
        case ToolResult():
            return {"id": part.ids[0] if part.ids else "", "content": [_neutral_part(item) for item in part.content]}
        case Media():
            return None
        case Reasoning():
            return {"reasoning": part.text}
        case Opaque():
            return part.raw
        case _:
            return getattr(part, "text", None)


def _without(value: Any, blocks: Sequence[Mapping[str, Any]]) -> Any:
    """A copy of ``value`` in which every one of ``blocks`` is None, at any depth."""
    if isinstance(value, Mapping):
        if any(value is block or value == block for block in blocks):
            return None
        return {key: _without(item, blocks) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(item, blocks) for item in value]
    return value
