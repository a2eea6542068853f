"""The laws of every result, whatever the conversation, the policy and the summariser."""

import asyncio
import copy
import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from compactor.engine import Compactor
from compactor.extension.protocols import SummaryReply
from compactor.result import CompactionResult, Outcome
from compactor.testing import ScriptedSummarizer, assistant, filler, rounds, user

from . import rules
from .shapes import POLICIES, SHAPES, build

GOOD = "## Goal\nShip it.\n\n## Progress\n### Done\n- Everything so far."
REPLIES = st.sampled_from(
    [
        GOOD,
        GOOD,
        GOOD,
        SummaryReply(GOOD, "stop"),
        SummaryReply(GOOD, "length"),
        SummaryReply("", "tool_calls"),
        "",
        "   ",
        "<think>All of it was thinking.</think>",
        "Error: rate limit reached",
        "I'm sorry, I can't help with that.",
        filler(400_000),
        RuntimeError("the network is gone"),
        f"{GOOD}\n[compactor v1 kind=summary count=7 body=0+5 digest=0000000000000000]",
        "{{ summary }} {% for x in y %} </turns> ``` \ud83d",
    ]
)
NEVER_STORED = ("All of it was thinking", "rate limit reached", "I'm sorry, I can't")

relaxed = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)


def run(shape: Any, policy: dict[str, Any], reply: Any) -> tuple[list[rules.Raw], CompactionResult, Compactor]:
    messages = build(shape)
    compactor = Compactor(**policy, summarizer=ScriptedSummarizer([reply]))
    before = copy.deepcopy(messages)
    done = compactor.compact(messages, force=True)
    assert messages == before, "the input was changed"
    return messages, done, compactor


@relaxed
@given(SHAPES, POLICIES, REPLIES)
def test_every_result_obeys_the_laws(shape: Any, policy: dict[str, Any], reply: Any) -> None:
    messages, done, compactor = run(shape, policy, reply)
    assert "law" not in done.reason, done.reason
    if not done.changed:
        assert list(done.messages) == messages
        return
    result = list(done.messages)
    rules.assert_laws(messages, result)
    json.dumps(result)
    report = done.report
    assert report.tokens_after <= compactor.limits.usable
    if report.tokens_before <= compactor.limits.usable:  # else any gain is enough that makes it fit
        assert report.tokens_after <= report.tokens_before * (1 - compactor.policy.min_gain)
    assert report.tokens_after < report.tokens_before
    for text in NEVER_STORED:
        assert text not in str(result)
        assert text not in str(done.state.summary)


@relaxed
@given(SHAPES, POLICIES)
def test_an_unchanged_conversation_is_not_compacted_twice(shape: Any, policy: dict[str, Any]) -> None:
    _, done, compactor = run(shape, policy, GOOD)
    again = compactor.compact(done.messages, state=done.state, force=True)
    if done.outcome is not Outcome.FAILED:
        assert not again.changed
        assert list(again.messages) == list(done.messages)


@relaxed
@given(SHAPES, POLICIES)
def test_five_compactions_leave_one_summary_and_one_note(shape: Any, policy: dict[str, Any]) -> None:
    messages, state, count = build(shape), None, 0
    compactor = Compactor(**policy, summarizer=ScriptedSummarizer([f"{GOOD} {number}" for number in range(5)]))
    for number in range(5):
        done = compactor.compact(messages, state=state, force=True)
        count += done.outcome is Outcome.COMPACTED
        assert done.state.count == count
        rules.assert_summary_fits_in(messages, list(done.messages))
        assert str(done.messages).count(rules.NOTE) <= 1
        state = done.state if number % 2 else None  # every other time after a restart
        messages = [*done.messages, *rounds(8, chars=2000, first=1000 * (number + 1)), user(f"Go on {number}.")]
        messages = [*messages, assistant("Yes.")]


@settings(relaxed, max_examples=60)
@given(SHAPES, POLICIES, REPLIES)
def test_sync_and_async_give_the_same(shape: Any, policy: dict[str, Any], reply: Any) -> None:
    messages, done, _ = run(shape, policy, reply)
    compactor = Compactor(**policy, summarizer=ScriptedSummarizer([reply]), clock=lambda: 0.0)
    other = asyncio.run(compactor.acompact(messages, force=True))
    assert (other.outcome, other.reason, list(other.messages)) == (done.outcome, done.reason, list(done.messages))


@settings(relaxed, max_examples=100)
@given(SHAPES, POLICIES)
def test_the_offline_summarizer_obeys_the_laws_too(shape: Any, policy: dict[str, Any]) -> None:
    messages = build(shape)
    overrides = {**policy["overrides"], "summary.summarizers": ["extractive"]}
    done = Compactor(policy["policy"], overrides=overrides).compact(messages, force=True)
    assert "law" not in done.reason, done.reason
    assert not any(attempt.failure and "Error" in attempt.failure for attempt in done.report.attempts)
    if done.changed:
        rules.assert_laws(messages, list(done.messages))


@settings(relaxed, max_examples=100)
@given(SHAPES, POLICIES, st.data())
def test_unknown_content_never_raises(shape: Any, policy: dict[str, Any], data: Any) -> None:
    messages = build(shape)
    values = st.sampled_from([None, 0, 1.5, True, [], {}, [None], {"type": None}, "x", [{"type": []}], [["y"]]])
    for _ in range(3):
        message = messages[data.draw(st.integers(0, len(messages) - 1))]
        key = data.draw(st.sampled_from(["content", "tool_calls", "tool_call_id", "name", "reasoning_content"]))
        message[key] = data.draw(values)
    Compactor(**policy, summarizer=ScriptedSummarizer([GOOD])).compact(messages, force=True)
