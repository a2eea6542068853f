"""Rows C1 to C4, C10, C12, D9, D11, E1, E2 and E6."""

from typing import Any

import pytest

from compactor.engine import Compactor
from compactor.result import CompactionResult, Outcome
from compactor.testing import ScriptedSummarizer, assistant, call, filler, rounds, system, user

POLICIES = ["hermes", "default"]


def compacted(policy: str, messages: list[dict[str, Any]], window: int = 128_000, **overrides: Any) -> CompactionResult:
    scripted = ScriptedSummarizer(["## Goal\nGo on."])
    overrides = {"window.context_length": window, **overrides}
    done = Compactor(policy, overrides=overrides, summarizer=scripted).compact(messages, force=True)
    assert done.outcome is Outcome.COMPACTED, done.reason
    return done


def says(done: CompactionResult, text: str) -> bool:
    """Whether a user message of the result says exactly this, alone or as a block beside our summary."""
    for message in done.messages:
        blocks = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        if message["role"] == "user" and text in [block.get("text") for block in blocks]:
            return True
    return False


@pytest.mark.parametrize("policy", POLICIES)
def test_c1_twenty_large_tail_messages_are_no_reason_to_do_nothing(policy: str) -> None:
    big = [user(filler(50_000)) if number % 2 else assistant(filler(50_000)) for number in range(20)]
    done = compacted(policy, [system("You help."), user("Go."), assistant("Yes."), *big])
    assert done.report.folded >= 14
    assert done.report.tokens_after < done.report.tokens_before / 2


@pytest.mark.parametrize("policy", POLICIES)
def test_c2_the_ask_before_large_results_stays_verbatim(policy: str) -> None:
    ask = user("Find out why the nightly build is slow.")
    work = rounds(3, chars=40_000, first=100)
    done = compacted(policy, [system("You help."), user("Hello."), assistant("Hi."), *rounds(6), ask, *work])
    assert says(done, ask["content"])


@pytest.mark.parametrize("policy", POLICIES)
def test_c3_one_ask_and_forty_rounds(policy: str) -> None:
    ask = user("Port the project to the new API.")
    done = compacted(policy, [system("You help."), ask, *rounds(40, chars=3000)], window=40_000)
    assert done.messages[1] == ask
    assert done.report.tokens_after < done.report.tokens_before / 2


@pytest.mark.parametrize("policy", POLICIES)
def test_c4_two_hundred_tool_turns_with_a_call_pending(policy: str) -> None:
    ask = user("Port the project to the new API.")
    pending = assistant("Next.", call("pending", "read_file", {"path": "last.py"}))
    done = compacted(policy, [ask, *rounds(200, chars=2000), pending])
    assert done.messages[0] == ask
    assert done.messages[-1] == pending
    assert done.report.tokens_after < done.report.tokens_before / 2


@pytest.mark.parametrize("policy", POLICIES)
def test_c10_the_only_user_turn_does_not_vanish(policy: str) -> None:
    ask = user("Port the project to the new API.")
    opening = [system("You help."), assistant("Hello, what can I do?"), assistant("I am ready.")]
    done = compacted(policy, [*opening, *rounds(2), ask, *rounds(60, chars=3000, first=10)], window=40_000)
    assert says(done, "Port the project to the new API.")
    assert "already worked on" in str(done.messages[done.summary_index or 0])


@pytest.mark.parametrize("policy", POLICIES)
def test_c12_our_summary_is_no_user_message_but_one_that_quotes_it_is(policy: str) -> None:
    first = compacted(policy, [user("Go."), assistant("Yes."), *rounds(60, chars=3000)], window=40_000)
    summary = first.messages[first.summary_index or 0]
    assert summary["role"] == "user"
    # The newest user message is our summary: the one before it is the newest real one, and stays.
    again = compacted(policy, [*first.messages, *rounds(60, chars=3000, first=100)], window=40_000)
    assert says(again, "Go.")
    # Somebody quotes the summary: that is a user message like any other, and now the newest.
    quoting = user(f"What does this mean?\n\n{summary['content']}\n\nPlease explain.")
    done = compacted(policy, [*first.messages, quoting, *rounds(60, chars=3000, first=100)], window=40_000)
    assert says(done, quoting["content"])


def test_d9_template_syntax_in_messages_stays_literal() -> None:
    scripted = ScriptedSummarizer(["## Goal\nKeep {{ 7*7 }} and {% raw %}."])
    nasty = "{{ 7*7 }} {% raw %} {# gone #} {{ summary }} ${x} {0}"
    messages = [user(nasty), assistant("Hm."), *rounds(30, chars=2000), user(nasty), assistant(nasty)]
    compactor = Compactor("default", overrides={"window.context_length": 12_000}, summarizer=scripted)
    done = compactor.compact([*messages, *rounds(20, chars=2000, first=50), user("Go on.")], focus=nasty)
    assert done.outcome is Outcome.COMPACTED, done.reason
    assert scripted.requests[0].prompt.count(nasty) == 3
    assert "Keep {{ 7*7 }} and {% raw %}." in str(done.messages)


@pytest.mark.parametrize("policy", POLICIES)
def test_d11_after_a_restart_the_summary_in_the_transcript_is_updated(policy: str) -> None:
    overrides = {"window.context_length": 40_000}
    once = Compactor(policy, overrides=overrides, summarizer=ScriptedSummarizer(["## Goal\nThe first summary."]))
    first = once.compact([system("You help."), user("Go."), assistant("Yes."), *rounds(60, chars=3000)], force=True)
    scripted = ScriptedSummarizer(["## Goal\nThe second summary."])
    restarted = Compactor(policy, overrides=overrides, summarizer=scripted)
    done = restarted.compact([*first.messages, *rounds(60, chars=3000, first=100), user("Next.")], force=True)
    assert done.outcome is Outcome.COMPACTED, done.reason
    assert scripted.requests[0].previous == "## Goal\nThe first summary."
    assert done.report.compaction_count == 2
    assert str(done.messages).count("[CONTEXT COMPACTION]") == 1
    assert str(done.messages).count("[compactor v1 note]") == 1
    assert "The first summary" not in str(done.messages)


def test_e1_few_messages_can_fill_a_window() -> None:
    big = [user(filler(1_300_000)) if number % 2 else assistant(filler(1_300_000)) for number in range(7)]
    decision = Compactor("default").check([*big, user("Go on.")])
    assert decision.due
    assert decision.rule == "tokens"
    assert decision.variables["tokens"] > 1_300_000


@pytest.mark.parametrize("policy", POLICIES)
def test_e2_tool_schemas_and_system_prompt_count(policy: str) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": filler(400)}}}
    tools = [
        {"type": "function", "function": {"name": f"tool_{number}", "description": filler(300), "parameters": schema}}
        for number in range(50)
    ]
    compactor = Compactor(policy)
    chat = [user("Hello."), assistant("Hi.")]
    alone = compactor.check(chat).variables["tokens"]
    with_tools = compactor.check(chat, tools=tools).variables["tokens"]
    with_system = compactor.check(chat, system=filler(8000), tools=tools).variables["tokens"]
    assert with_tools > alone + 7000
    assert with_system > with_tools + 1000


def test_e6_an_unknown_model_gets_the_stated_window_and_a_number_always_wins() -> None:
    unknown = Compactor("default", model="somebody/else-9000").compact([user("Hello.")])
    assert unknown.report.window == 128_000
    assert "somebody/else-9000" in unknown.report.window_source
    assert len([warning for warning in unknown.report.warnings if "window" in warning]) == 1
    for model in ("somebody/else-9000", "gpt-4o"):
        stated = Compactor("default", model=model, overrides={"window.context_length": 50_000})
        assert stated.compact([user("Hello.")]).report.window == 50_000
        assert not [warning for warning in stated.compact([user("Hello.")]).report.warnings if "window" in warning]
    assert Compactor("default", model="openai/gpt-4o").limits.window.known
