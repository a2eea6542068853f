"""Rows B1 to B5 and B10: tool calls and their results."""

from collections.abc import Callable
from typing import Any

import pytest

from compactor.testing import assistant, call, filler, result, rounds, system, user

STUB = "[Result from earlier conversation — see context summary above]"
WIDE = {"boundaries.tail_budget_ratio": 0.1}


def test_b1_a_result_may_be_keyed_by_either_id(fold: Callable[..., Any]) -> None:
    asked = {"id": "fc_1", "call_id": "call_1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    for key in ("fc_1", "call_1"):
        tail = [user("And?"), assistant(None, asked), result(key, "ok")]
        done = fold([], tail=tail, **WIDE)
        assert done.out[-2:] == tail[1:]
        assert done.result.report.repaired.total == 0


def test_b2_blanks_around_an_id_do_not_matter(fold: Callable[..., Any]) -> None:
    tail = [user("And?"), assistant(None, call("call_1 ")), result(" call_1", "ok")]
    done = fold([], tail=tail, **WIDE)
    assert done.out[-2:] == tail[1:]
    assert done.result.report.repaired.total == 0


def test_b3_of_two_results_the_last_is_kept(fold: Callable[..., Any]) -> None:
    tail = [user("And?"), assistant(None, call("c1")), result("c1", "first"), result("c1", "second"), user("Well?")]
    done = fold([], tail=tail, **WIDE)
    assert [message["content"] for message in done.out if message["role"] == "tool"] == ["second"]
    assert done.result.report.repaired.duplicates == 1


@pytest.mark.parametrize("policy", ["hermes", "default"])
def test_b4_calls_that_wait_for_their_result_are_kept_without_a_stub(fold: Callable[..., Any], policy: str) -> None:
    waiting = assistant("Running.", call("c1"), call("c2"), call("c3", "run", {"script": filler(6000)}))
    for tail in ([user("And?"), waiting], [user("And?"), waiting, result("c1", "ok")]):
        done = fold([], tail=tail, policy=policy, **{"boundaries.tail_min_messages": 1})
        assert done.out[1 - len(tail) :] == tail[1:]
        assert STUB not in str(done.out)
        assert "And?" in str(done.out)


def test_b5_a_group_is_whole_on_one_side(fold: Callable[..., Any]) -> None:
    names = ["c1", "c2", "c3", "c4"]
    results = [result(name, filler(900)) for name in ("c3", "c1", "c4", "c2")]
    tail = [user("And?"), assistant("All at once.", *map(call, names)), *results, assistant("Done.")]
    for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
        done = fold([], tail=tail, **{"boundaries.tail_budget_ratio": share})
        kept = [message for message in done.out if message.get("tool_call_id") in names]
        asked = [message for message in done.out if message.get("tool_calls")]
        assert len(kept) in (0, 4)
        assert bool(kept) == bool(asked)
        assert done.result.report.repaired.total == 0


def test_b10_orphans_are_repaired_once_and_reported(fold: Callable[..., Any]) -> None:
    head = [result("gone", "left over"), user("Fix the build."), assistant("On it.", call("silent")), user("Well?")]
    done = fold([], head=head, **{"boundaries.protect_first_n": 4})
    assert [message["role"] for message in done.out[:4]] == ["user", "assistant", "tool", "user"]
    assert done.out[2] == {"role": "tool", "tool_call_id": "silent", "content": STUB}
    assert done.result.report.repaired.orphans == 1
    assert done.result.report.repaired.stubs == 1
    again = fold([], head=done.out[:3], **{"boundaries.protect_first_n": 3})
    assert again.result.report.repaired.total == 0


def test_calls_without_ids_are_paired_in_order(fold: Callable[..., Any]) -> None:
    nameless = {"type": "function", "function": {"name": "run", "arguments": "{}"}}
    tail = [
        user("And?"),
        assistant(None, nameless, nameless),
        {"role": "tool", "content": "a"},
        {"role": "tool", "content": "b"},
    ]
    done = fold([], tail=tail, **WIDE)
    assert done.out[-3:] == tail[1:]
    assert done.result.report.repaired.total == 0


def test_ids_that_are_used_again_in_a_later_turn_are_new_pairs(fold: Callable[..., Any]) -> None:
    turn = [assistant(None, call("call_0"), call("call_1")), result("call_0", "a"), result("call_1", "b")]
    done = fold(turn, tail=[user("And?"), *turn, assistant("Done.")], **WIDE)
    assert done.out[-4:-1] == turn
    assert done.result.report.repaired.total == 0


def test_a_late_result_goes_back_behind_its_call(fold: Callable[..., Any]) -> None:
    tail = [user("And?"), assistant(None, call("c1"), call("c2")), result("c2", "b"), user("Hurry."), result("c1", "a")]
    done = fold([], tail=tail, **WIDE)
    assert [message["content"] for message in done.out[-4:]] == [None, "b", "a", "Hurry."]
    assert done.result.report.repaired.moved == 1


def test_the_old_shape_of_function_calls_is_paired_and_stubbed(fold: Callable[..., Any]) -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "look_up", "arguments": "{}"}}
    answer = {"role": "function", "name": "look_up", "content": "found"}
    done = fold([asked, answer], tail=[user("And?"), asked, answer, assistant("Hm."), asked, user("Well?")], **WIDE)
    assert done.out[-6:-3] == [asked, answer, assistant("Hm.")]
    assert done.out[-2] == {"role": "function", "name": "look_up", "content": STUB}


def test_server_ids_do_not_confuse_the_head(fold: Callable[..., Any]) -> None:
    done = fold(rounds(3), head=[system("You are a coding agent."), user("Fix."), *rounds(1, first=9)])
    assert done.result.report.head == 4
