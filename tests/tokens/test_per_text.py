"""A counter from a function: what a message and a request cost beyond their texts."""

from typing import Any

import pytest

from compactor.messages.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from compactor.tokens.per_text import CALL_OVERHEAD, MESSAGE_OVERHEAD, REPLY_PRIMING, TextCounter

IMAGE = Media("image", "image", width=750, height=400, raw={"type": "image", "data": "A" * 100_000})


def characters() -> TextCounter:
    return TextCounter("characters", len)


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (Text("hello"), 5),
        (Text(""), 0),
        (Reasoning("because", signed=True, raw={"signature": "A" * 1_000}), 7),
        (ToolCall(("call_1",), "read", '{"a":1}'), CALL_OVERHEAD + 4 + 7),
        (ToolResult(("call_1",), (Text("out"), IMAGE)), 3 + 400),
        (IMAGE, 400),
        (Opaque("new", {"a": [1, "é"]}), len('{"a":[1,"é"]}')),
    ],
)
def test_each_part_has_its_cost(part: Any, tokens: int) -> None:
    assert characters().message(Message("user", (part,))) == MESSAGE_OVERHEAD + tokens


def test_arguments_count_only_if_asked_for() -> None:
    message = Message("assistant", (Text("x"), ToolCall(("1",), "read", "x" * 500)))
    assert characters().message(message) - characters().message(message, arguments=False) == 500


def test_a_request_is_its_messages_and_tools() -> None:
    counter = characters()
    messages = [Message("system", (Text("Be brief."),)), Message("user", (Text("hi"),))]
    tools = [{"name": f"tool_{number:02}"} for number in range(50)]
    plain = sum(map(counter.message, messages)) + REPLY_PRIMING
    assert counter.request(messages) == plain
    assert counter.request(messages, tools) == plain + 50 * len('{"name":"tool_00"}')


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counter = TextCounter("listening", count)
    history = [Message("user", (Text(f"message {number}"),)) for number in range(100)]
    first = counter.request(history)
    assert counter.request(list(history)) == first
    counter.request([*history, Message("user", (Text("new"),))])
    assert sorted(asked) == sorted([f"message {number}" for number in range(100)] + ["new"])
