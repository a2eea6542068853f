"""The reference's counter, figure by figure."""

import json
from typing import Any

import pytest

from compactor.messages.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from compactor.tokens.rough import Rough

CALL = ToolCall(("call_1",), "read", "x" * 43)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 0), ("abcd", 1), ("x" * 401, 100), ("日本語です。", 1)])
def test_text_is_a_quarter_of_its_characters(text: str, tokens: int) -> None:
    assert Rough().text(text) == tokens


@pytest.mark.parametrize(
    ("parts", "with_arguments", "without"),
    [
        ((), 10, 10),
        ((Text("x" * 43),), 20, 20),
        ((Text("x" * 43), CALL), 30, 20),
        ((CALL, CALL), 30, 10),
        ((ToolResult(("call_1",), (Text("x" * 80),)),), 30, 30),
        ((Text("x" * 40), Media("image", "image", width=750, height=400)), 420, 420),
        ((ToolResult(("call_1",), (Media("image", "image", width=750, height=400),)),), 410, 410),
        ((Reasoning("x" * 80), Opaque("new", {"a": 1})), 10, 10),
    ],
)
def test_a_message_as_the_walks_weigh_it(parts: Any, with_arguments: int, without: int) -> None:
    message = Message("assistant", parts)
    assert Rough().message(message) == with_arguments
    assert Rough().message(message, arguments=False) == without


def raw_message(raw: dict[str, Any], *parts: Any) -> Message:
    return Message(raw["role"], parts or (Text(str(raw["content"])),), index=0, raw=raw)


def test_a_request_is_a_quarter_of_its_compact_json() -> None:
    raws = [{"role": "system", "content": "Be brief. 简短"}, {"role": "user", "content": 'say "hi"\n' * 50}]
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}] * 50
    size = sum(len(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) for value in (raws, tools))
    messages = [raw_message(raw) for raw in raws]
    assert Rough().request(messages, tools) == size // 4
    assert Rough().request(messages) < Rough().request(messages, tools)
    assert Rough().request([]) == 0


def test_media_cost_their_pixels_and_not_their_data() -> None:
    def request(data: str) -> int:
        block = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        raw = {"role": "user", "content": [{"type": "text", "text": "look"}, block]}
        media = Media("image", "image", width=8_000, height=6_000, raw=block)
        return Rough().request([raw_message(raw, Text("look"), media)])

    assert request("A" * 1_000_000) == request("") == pytest.approx(1_615, abs=10)


def test_a_changed_message_is_counted_as_it_will_be_rendered() -> None:
    message = raw_message({"role": "user", "content": "x" * 4_000}).with_parts((Text("short"),))
    assert Rough().request([message]) < 30
    assert Rough(lambda _: {"content": "y" * 398}).request([message]) == (398 + len('[{"content":""}]')) // 4


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        [{}, [], None, True, False, 0, -1.5e-7, 10**30],
        {"a": [{"b": {"c": ["x", 'quote " and \\ and \n', "é\u2028\x01"]}}], "": ()},
        {1: "a number as a key", "b": 2},
        ("a", "tuple"),
    ],
)
def test_any_shape_is_measured_as_json_writes_it(content: Any) -> None:
    raw = {"role": "user", "content": content}
    size = len(json.dumps([raw] * 4, ensure_ascii=False, separators=(",", ":")))
    assert Rough().request([raw_message(raw)] * 4) == size // 4


@pytest.mark.parametrize("odd", [{1, 2}, b"bytes", float("nan"), "\ud800", None, object])
def test_values_that_json_does_not_know_are_counted(odd: object) -> None:
    assert Rough().request([raw_message({"role": "user", "content": odd}, Text(""))]) > 0


def test_a_circular_value_is_counted() -> None:
    raw: dict[str, Any] = {"role": "user", "content": []}
    raw["content"].append(raw)
    assert Rough().request([raw_message(raw, Text(""))]) > 0
