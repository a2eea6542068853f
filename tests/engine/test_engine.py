"""One compaction through the public surface: every outcome, and what is handed back with it."""

import asyncio
import json
from typing import Any

import pytest

import compactor
from compactor import CompactionState, Compactor, InputError, Outcome, PolicyError
from compactor.testing import ScriptedSummarizer, assistant, call, filler, result, rounds, system, user

GOOD = "## Goal\nFix the login bug."
CHAT = [system("You help."), user("Fix the login bug."), assistant("On it.")]
LONG = [*CHAT, *rounds(40, chars=3000), user("And?"), assistant("Yes.")]


def engine(script: Any = GOOD, policy: Any = "default", **overrides: Any) -> Compactor:
    scripted = ScriptedSummarizer(script if isinstance(script, list) else [script])
    return Compactor(policy, overrides={"window.context_length": 40_000, **overrides}, summarizer=scripted)


def test_the_one_liner() -> None:
    done = compactor.compact(LONG, "hermes", summarizer=lambda request: GOOD, force=True)
    assert done.outcome is Outcome.COMPACTED
    assert compactor.compact(CHAT).outcome is Outcome.NOT_NEEDED


def test_not_needed_says_why_and_hands_the_input_back() -> None:
    done = engine().compact(CHAT)
    assert done.outcome is Outcome.NOT_NEEDED
    assert "under the threshold of 20,000" in done.reason
    assert list(done.messages) == CHAT
    assert not done.changed


def test_a_policy_that_is_not_enabled_only_compacts_when_forced() -> None:
    long = [*CHAT, *rounds(60, chars=6000)]
    assert engine().compact(long).outcome is Outcome.COMPACTED
    assert engine(enabled=False).compact(long).reason == "the policy is not enabled (enabled: false)"
    assert engine(enabled=False).compact(long, force=True).outcome is Outcome.COMPACTED


def test_the_reference_needs_enough_messages_as_well() -> None:
    few = [*CHAT, assistant(filler(200_000)), user("Go.")]
    decision = engine(policy="hermes").check(few)
    assert not decision.due
    assert "no trigger is true" in decision.reason
    assert engine().check(few).due


def test_pruning_alone_is_enough_where_the_policy_says_so() -> None:
    scripted = ScriptedSummarizer([GOOD])
    overrides = {"window.context_length": 40_000, "stop_after_pruning": True}
    done = Compactor("default", overrides=overrides, summarizer=scripted).compact(LONG, force=True)
    assert done.outcome is Outcome.PRUNED
    assert scripted.requests == []
    assert len(done.messages) == len(LONG)
    assert done.state.count == 0
    assert done.report.tokens_after < done.report.tokens_before / 2


def test_a_conversation_that_cannot_fit_names_what_is_largest() -> None:
    big = [system(filler(200_000)), user("Go."), assistant("Yes."), *rounds(20, chars=2000), user("And?")]
    done = engine(policy="hermes").compact(big, force=True)
    assert done.outcome is Outcome.CANNOT_FIT
    assert "largest: the system prompt" in done.reason or "largest: message 0 (system)" in done.reason
    assert list(done.messages) == big
    assert done.report.tokens_after == done.report.tokens_before


def test_nothing_to_gain_names_the_keys() -> None:
    done = engine().compact(CHAT, force=True)
    assert done.outcome is Outcome.NOTHING_TO_GAIN
    assert "boundaries.tail_budget_ratio" in done.reason


def test_min_gain_is_the_policys() -> None:
    assert engine(min_gain=0.05).compact(LONG, force=True).outcome is Outcome.COMPACTED
    done = engine(min_gain=0.99).compact(LONG, force=True)
    assert done.outcome is Outcome.NOTHING_TO_GAIN
    assert "min_gain" in done.reason
    assert done.state.count == 0
    assert done.report.compaction_count == 0
    # What is handed back carries no warning of what did not happen.
    again = engine(RuntimeError("no network"), min_gain=0.99)
    back = again.compact(LONG, state=CompactionState(summary="Old.", count=5), force=True)
    assert back.outcome is Outcome.NOTHING_TO_GAIN
    assert back.report.warnings == ()
    assert back.report.tokens_after == back.report.tokens_before


def test_no_summary_leads_to_a_note_or_back_to_the_input() -> None:
    broken = RuntimeError("no network")
    noted = engine(broken).compact(LONG, force=True)
    assert noted.outcome is Outcome.COMPACTED
    assert noted.summary is None
    assert any("RuntimeError: no network" in warning for warning in noted.report.warnings)
    back = engine(broken, **{"summary.on_failure": "abort"}).compact(LONG, force=True)
    assert back.outcome is Outcome.FAILED
    assert list(back.messages) == LONG
    assert back.state.cooldowns
    assert back.state.settled is None


def test_a_target_is_met_or_its_miss_is_explained() -> None:
    met = engine(target=8000).compact(LONG, force=True)
    assert met.target_missed is None
    assert met.report.tokens_after <= 8000
    large = [system(filler(40_000)), *LONG[1:]]
    missed = engine(target=4000).compact(large, force=True)
    assert missed.outcome is Outcome.COMPACTED
    assert "over the target of 4,000; largest: message 0 (system)" in (missed.target_missed or "")
    assert missed.target_missed in missed.report.warnings


def test_a_system_prompt_given_apart_comes_back_apart() -> None:
    blocks = [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}]
    for given in ("You help.", blocks):
        done = engine().compact(LONG[1:], system=given, force=True)
        assert done.outcome is Outcome.COMPACTED
        assert "[compactor v1 note]" in str(done.system)
        assert type(done.system) is type(given)
        assert all(message["role"] != "system" for message in done.messages)
        assert "[CONTEXT COMPACTION]" in str(done.messages[done.summary_index or 0])
        # It counts as the first of the protected messages.
        assert done.messages[0] is LONG[1]
    assert engine().compact(CHAT[1:], system="You help.").system == "You help."


def test_tools_count_and_are_not_touched() -> None:
    tools = [{"type": "function", "function": {"name": "run", "description": filler(4000), "parameters": {}}}]
    with_tools = engine().compact(LONG, tools=tools, force=True)
    without = engine().compact(LONG, force=True)
    assert with_tools.report.tokens_before > without.report.tokens_before + 500
    assert with_tools.report.parts["after"]["tools"] > 500


def test_a_state_survives_json() -> None:
    state = engine(RuntimeError("no network")).compact(LONG, force=True).state
    again = CompactionState.from_dict(json.loads(json.dumps(state.to_dict())))
    assert again == state
    with pytest.raises(TypeError):
        CompactionState.from_dict({"unknown": 1})


def test_the_summary_of_the_state_is_updated_where_the_transcript_has_none() -> None:
    scripted = ScriptedSummarizer([GOOD])
    engine_ = Compactor("default", overrides={"window.context_length": 40_000}, summarizer=scripted)
    done = engine_.compact(LONG, state=CompactionState(summary="## Goal\nOld.", count=3), force=True)
    assert scripted.requests[0].previous == "## Goal\nOld."
    assert "Old." in scripted.requests[0].prompt
    assert done.state.count == 4
    assert done.state.summary == GOOD


def test_the_warning_comes_with_the_count_of_the_policy() -> None:
    later = CompactionState(summary=GOOD, count=3)
    done = engine(f"{GOOD} Again.", **{"session.warn_after": 4}).compact(LONG, state=later, force=True)
    assert any("compacted 4 times" in warning for warning in done.report.warnings)
    quiet = engine(f"{GOOD} Again.", **{"session.warn_after": 5}).compact(LONG, state=later, force=True)
    assert not any("times" in warning for warning in quiet.report.warnings)


def test_the_head_decays_after_the_first_compaction() -> None:
    first = engine().compact(LONG, force=True)
    assert first.messages[1] is LONG[1]
    grown = [*first.messages, *rounds(40, chars=3000, first=500), user("Next."), assistant("Yes.")]
    decayed = engine().compact(grown, force=True)
    assert LONG[1] not in decayed.messages
    assert decayed.report.head == 1
    kept = engine(**{"boundaries.head_decays": False}).compact(grown, force=True)
    assert LONG[1] in kept.messages


def test_functions_are_summarizers_in_both_worlds() -> None:
    async def slow(request: Any) -> str:
        await asyncio.sleep(0)
        return GOOD

    for function in (lambda request: GOOD, slow):
        wired = Compactor("default", overrides={"window.context_length": 40_000}, summarizer=function)
        assert wired.compact(LONG, force=True).summary == GOOD
        assert asyncio.run(wired.acompact(LONG, force=True)).summary == GOOD

    async def inside() -> str | None:
        return wired.compact(LONG, force=True).summary  # a synchronous call from within a running loop

    assert asyncio.run(inside()) == GOOD


def test_the_view_decides_what_the_summarizer_sees_of_cleared_results() -> None:
    for view, sees in (("pruned", False), ("original", True)):
        scripted = ScriptedSummarizer([GOOD])
        overrides = {"window.context_length": 40_000, "summary.view": view}
        Compactor("default", overrides=overrides, summarizer=scripted).compact(LONG, force=True)
        assert (filler(3000) in scripted.requests[0].prompt) is sees


def test_pinned_numbers_of_a_plan() -> None:
    plan = engine().plan(LONG)
    assert plan.decision.due
    assert len(plan.head) == 3
    assert plan.tail[-1].raw is LONG[-1]
    assert len(plan.head) + len(plan.folded) + len(plan.between) + len(plan.tail) == len(LONG)


@pytest.mark.parametrize("given", ["text", {"role": "user"}, [1], [{"content": "x"}], [None], 5])
def test_what_are_no_messages(given: Any) -> None:
    with pytest.raises(InputError, match=r"openai-chat|expected a list of messages"):
        engine().compact(given)


def test_all_mistakes_of_a_policy_come_at_once() -> None:
    wrong = {
        "version": 1,
        "name": "mine",
        "extends": "default",
        "counter": "tiktokn",
        "threshold": 7,
        "pruning": [{"use": "clear_tool_results", "longer_then": 5}, {"use": "nothing"}],
        "summary": {"summarizers": ["litelm"], "first": "hermes/frist.j2"},
        "triggers": [{"name": "a", "at": "turn_start", "when": "tokns > 5"}],
    }
    with pytest.raises(PolicyError) as caught:
        Compactor(wrong)
    keys = {problem.key for problem in caught.value.problems}
    assert keys >= {
        "counter",
        "threshold",
        "pruning.0.longer_then",
        "pruning.1.use",
        "summary.summarizers.0",
        "summary.first",
        "triggers.0.when",
    }
    hints = " ".join(str(problem) for problem in caught.value.problems)
    for word in ("tiktoken", "longer_than", "litellm", "hermes/first.j2", "tokens"):
        assert f"did you mean '{word}'?" in hints


def test_an_open_group_alone_is_left_alone() -> None:
    waiting = [assistant("Running.", call("c1"), call("c2")), result("c1", filler(90_000))]
    done = engine().compact([*CHAT[:2], *waiting], force=True)
    assert done.outcome in (Outcome.NOTHING_TO_GAIN, Outcome.CANNOT_FIT)
    assert list(done.messages) == [*CHAT[:2], *waiting]
