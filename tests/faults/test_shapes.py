"""Rows A1 to A12: odd shapes of messages."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from compactor.engine import Compactor
from compactor.testing import assistant, call, filler, result, rounds, system, user

PNG = (
    "data:image/png;base64,"
    + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8) + b"\0\0\3 \0\0\2X" + bytes(300_000)).decode()
)
IMAGE = {"type": "image_url", "image_url": {"url": PNG}}
TEXT = {"type": "text", "text": "What is in this picture?"}


def test_a1_no_content_in_the_folded_region(fold: Callable[..., Any]) -> None:
    done = fold([assistant(None, call("c1", "run", {"command": "make"})), result("c1", "ok")])
    assert '[ASSISTANT]: \n[Tool calls:\n  run({"command": "make"})\n]' in done.prompt
    assert "None" not in done.prompt.split("<turns")[1].split("</turns")[0]


def test_a2_note_and_summary_become_blocks_of_a_list(fold: Callable[..., Any]) -> None:
    prompt = [{"type": "text", "text": "You are a coding agent.", "cache_control": {"type": "ephemeral"}}]
    ask = [{"type": "text", "text": "And the tests?"}]
    head = [system(prompt), user("Fix the build."), assistant("On it.")]
    done = fold([], head=head, tail=[user(ask), assistant("They pass.")])
    system_blocks, user_blocks = done.out[0]["content"], done.out[3]["content"]
    assert system_blocks[0] == prompt[0]
    assert system_blocks[1]["text"].endswith("[compactor v1 note]")
    assert [block["type"] for block in user_blocks] == ["text", "text"]
    assert user_blocks[0]["text"].startswith("[CONTEXT COMPACTION]")
    assert user_blocks[1] == ask[0]


def test_a3_images_are_labelled_and_cost_what_images_cost(fold: Callable[..., Any]) -> None:
    done = fold([user([TEXT, IMAGE]), assistant("A chart.")])
    assert "What is in this picture?\n[image: image/png, 300,024 bytes, 800x600 pixels]" in done.prompt
    assert "base64" not in done.prompt
    counted = [Compactor(policy).check([user([TEXT, IMAGE])]).variables["tokens"] for policy in ("hermes", "default")]
    assert all(600 < tokens < 800 for tokens in counted), counted


@pytest.mark.parametrize("value", [{"a": {"b": [1]}}, True, None, 3, [1, "x"], "plain"])
def test_a4_argument_values_of_any_kind(fold: Callable[..., Any], value: Any) -> None:
    done = fold([assistant(None, call("c1", "run", json.dumps({"argument": value}))), result("c1", "ok")])
    assert json.dumps({"argument": value}) in done.prompt


@pytest.mark.parametrize(
    "given",
    [
        {"id": "c1", "type": "function", "function": {"name": "run", "arguments": None}},
        {"id": "c1", "type": "function", "function": None},
        {"id": "c1", "type": "function"},
        {"id": "c1", "function": {"name": None, "arguments": None}},
    ],
)
def test_a5_calls_without_arguments_or_function(fold: Callable[..., Any], given: Any) -> None:
    done = fold([assistant("Hm.", given), result("c1", "ok")])
    name = (given.get("function") or {}).get("name") or "?"
    assert f"  {name}()\n" in done.prompt


def test_a6_no_empty_list_of_calls_on_touched_messages(fold: Callable[..., Any]) -> None:
    # The call never got a result and the policy removes such calls: the message is touched, its text stays.
    tail = [user("And?"), assistant("Looking.", call("lost")), user("Well?")]
    done = fold([], tail=tail, **{"assembly.orphan_calls": "drop", "boundaries.tail_budget_ratio": 0.05})
    assert done.out[-2] == {"role": "assistant", "content": "Looking."}
    # And one that arrived with an empty list, untouched, is as it came.
    kept = {**assistant("Fine."), "tool_calls": []}
    assert fold([], tail=[user("And?"), kept]).out[-1] is not None
    assert fold([], tail=[user("And?"), kept]).out[-1] == kept


def test_a7_blank_texts_are_not_emitted_nor_summarised(fold: Callable[..., Any]) -> None:
    blank = {"type": "text", "text": "  "}
    head = [system("You are a coding agent."), user("Fix the build."), assistant("On it.")]
    done = fold([user([blank, TEXT]), assistant("A chart.")], head=head, tail=[user([blank, TEXT]), assistant("Yes.")])
    assert "[USER]: What is in this picture?\n" in done.prompt
    assert [block["text"] for block in done.out[3]["content"]][1:] == [TEXT["text"]]


@pytest.mark.parametrize(
    "part",
    [{"type": "hologram", "data": 1}, {"type": {"odd": 1}}, {"type": ["x"]}, {"no": "type"}, 7, None, True, ["nested"]],
)
def test_a8_unknown_parts_are_kept_when_kept_and_named_when_folded(fold: Callable[..., Any], part: Any) -> None:
    done = fold([user([part, TEXT]), assistant("Hm.")], tail=[user([TEXT, part]), assistant("Yes.")])
    assert done.out[3]["content"][-1] == part
    assert "What is in this picture?" in done.prompt
    if isinstance(part, dict) and part.get("type") == "hologram":
        assert "[hologram]" in done.prompt


def test_a9_surrogates_and_cuts_through_emoji(fold: Callable[..., Any]) -> None:
    text = "\ud83d" + "🙂" * 7000 + "\udc00"
    done = fold([assistant(None, call("c1")), result("c1", text)], **{"summary.view": "original"})
    done.prompt.encode("utf-8")
    assert "🙂\n...[truncated]...\n🙂" in done.prompt
    for message in done.out:
        str(message).encode("utf-8")


def test_a10_all_system_messages_survive_in_order(fold: Callable[..., Any]) -> None:
    head = [system("One."), system("Two."), user("Fix the build."), assistant("On it.")]
    middle = [user("More."), system("In the middle."), assistant("Sure.")]
    done = fold(middle, head=head, **{"boundaries.protect_first_n": 4})
    texts = [message["content"].split("\n")[0] for message in done.out if message["role"] == "system"]
    assert texts == ["One.", "Two.", "In the middle."]
    assert "In the middle." not in done.prompt


def test_a11_developer_is_a_system_role(fold: Callable[..., Any]) -> None:
    head = [{"role": "developer", "content": "You are a coding agent."}, *rounds(0), user("Fix."), assistant("On it.")]
    done = fold([user("More."), {"role": "developer", "content": "Be brief."}, assistant("Sure.")], head=head)
    assert done.out[0]["content"].endswith("[compactor v1 note]")
    assert [message["content"] for message in done.out if message["role"] == "developer"][1] == "Be brief."


def test_a12_private_keys_stay_where_they_are(fold: Callable[..., Any]) -> None:
    ask = {**user("And the tests?"), "_persisted": True, "name": "ann", "cache_control": {"type": "ephemeral"}}
    reply = {**assistant("They pass."), "refusal": None, "annotations": []}
    done = fold([], tail=[ask, reply])
    assert done.out[-1] == reply
    kept = done.out[-2]
    assert {key: kept[key] for key in ask if key != "content"} == {key: ask[key] for key in ask if key != "content"}
    known = {"role", "content", "tool_calls", "tool_call_id"}
    for message in done.out[:-2]:
        assert set(message) <= known


def test_a12_pruned_results_keep_their_keys(fold: Callable[..., Any]) -> None:
    old = {**result("c1", filler(3000)), "_cost": 3, "is_error": False}
    head = [system("You are a coding agent."), user("Fix."), assistant(None, call("c1"))]
    done = fold([], head=[*head, old])
    assert done.out[3] == {**old, "content": "[Old tool output cleared to save context space]"}
