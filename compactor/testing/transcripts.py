"""Builders for small conversations in OpenAI chat format."""

import json
from typing import Any

_WORDS = "the build reads every module once and writes what changed back to the cache before it reports its time "


def system(content: Any) -> dict[str, Any]:
    """A system message."""
    return {"role": "system", "content": content}


def user(content: Any) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": content}


def assistant(content: Any = None, *calls: dict[str, Any]) -> dict[str, Any]:
    """An assistant message, with tool calls made by ``call``."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    return {**message, "tool_calls": list(calls)} if calls else message


def call(call_id: str, name: str = "run", arguments: Any = "{}") -> dict[str, Any]:
    """A tool call; arguments that are no string are written as JSON."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def result(call_id: str, content: Any) -> dict[str, Any]:
    """The result of a tool call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def rounds(count: int, *, chars: int = 400, first: int = 0) -> list[dict[str, Any]]:
    """``count`` tool rounds: an assistant message with one call, and its result of ``chars`` characters."""
    messages = []
    for number in range(first, first + count):
        ask = call(f"call_{number}", "read_file", {"path": f"src/module_{number}.py"})
        messages += [assistant(f"Reading module {number}.", ask), result(f"call_{number}", filler(chars))]
    return messages


def filler(chars: int) -> str:
    """Plain English text of exactly ``chars`` characters."""
    return (_WORDS * (chars // len(_WORDS) + 1))[:chars]
