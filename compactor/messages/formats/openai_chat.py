"""OpenAI chat messages: ``{"role", "content", "tool_calls", "tool_call_id", ...}``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compactor.messages.as_json import compact_json
from compactor.messages.formats.blocks import parse_block, render_text
from compactor.messages.message import (
    RESULT_ROLES,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    is_blank,
)

_CALL_KEYS = ("tool_calls", "function_call")


class OpenAIChat:
    """The chat-completions shape, with what other servers that speak it add to it."""

    name = "openai-chat"

    def misfit(self, messages: Sequence[Any]) -> str | None:
        for number, message in enumerate(messages):
            if not isinstance(message, Mapping):
                return f"message {number} is {_json_type(message)}, not an object"
            if not isinstance(message.get("role"), str):
                return f"message {number} has no text under 'role'"
        return None

    def parse(self, message: Mapping[str, Any], index: int) -> Message:
        role = message["role"]
        content = message.get("content")
        if role in RESULT_ROLES:
            result = ToolResult(_ids(message, "tool_call_id", "call_id"), tuple(_result_content(content)), message)
            return Message(role, (result,), index, message)
        if isinstance(content, str) and role != "assistant":
            return Message(role, (Text(content),) if content else (), index, message)
        parts = (*_reasoning(message), *_content(content), *_calls(message), *_refusal(message))
        return Message(role, parts, index, message)

    def render(self, message: Message) -> dict[str, Any]:
        raw: Mapping[str, Any] = message.raw if message.raw is not None else {"role": message.role}
        rendered = dict(raw)
        results = message.results
        if results and message.is_result:
            rendered["content"] = _rendered_content(results[0].content, raw.get("content"))
            return rendered
        rendered["content"] = _rendered_content(message.parts, raw.get("content"))
        return _with_calls(rendered, message.calls)

    def stub(self, call: ToolCall, text: str) -> Message:
        if call.raw is not None and "arguments" in call.raw and not call.ids:  # a bare function_call
            raw = {"role": "function", "name": call.name, "content": text}
        else:
            raw = {"role": "tool", **_stub_id(call), "content": text}
        return Message(raw["role"], (ToolResult(call.ids, (Text(text),), raw),), None, raw)


def _content(content: Any) -> Iterable[Part]:
    """The parts of a content that may be a string, a list of blocks, nothing, or something odd."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if content is None:
        return ()
    blocks = content if isinstance(content, list) else [content]
    return (parse_block(block) for block in blocks)


def _result_content(content: Any) -> Iterable[Text | Media | Opaque]:
    for part in _content(content):
        yield part if isinstance(part, (Text, Media, Opaque)) else Opaque("reasoning", part.raw)


def _reasoning(message: Mapping[str, Any]) -> Iterable[Part]:
    """Thinking that stands beside the content; the richest of the keys that repeat each other wins."""
    for key in ("thinking_blocks", "reasoning_details", "reasoning_items"):
        blocks = message.get(key)
        if isinstance(blocks, list) and blocks:
            found = [parse_block(block) for block in blocks]
            if any(isinstance(part, Reasoning) and (part.text or part.signed) for part in found):
                return found
    for key in ("reasoning_content", "reasoning"):
        text = message.get(key)
        if isinstance(text, str) and text:
            return (Reasoning(text),)
    return ()


def _refusal(message: Mapping[str, Any]) -> Iterable[Part]:
    refusal = message.get("refusal")
    return (Opaque("refusal", refusal),) if isinstance(refusal, str) and refusal else ()


def _calls(message: Mapping[str, Any]) -> Iterable[Part]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        yield _call(call) if isinstance(call, Mapping) else Opaque("tool_call", call)
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        yield ToolCall((), _name(legacy.get("name")), _arguments(legacy.get("arguments")), legacy)


def _call(call: Mapping[str, Any]) -> ToolCall:
    _, body = _body(call)
    name = _name(body.get("name"))
    return ToolCall(_ids(call, "id", "call_id"), name, _arguments(body.get("arguments", body.get("input"))), call)


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return compact_json(value)


def _ids(raw: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    """The distinct ids under ``keys``, without the blanks that some providers leave around them."""
    one, two = _id(raw.get(keys[0])), _id(raw.get(keys[1]))
    if not two or one == two:
        return (one,) if one else ()
    return (one, two) if one else (two,)


def _id(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _stub_id(call: ToolCall) -> dict[str, Any]:
    """The id exactly as the call spells it, so that even a naive comparison pairs the two; none for none."""
    for key in ("id", "call_id"):
        value = call.raw.get(key) if call.raw is not None else None
        if _id(value):
            return {"tool_call_id": value}
    return {"tool_call_id": call.ids[0]} if call.ids else {}


def _rendered_content(parts: Sequence[Part], raw_content: Any) -> Any:
    """Content for a touched message: a list stays a list, a string stays a string while it is one text."""
    blocks = raw_content if isinstance(raw_content, list) else [] if raw_content is None else [raw_content]
    shown = [part for part in parts if _is_content(part, blocks)]
    if not isinstance(raw_content, list) and all(isinstance(part, Text) for part in shown):
        if not shown:
            return None if raw_content is None else ""
        if len(shown) == 1 and isinstance(shown[0], Text):
            return shown[0].text
    return [render_text(part) if isinstance(part, Text) else part.raw for part in shown]


def _is_content(part: Part, raw_blocks: Sequence[Any]) -> bool:
    """Whether a part is rendered under ``content``: blank texts never, keys beside the content neither."""
    if isinstance(part, Text):
        return not is_blank(part)
    if isinstance(part, (Media, Opaque, Reasoning)):
        return any(part.raw is block for block in raw_blocks)
    return False


def _with_calls(rendered: dict[str, Any], calls: Sequence[ToolCall]) -> dict[str, Any]:
    """Calls back in their place; a key without calls is left out, since providers refuse an empty list."""
    bare = rendered.get("function_call")
    kept: dict[str, Any] = {}
    for call in calls:
        if bare is not None and call.raw is bare:
            kept["function_call"] = _rendered_call(call)
        else:
            kept.setdefault("tool_calls", []).append(_rendered_call(call))
    return {**{key: value for key, value in rendered.items() if key not in _CALL_KEYS or key in kept}, **kept}


def _rendered_call(call: ToolCall) -> dict[str, Any]:
    """A call as it came, with its arguments replaced where they were edited; or one of our own."""
    if call.raw is None:
        function = {"name": call.name, "arguments": call.arguments}
        return {"id": call.ids[0] if call.ids else "", "type": "function", "function": function}
    body_key, body = _body(call.raw)
    key = "input" if "arguments" not in body and "input" in body else "arguments"
    if _arguments(body.get(key)) == call.arguments:
        return dict(call.raw)
    edited = {**body, key: call.arguments}
    return {**call.raw, body_key: edited} if body_key else edited


def _body(call: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """Where a call's name and arguments stand: under ``function`` or ``custom``, or in the call itself."""
    for key in ("function", "custom"):
        if isinstance(call.get(key), Mapping):
            return key, call[key]
    return None, call


def _json_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
