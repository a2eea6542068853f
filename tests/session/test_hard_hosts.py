"""Hosts, providers and policies that once made a session lose messages, give up, or go round in circles."""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor import CannotFit, CompactionState, EventKind, Outcome, Session, SessionEvent, SummarizerFailed
from compactor.testing import ScriptedSummarizer, assistant, call, filler, result, system, user

Raw = dict[str, Any]
GOOD = "## Goal\nShip it."
TAG = "[CONTEXT COMPACTION]"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4_200_000}}


def session(window: int = 4_000, reply: Any = GOOD, policy: Any = "default", **overrides: Any) -> Session:
    changed = {"window.context_length": window, "counter": "estimate", **overrides}
    scripted = ScriptedSummarizer(reply if isinstance(reply, list) else [reply])
    return Session(policy, model="m", overrides=changed, summarizer=scripted, environ={})


def dialogue(turns: int, chars: int = 600) -> list[Raw]:
    return [
        message
        for turn in range(turns)
        for message in (user(f"Ask {turn}. {filler(chars)}"), assistant(f"Answer {turn}. {filler(chars)}"))
    ]


class Overflow(Exception):
    """As an OpenAI-compatible client raises it; without a number unless one is given."""

    def __init__(self, text: str = "context_length_exceeded", status: int = 400) -> None:
        super().__init__(text)
        self.status_code = status


def test_a_host_that_takes_the_list_back_loses_nothing_to_the_background() -> None:
    rule = {"name": "ahead", "at": "before_call", "when": "tokens >= 300", "background": True}
    guard = session(2_000, triggers=[rule])
    host: list[Raw] = []
    for turn in range(40):
        host = [*host, user(f"question {turn}! {filler(300)}")]
        host = list(guard.before_call(host).messages)
        assert guard.wait(20)
        assert f"question {turn}!" in str(host)
        host = [*host, assistant(filler(300))]
    assert guard.state.count > 3


def test_a_system_message_further_down_survives_a_system_prompt_that_changes() -> None:
    guard = session(
        3_000, **{"boundaries.head_decays": False, "boundaries.protect_first_n": 1, "boundaries.tail_min_messages": 1}
    )
    host = [system("Today."), *dialogue(20), system("MIDWAY: never delete files."), user(f"Go on. {filler(900)}")]
    for minute in range(3):
        host[0] = system(f"It is 12:0{minute}.")
        sent = guard.before_call(host).messages
        assert str(sent).count("MIDWAY: never delete files.") == 1
        assert sent[0]["content"].startswith(f"It is 12:0{minute}.")
        host += [assistant("Yes."), user("And?")]
    assert guard.state.count == 1


def test_a_message_that_was_replaced_in_the_middle_is_sent_as_it_is_now() -> None:
    host, guard = dialogue(20, 20), session()
    guard.before_call(host)
    host = list(host)
    host[3] = assistant("REDACTED")
    host.append(user("And?"))
    assert list(guard.before_call(host).messages) == host


@pytest.mark.parametrize("usage", [{"prompt_eval_count": 60}, {"prompt_tokens": 1}, {"prompt_tokens": 10**400}])
def test_a_figure_that_cannot_be_the_size_of_the_request_is_ignored(usage: Raw) -> None:
    host, guard = dialogue(3), session()
    for _ in range(20):
        sent = guard.before_call(host)
        assert sent.decision.variables["reported_tokens"] in (0, 60)
        assert guard.check(host).variables["tokens"] <= 4_000
        guard.note_usage(usage)
        host += dialogue(1)
    assert guard.state.count > 0


def test_what_does_not_fit_is_refused_also_after_compactions_that_gained_nothing() -> None:
    guard = session(2_000)
    host = [user(filler(15_000))]
    for number in range(8):
        with pytest.raises(CannotFit):
            guard.before_call(host)
        host += [assistant(None, call(f"c{number}")), result(f"c{number}", "ok")]


def test_a_background_compaction_outlives_a_system_prompt_that_changes() -> None:
    rule = {"name": "ahead", "at": "before_call", "when": "tokens >= 1000", "background": True}
    scripted, events = ScriptedSummarizer([GOOD]), list[SessionEvent]()
    overrides = {"window.context_length": 4_000, "counter": "estimate", "triggers": [rule]}
    guard = Session("default", overrides=overrides, summarizer=scripted, environ={}, on_event=events.append)
    host = [system(""), *dialogue(6), user("And?")]
    for minute in range(6):
        host[0] = system(f"It is 10:0{minute}.")
        sent = guard.before_call(host).messages
        assert guard.wait(20)
        host += [assistant("Yes."), user("Go on.")]
    assert len(scripted.requests) == 1
    assert sent[0]["content"].startswith("It is 10:05.\n\n")
    assert [event.kind for event in events] == [EventKind.BACKGROUND, EventKind.COMPACTED]


@pytest.mark.parametrize("reply", [GOOD, SummarizerFailed("no route", "network")])
def test_a_smaller_window_is_learnt_only_where_a_compaction_was_made_for_it(reply: Any) -> None:
    guard = session(128_000, reply, **{"summary.on_failure": "abort"})
    host = [user("hi")] if reply is GOOD else dialogue(20)
    for _ in range(4):
        guard.before_call(host)
        with pytest.raises(CannotFit):
            guard.on_error(Overflow())
    assert guard.state.about("m").window is None


def test_a_refusal_without_a_number_goes_on_to_a_window_that_helps() -> None:
    scripted = ScriptedSummarizer([GOOD])
    guard = Session("default", model="m", overrides={"counter": "estimate"}, summarizer=scripted, environ={})
    host = dialogue(24)
    assert guard.before_call(host).decision.variables["context_length"] == 128_000
    smaller = guard.on_error(Overflow("Your input exceeds the context window of this model."))
    assert smaller.result is not None
    assert smaller.result.changed
    assert guard.state.about("m").window == 8_000
    assert not any("not known" in warning for warning in smaller.result.report.warnings)


def test_a_number_that_no_window_can_be_is_not_learnt() -> None:
    host, guard = dialogue(60, 3_000), session(128_000, threshold=0.9)
    guard.before_call(host)
    guard.on_error(Overflow("This model's maximum context length is 7 tokens."))
    assert (guard.state.about("m").window or 0) > 256


def test_another_model_while_the_edited_policy_has_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("version: 1\nname: mine\nextends: default\ncounter: estimate\n")
    guard = Session(path, model="gpt-4o", environ={})
    host = dialogue(3)
    guard.before_call(host)
    path.write_text("version: 1\nname: mine\nextends: default\ncolour: red\n")
    assert guard.before_call(host, model="gpt-4").messages == host
    assert guard.check(host).variables["context_length"] == 128_000
    assert guard.check(host, model="gpt-4").variables["context_length"] == 8_192


def test_a_rule_that_has_nothing_to_prune_leaves_it_to_the_next() -> None:
    guard = session(200_000)
    host = [*dialogue(40, 6_000), user([{"type": "text", "text": "Look."}, PICTURE])]
    assert guard.before_call(host).result is not None
    assert guard.compact(host, focus="the picture").outcome is Outcome.COMPACTED
    rules = [
        {"name": "prune", "at": "before_call", "when": "tokens > 100", "prune": ["clear_media"], "prune_only": True},
        {"name": "full", "at": "before_call", "when": "tokens > 1000"},
    ]
    sent = session(4_000, triggers=rules).before_call(dialogue(10))
    assert (sent.decision.rule, sent.result and sent.result.outcome) == ("full", Outcome.COMPACTED)
    too_large = session(200_000)
    too_large.before_call(host)
    smaller = too_large.on_error(Overflow("Request Entity Too Large", 413))
    assert smaller.decision.rule == "payload_too_large"
    assert len(smaller.messages) < len(host)


def test_another_conversation_does_not_inherit_a_count() -> None:
    guard = session()
    guard.before_call([system("A."), *dialogue(20)])
    assert guard.state.count == 1
    other = [system("B."), user("Something else."), assistant("Fine."), user("And?")]
    assert guard.before_call(other).decision.variables["compaction_count"] == 0
    other[0] = system("B, later.")
    assert list(guard.before_call(other).messages) == other


def test_a_compaction_is_not_judged_by_another_model() -> None:
    host, guard = dialogue(24), session(8_000)
    guard.before_call(host, model="a")
    assert guard.state.count == 1
    assert guard.state.unjudged is not None
    counted = guard.before_call(host, model="b").decision.variables["tokens"]
    guard.note_usage({"prompt_tokens": counted * 3})
    assert guard.state.strikes == 0


def test_a_reminder_on_the_newest_message_only_is_no_new_conversation() -> None:
    scripted = ScriptedSummarizer([GOOD])
    overrides = {"window.context_length": 4_000, "counter": "estimate"}
    guard = Session("default", overrides=overrides, summarizer=scripted, environ={})
    host = [*dialogue(12), user("Next?")]
    for turn in range(10):
        last = host[-1]
        sent = guard.before_call([*host[:-1], {**last, "content": f"{last['content']} <reminder>"}])
        assert str(sent.messages).count("<reminder>") == 1
        host += [assistant(f"Answer {turn}."), user(f"Next {turn}?")]
    assert len(scripted.requests) == 1
    assert guard.state.count == 1


def test_a_check_decides_and_does_nothing_else() -> None:
    host, guard = dialogue(20), session()
    sent = guard.before_call(host)
    state = guard.state
    for other in ([], host[:-2], [user("Something else.")], [*host[:-1], user("Instead.")]):
        guard.check(other)
        assert guard.state == state
    assert list(guard.before_call(host).messages) == list(sent.messages)
    guard.check(host[:-2])
    assert len(guard.on_error(Overflow()).messages) < len(host)


def test_no_tools_can_be_none() -> None:
    guard = session()
    assert guard.before_call([user("Hi.")], tools=None).messages  # type: ignore[arg-type]
    assert not guard.check([user("Hi.")], tools=None).due  # type: ignore[arg-type]


def test_a_cooldown_does_not_outlast_a_clock_that_was_put_back() -> None:
    now = [1_000_000_000.0]
    scripted = ScriptedSummarizer([SummarizerFailed("no route", "network"), GOOD])
    overrides = {"window.context_length": 4_000, "counter": "estimate", "summary.on_failure": "abort"}
    guard = Session("default", overrides=overrides, summarizer=scripted, environ={}, clock=lambda: now[0])
    host = dialogue(12)
    guard.before_call(host)
    now[0] = 1_000.0
    guard.before_call(host)
    now[0] += 90_000
    assert guard.before_call(host).result is not None
    assert guard.state.count == 1


def test_a_policy_that_is_switched_off_takes_over_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    rule = "triggers: [{name: ahead, at: before_call, when: tokens > 100, background: true}]\n"
    path.write_text(f"version: 1\nname: mine\nextends: default\ncounter: estimate\n{rule}")
    guard = Session(path, environ={}, summarizer=ScriptedSummarizer([GOOD]))
    host = dialogue(12)
    guard.before_call(host)
    assert guard.wait(20)
    path.write_text(f"version: 1\nname: mine\nextends: default\ncounter: estimate\nenabled: false\n{rule}")
    assert list(guard.before_call(host).messages) == host


def test_a_state_with_holes_is_read() -> None:
    state = CompactionState.from_dict({"summary": None, "count": None, "cooldowns": None, "learned": None})
    assert state == CompactionState()


def own(_: list[Raw], sent: list[Raw], host: list[Raw]) -> list[Raw]:
    return host


def back(_: list[Raw], sent: list[Raw], host: list[Raw]) -> list[Raw]:
    return sent


def copied(_: list[Raw], sent: list[Raw], host: list[Raw]) -> list[Raw]:
    return copy.deepcopy(host)


def copied_back(_: list[Raw], sent: list[Raw], host: list[Raw]) -> list[Raw]:
    return copy.deepcopy(sent)


HOSTS: list[Callable[..., list[Raw]]] = [own, back, copied, copied_back]
BACKGROUND = [
    {"name": "full", "at": "before_call", "when": "tokens >= threshold_tokens"},
    {"name": "ahead", "at": "before_call", "when": "tokens >= threshold_tokens * 0.5", "background": True},
]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    keeps=st.sampled_from(HOSTS),
    ahead=st.booleans(),
    window=st.sampled_from([1_500, 4_000]),
)
def test_whatever_a_host_does_what_was_not_folded_is_sent_once_and_in_order(
    seed: int, keeps: Callable[..., list[Raw]], ahead: bool, window: int
) -> None:
    chance = random.Random(seed)
    guard = session(window, **({"triggers": BACKGROUND} if ahead else {}))
    host: list[Raw] = [system("Prompt 0.")]
    said: list[str] = []
    for turn in range(25):
        if chance.random() < 0.3:
            host[0] = {**host[0], "content": f"Prompt {turn}."}
        if chance.random() < 0.1 and len(said) > 2 and keeps in (own, copied):
            del host[-2:], said[-2:]  # the last turn is taken back
        elif chance.random() < 0.3:
            name = f"c{turn}"
            host += [assistant(f"<{turn}t>", call(name)), result(name, f"<{turn}r>{filler(chance.randrange(2_000))}")]
            said += [f"<{turn}t>", f"<{turn}r>"]
        else:
            host += [assistant(f"<{turn}a>{filler(chance.randrange(900))}")]
            said += [f"<{turn}a>"]
        host += [user(f"<{turn}u>{filler(chance.randrange(500))}")]
        said += [f"<{turn}u>"]
        sent = list(guard.before_call(host).messages)
        text = str(sent)
        there = [mark for mark in said if mark in text]
        assert said[-1] in there
        assert there == said[len(said) - len(there) :] or TAG in text
        assert sorted(there, key=text.index) == there
        assert all(text.count(mark) == 1 for mark in there)
        assert text.count(TAG) <= 1
        if chance.random() < 0.5:
            guard.note_usage({"prompt_tokens": guard.check(host).variables["estimated_tokens"]})
        if chance.random() < 0.3:
            guard.wait(20)
        host = list(keeps(host, sent, host))
