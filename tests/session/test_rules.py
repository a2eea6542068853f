"""Trigger rules: when each is asked, what it looks at, and what it changes about a compaction."""

from typing import Any

import pytest

from compactor import Compactor, Outcome, PolicyError, Session, Usage
from compactor.testing import ScriptedSummarizer, assistant, filler, result, rounds, system, user

Raw = dict[str, Any]
GOOD = "## Goal\nShip it."
PICTURE = "data:image/png;base64," + "A" * 4_000_000


def compactor(*triggers: Raw, reply: Any = GOOD, **overrides: Any) -> Compactor:
    changed = {"window.context_length": 8_000, "counter": "estimate", **overrides}
    if triggers:
        changed["triggers"] = [{"name": f"rule_{place}", **trigger} for place, trigger in enumerate(triggers)]
    return Compactor("default", overrides=changed, summarizer=ScriptedSummarizer([reply]), environ={})


def chat(turns: int = 20, chars: int = 2_000) -> list[Raw]:
    said = [[user(f"Ask {turn}. {filler(chars)}"), assistant(filler(chars))] for turn in range(turns)]
    return [system("You help."), *(message for turn in said for message in turn), user("And now?")]


def image(url: str = PICTURE) -> Raw:
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.mark.parametrize(
    ("asked", "at", "rule"),
    [
        ("turn_start", "turn_start", "rule_0"),
        ("turn_start", "tool_results", None),
        ("tool_results", "turn_start", None),
        ("tool_results", "tool_results", "rule_0"),
        ("before_call", "turn_start", "rule_0"),
        ("before_call", "tool_results", "rule_0"),
    ],
)
def test_a_rule_is_asked_at_its_moment(asked: str, at: Any, rule: str | None) -> None:
    decision = compactor({"at": asked, "when": "tokens > 0"}).check([user("Hello.")], at=at)
    assert decision.rule == rule
    assert decision.due is (rule is not None)


def test_the_first_rule_that_is_true_wins() -> None:
    rules = [
        {"at": "before_call", "when": "message_count > 100"},
        {"at": "before_call", "when": "message_count > 1"},
        {"at": "before_call", "when": "tokens > 0"},
    ]
    assert compactor(*rules).check([user("a"), assistant("b"), user("c")]).rule == "rule_1"


def test_rules_for_the_background_are_asked_last() -> None:
    rules = [
        {"at": "before_call", "when": "tokens > 0", "background": True},
        {"at": "before_call", "when": "message_count > 2"},
    ]
    assert compactor(*rules).check([user("a")]).background
    assert compactor(*rules).check([user("a"), assistant("b"), user("c")]).rule == "rule_1"


def test_a_condition_that_cannot_be_computed_is_not_true() -> None:
    rules = [{"at": "before_call", "when": "tokens / reported_tokens > 2"}, {"at": "before_call", "when": "tokens > 0"}]
    assert compactor(*rules).check([user("a")]).rule == "rule_1"
    decision = compactor(rules[0]).check([user("a")])
    assert not decision.due
    assert "'rule_0': the condition cannot be computed: division by zero" in decision.reason


@pytest.mark.parametrize(
    ("overrides", "messages", "reason"),
    [
        ({}, [user("a")], "under the threshold of 4,000"),
        ({"enabled": False}, [user("a")], "not enabled"),
        ({"triggers": []}, chat(), "the policy has none for turn_start"),
        (
            {"triggers": [{"name": "many", "at": "turn_start", "when": "message_count > 999"}]},
            chat(),
            "no trigger is true ('many': message_count > 999)",
        ),
    ],
)
def test_why_nothing_is_due(overrides: Raw, messages: list[Raw], reason: str) -> None:
    decision = compactor(**overrides).check(messages)
    assert not decision.due
    assert reason in decision.reason


def test_a_rule_can_have_a_target_of_its_own() -> None:
    window = {"window.context_length": 20_000}
    small = compactor({"at": "before_call", "when": "tokens > 0", "target": 1_500}, **window).compact(chat())
    usual = compactor({"at": "before_call", "when": "tokens > 0"}, **window).compact(chat())
    assert small.report.target_tokens == 1_500
    assert usual.report.target_tokens == 5_000
    assert small.report.tokens_after < usual.report.tokens_after <= 5_000


def test_a_rule_for_force_changes_a_forced_compaction() -> None:
    rules = [{"at": "manual", "when": "message_count > 100"}, {"at": "manual", "target": 1_200}]
    done = compactor(*rules).compact(chat(), force=True)
    assert (done.report.trigger, done.report.target_tokens) == ("rule_1", 1_200)
    assert not compactor(*rules).check(chat()).due
    assert compactor().compact(chat(), force=True).report.trigger == "forced"


def test_a_rule_can_prune_and_nothing_else() -> None:
    rule = {"at": "before_call", "when": "tokens > 0", "prune": ["clear_tool_results"], "prune_only": True}
    old = [user("Read it."), *rounds(6, chars=8_000), assistant("Read."), user("And?")]
    done = compactor(rule, reply=RuntimeError("nobody asks")).compact(old)
    assert done.outcome is Outcome.PRUNED
    assert done.report.attempts == ()
    assert done.report.pruned > 0
    nothing = compactor(rule).compact([user("Hello."), assistant("Hi.")])
    assert (nothing.outcome, nothing.reason) == (Outcome.NOTHING_TO_GAIN, "there is nothing to prune")


def test_e10_few_tokens_and_a_large_body() -> None:
    messages = [user([{"type": "text", "text": "Look."}, image()]), assistant("A cat."), user("What breed?")]
    guarded = compactor()
    decision = guarded.check(messages)
    assert (decision.rule, decision.variables["images"]) == ("large_body", 1)
    assert decision.variables["tokens"] < 2_000
    assert decision.variables["bytes"] > 4_000_000
    assert 2_900_000 < decision.variables["media_bytes"] < 3_100_000
    kept = guarded.compact(messages)
    assert kept.outcome is Outcome.NOTHING_TO_GAIN, "the newest picture is what they talk about"
    messages += [assistant("Persian."), user([{"type": "text", "text": "And this?"}, image()])]
    done = guarded.compact(messages)
    assert done.outcome is Outcome.PRUNED
    assert done.messages[0]["content"][1] == {"type": "text", "text": "[image removed to save space]"}
    assert done.messages[-1] is messages[-1]
    assert not guarded.check(done.messages, state=done.state).variables["bytes"] > 6_000_000


def test_many_images_are_due_whatever_they_weigh() -> None:
    small = "data:image/png;base64,iVBORw0KGgo="
    shots = [message for n in range(50) for message in (user([image(small)]), assistant(f"Shot {n}."))]
    assert compactor(**{"window.context_length": 10_000_000}).check(shots).rule == "large_body"


def test_media_in_tool_results_are_cleared_with_their_ids_kept() -> None:
    shot = [{"type": "text", "text": "done"}, image()]
    messages = [user("Take shots."), *rounds(1), *rounds(1, first=1), user("Go on.")]
    messages[2] = result("call_0", shot)
    messages[4] = result("call_1", shot)
    done = compactor().compact(messages)
    assert done.outcome is Outcome.PRUNED
    assert done.messages[2] == result("call_0", [shot[0], {"type": "text", "text": "[image removed to save space]"}])
    assert done.messages[4] is messages[4]


@pytest.mark.parametrize("reserve", [0, 4_096, 16_384, 200_000, 10**9])
@pytest.mark.parametrize("threshold", [0.5, 0.99, 60_000, 16_384])
def test_e7_the_trigger_stays_within_a_small_window(reserve: int, threshold: Any) -> None:
    overrides = {"window.context_length": 16_384, "window.output_reserve": reserve, "threshold": threshold}
    limits = compactor(**overrides).limits
    assert 0 < limits.threshold < limits.usable <= 16_384
    assert limits.usable >= 16_384 // 2


def test_a_threshold_beyond_the_window_is_told() -> None:
    done = compactor(threshold=60_000).compact([user("Hello.")])
    told = "the threshold (60,000 tokens) lies beyond the usable window of 8,000; 7,600 is used"
    assert told in done.report.warnings


@pytest.mark.parametrize(
    ("trigger", "problem"),
    [
        ({"at": "turn_start"}, "triggers.0: the key 'when' is missing"),
        ({"at": "error"}, "triggers.0: a rule at 'error' needs the kind of 'error'"),
        ({"at": "error", "error": "rate_limit"}, "triggers.0.error: expected 'context_overflow'"),
        ({"at": "turn_start", "when": "tokens > 1", "error": "context_overflow"}, "triggers.0.error: only a rule at"),
        ({"at": "turn_start", "when": "tokens > 1", "window": {"at_most": 5}}, "triggers.0.window: only a rule at"),
        ({"at": "manual", "background": True}, "triggers.0.background: nothing can go on in the background"),
        ({"at": "turn_start", "when": "attempt > 1"}, "triggers.0.when: unknown variable 'attempt'"),
        ({"at": "turn_start", "when": "tokens > 1", "prune": ["clear_medias"]}, "triggers.0.prune.0: unknown pruner"),
        (
            {"at": "turn_start", "when": "tokens > 1", "prune": [{"use": "clear_media", "keep": 1}]},
            "triggers.0.prune.0.keep: unknown option",
        ),
    ],
)
def test_rules_that_make_no_sense_are_refused(trigger: Raw, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        compactor(trigger)
    assert problem in str(caught.value)


def test_probe_tiers_have_to_fall() -> None:
    with pytest.raises(PolicyError, match="each smaller than the one before"):
        compactor(**{"window.probe_tiers": [8_000, 16_000]})


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 5_000},
        {"input_tokens": 1_000, "cache_read_input_tokens": 3_500, "cache_creation_input_tokens": 500},
        {"inputTokens": 1_000, "cacheReadInputTokens": 4_000},
        {"prompt_token_count": 5_000, "cached_content_token_count": 4_000},
        {"promptTokenCount": 5_000},
        {"prompt_eval_count": 5_000},
        Usage(5_000),
    ],
)
def test_the_figure_of_the_provider_wins(usage: Any) -> None:
    messages = [user("Hello."), assistant("Hi."), user("And?")]
    numbers = compactor().check(messages, usage=usage).variables
    assert numbers["reported_tokens"] == 5_000
    assert 5_000 < numbers["tokens"] < 5_020
    assert numbers["estimated_tokens"] < 40
    assert compactor().check(messages, usage=usage).due


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": True}, {"prompt_tokens": -5}, "5"],
)
def test_e3_usage_that_says_nothing_is_ignored(usage: Any) -> None:
    numbers = compactor().check([user("Hello."), assistant("Hi."), user("And?")], usage=usage).variables
    assert numbers["reported_tokens"] == 0
    assert numbers["tokens"] == numbers["estimated_tokens"]


def test_e4_usage_from_before_the_last_compaction_is_ignored() -> None:
    guarded = compactor()
    done = guarded.compact(chat())
    assert done.outcome is Outcome.COMPACTED
    stale = guarded.compact(list(done.messages), state=done.state, usage={"prompt_tokens": 7_900})
    assert stale.outcome is Outcome.NOT_NEEDED
    asked = [*done.messages, assistant("Yes."), user("Go on.")]
    fresh = guarded.check(asked, state=done.state, usage={"prompt_tokens": 7_900})
    assert fresh.due
    assert not guarded.check(asked, usage={"prompt_tokens": 7_900}).variables["reported_tokens"], "nobody knows when"
    assert guarded.check(asked, usage=Usage(7_900, len(done.messages))).due


def test_hermes_looks_at_what_was_reported_in_the_loop() -> None:
    policy = Compactor("hermes", overrides={"window.context_length": 20_000}, environ={})
    loop = [user("Go."), *rounds(2)]
    usage = Usage(10_000, 3)
    assert policy.check(loop, usage=usage, at="tool_results").rule == "in_loop"
    assert not policy.check(loop, usage=Usage(9_999, 3), at="tool_results").due
    assert not policy.check(loop, usage=usage).due, "preflight wants more than 24 messages"


def test_tokens_since_the_last_compaction() -> None:
    rules = [{"at": "before_call", "when": "new_tokens > 3000"}]
    guarded = compactor(*rules)
    done = guarded.compact(chat())
    assert done.outcome is Outcome.COMPACTED
    messages = list(done.messages)
    assert guarded.check(messages, state=done.state).variables["new_tokens"] == 0
    messages += [assistant(filler(12_000)), user("And?")]
    new = guarded.check(messages, state=done.state).variables["new_tokens"]
    assert 1_800 < new < 2_600


def test_sessions_count_the_same_as_a_compactor() -> None:
    messages = [*chat(4), *rounds(2)]
    tools = [{"type": "function", "function": {"name": "run", "description": filler(300)}}]
    for policy in ("default", "hermes"):
        for counter in ("estimate", "rough"):
            overrides = {"counter": counter, "window.context_length": 8_000}
            alone = Compactor(policy, overrides=overrides, environ={}).check(messages, tools=tools, at="tool_results")
            guard = Session(policy, overrides=overrides, environ={})
            for length in range(1, len(messages)):
                guard.check(messages[:length], tools=tools)
            assert guard.check(messages, tools=tools) == alone
