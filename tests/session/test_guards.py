"""What keeps a session from going round in circles, and from going silent."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compactor import CannotFit, CompactionState, EventKind, Outcome, Session, SessionEvent, SummarizerFailed
from compactor.testing import ScriptedSummarizer, assistant, filler, rounds, system, user

Raw = dict[str, Any]
GOOD = "## Goal\nShip it."
TAG = "[CONTEXT COMPACTION]"


class Watched:
    """A session whose events, summariser and clock can be looked at."""

    def __init__(self, *script: Any, policy: Any = "default", state: CompactionState | None = None, **overrides: Any):
        self.events: list[SessionEvent] = []
        self.scripted = ScriptedSummarizer(script or [GOOD])
        self.now = 1_000_000.0
        changed = {"window.context_length": 8_000, "counter": "estimate", **overrides}
        self.session = Session(
            policy,
            overrides=changed,
            summarizer=self.scripted,
            environ={},
            on_event=self.events.append,
            clock=lambda: self.now,
            state=state,
        )

    @property
    def kinds(self) -> list[EventKind]:
        return [event.kind for event in self.events]

    @property
    def asked(self) -> int:
        return len(self.scripted.requests)


def chat(turns: int = 20, chars: int = 2_000) -> list[Raw]:
    said = [[user(f"Ask {turn}. {filler(chars)}"), assistant(filler(chars))] for turn in range(turns)]
    return [system("You help."), *(message for turn in said for message in turn), user("And now?")]


def grow(host: list[Raw], chars: int = 9_000) -> None:
    host += [assistant(filler(chars)), user(filler(chars))]


def ineffective() -> tuple[Watched, list[Raw]]:
    """A session whose two compactions gained nothing, as the provider measured, and its host's list."""
    watched, host = Watched(**{"window.context_length": 40_000}), chat(10)
    watched.session.before_call(host)
    watched.session.note_usage({"prompt_tokens": 25_000})
    for _ in range(2):
        grow(host, 2_000)
        sent = watched.session.before_call(host)
        assert sent.result is not None
        watched.session.note_usage({"prompt_tokens": sent.decision.variables["tokens"]})
    host += [assistant("Yes."), user("Go on.")]
    return watched, host


def test_g7_compactions_are_judged_by_the_next_measured_request() -> None:
    watched, host = ineffective()
    assert watched.kinds.count(EventKind.COMPACTED) == 2, "by our own count both were fine"
    assert watched.session.state.strikes == 2
    assert watched.kinds[-2:] == [EventKind.INEFFECTIVE, EventKind.STOPPED]
    decision = watched.session.check(host)
    assert decision.variables["tokens"] > decision.variables["threshold_tokens"]
    assert not decision.due


def test_two_that_gained_nothing_stop_automatic_ones_until_something_changes() -> None:
    watched, host = ineffective()
    assert watched.session.state.strikes >= 2
    asked = watched.asked
    for _ in range(5):
        assert watched.session.before_call(host).result is None
        host += [assistant("Yes."), user("Go on.")]
    assert watched.asked == asked
    assert "automatic compactions are stopped" in watched.session.check(host).reason
    assert watched.kinds.count(EventKind.STOPPED) == 1
    grow(host)
    assert watched.session.before_call(host).result is not None, "there is something new to fold"


@pytest.mark.parametrize("change", ["forced", "rewound", "model"])
def test_what_lifts_the_stop(change: str) -> None:
    watched, host = ineffective()
    assert not watched.session.check(host).due
    if change == "forced":
        assert watched.session.compact(host).outcome is not Outcome.NOT_NEEDED
        assert watched.session.state.strikes == 0
    elif change == "rewound":
        del host[-1]
        host.append(user("Something else."))
        watched.session.before_call(host)
        assert watched.session.state.strikes == 0
    else:
        assert not watched.session.check(host, model="gpt-4o").variables["reported_tokens"]


def test_a_summary_that_gains_nothing_is_a_strike() -> None:
    long = "## Goal\n" + filler(9_000)
    watched = Watched(long, **{"boundaries.tail_budget_ratio": 0.4, "target": None, "summary.on_failure": "abort"})
    host = chat(3, 1_500)
    for _ in range(6):
        watched.session.before_call(host)
        host += [assistant("Yes."), user("Go on.")]
    assert watched.asked <= 3


def test_an_effective_compaction_is_no_strike() -> None:
    watched, host = Watched(**{"window.context_length": 20_000}), chat(14)
    for _ in range(4):
        watched.session.before_call(host)
        watched.session.note_usage({"prompt_tokens": watched.session.check(host).variables["estimated_tokens"]})
        grow(host, 20_000)
    assert watched.session.state.strikes == 0
    assert watched.session.state.unjudged is None
    assert watched.kinds.count(EventKind.COMPACTED) > 2
    assert EventKind.INEFFECTIVE not in watched.kinds


def test_e5_the_figure_of_the_provider_scales_the_estimate() -> None:
    watched, host = Watched(**{"window.context_length": 200_000}), chat(30)
    counted = watched.session.before_call(host).decision.variables["estimated_tokens"]
    watched.session.note_usage({"prompt_tokens": counted // 2})
    host += [assistant(filler(2_000)), user("And?")]
    after = watched.session.check(host).variables
    assert after["reported_tokens"] == counted // 2
    assert after["tokens"] < counted * 0.55
    assert after["estimated_tokens"] == pytest.approx(after["tokens"], rel=0.01)


def test_a_response_that_is_a_dictionary_has_usage_too() -> None:
    def complete(**call: Any) -> Raw:
        return {"choices": [], "usage": {"prompt_tokens": 5_000}}

    guard = Session("default", environ={}, complete=complete, overrides={"counter": "estimate"})
    host = chat(4)
    guard.completion(messages=host)
    assert guard.check(host).variables["reported_tokens"] == 5_000


def test_the_ratio_is_learnt_by_model() -> None:
    watched, host = Watched(**{"window.context_length": 200_000}), chat(30)
    counted = watched.session.before_call(host, model="a").decision.variables["tokens"]
    watched.session.note_usage({"prompt_tokens": counted * 2})
    assert watched.session.check(host, model="a").variables["tokens"] == counted * 2
    other = watched.session.check(host, model="b").variables
    assert (other["reported_tokens"], other["tokens"]) == (0, counted)
    assert watched.session.check(host, model="a").variables["tokens"] == pytest.approx(counted * 2, abs=1)


def test_e4_a_report_from_before_a_compaction_holds_no_longer() -> None:
    watched, host = Watched(), chat(3, 1_200)
    watched.session.before_call(host)
    watched.session.note_usage({"prompt_tokens": 7_000})
    host += [assistant("Yes."), user("Go on.")]
    sent = watched.session.before_call(host)
    assert sent.result is not None
    assert sent.decision.variables["reported_tokens"] == 7_000
    after = watched.session.check(host)
    assert after.variables["reported_tokens"] == 0
    assert not after.due
    assert watched.session.before_call(host).result is None


def test_d16_abort_hands_the_input_back_and_tries_again_later() -> None:
    watched = Watched(
        SummarizerFailed("no route", "network"), GOOD, **{"summary.on_failure": "abort", "summary.cooldown.network": 30}
    )
    host = chat(12, 1_600)
    sent = watched.session.before_call(host)
    assert list(sent.messages) == host
    assert watched.kinds == [EventKind.COMPACTING, EventKind.FAILED]
    assert "no route" in watched.events[-1].message
    for _ in range(3):
        watched.now += 5
        watched.session.before_call(host)
    assert watched.asked == 1, "it is cooling down"
    watched.now += 30
    assert watched.session.before_call(host).result is not None
    assert watched.kinds[-1] is EventKind.COMPACTED


def test_d16_static_states_the_loss() -> None:
    watched, host = Watched(SummarizerFailed("no route", "network")), chat()
    sent = watched.session.before_call(host)
    assert EventKind.NO_SUMMARY in watched.kinds
    assert EventKind.COMPACTED not in watched.kinds
    notes = [str(message["content"]) for message in sent.messages if TAG in str(message["content"])]
    assert len(notes) == 1
    assert "could not be" in notes[0]


def test_d17_a_missing_key_is_said_once_and_not_tried_on_every_turn() -> None:
    watched = Watched(SummarizerFailed("401 invalid key", "missing_key"), **{"summary.on_failure": "abort"})
    host = chat(12, 1_600)
    for _ in range(20):
        watched.now += 600
        watched.session.before_call(host)
        host += [assistant("Yes."), user("Go on.")]
    assert watched.asked == 1
    assert sum("401 invalid key" in event.message for event in watched.events) == 1


def test_every_outcome_has_a_message_of_its_own() -> None:
    told: dict[EventKind, str] = {}

    def run(watched: Watched, host: list[Raw]) -> None:
        with suppress(CannotFit):
            watched.session.before_call(host)
        told[watched.events[-1].kind] = watched.events[-1].message

    run(Watched(), chat())
    run(Watched(SummarizerFailed("no")), chat())
    run(Watched(SummarizerFailed("no"), **{"summary.on_failure": "abort"}), chat())
    run(Watched(), [user(filler(60_000))])
    clear = {"triggers": [{"name": "a", "at": "before_call", "when": "tokens > 0", "prune_only": True}]}
    run(Watched(**clear), [user("Read."), *rounds(8, chars=8_000), user("And?")])
    run(Watched(**clear), [user("Hello.")])
    assert set(told) == {
        EventKind.COMPACTED,
        EventKind.NO_SUMMARY,
        EventKind.FAILED,
        EventKind.CANNOT_FIT,
        EventKind.PRUNED,
        EventKind.NOTHING_TO_GAIN,
    }
    assert len(set(told.values())) == 6
    changed = {EventKind.COMPACTED, EventKind.NO_SUMMARY, EventKind.PRUNED}
    assert all(message.startswith("context compacted") is (kind in changed) for kind, message in told.items())


def test_it_warns_with_the_real_count(caplog: pytest.LogCaptureFixture) -> None:
    watched, host = Watched(), chat()
    with caplog.at_level(logging.INFO, logger="compactor"):
        for _ in range(3):
            watched.session.before_call(host)
            grow(host)
    warned = [record.message for record in caplog.records if "has been compacted" in record.message]
    assert [f"compacted {n} times" in message for n, message in zip((2, 3), warned, strict=True)] == [True, True]
    assert any(record.message.startswith("⟳ compacting context…") for record in caplog.records)


def test_a_listener_that_fails_breaks_nothing() -> None:
    def listen(event: SessionEvent) -> None:
        raise RuntimeError(event.message)

    guard = Session("default", overrides={"window.context_length": 8_000}, environ={}, on_event=listen)
    assert guard.before_call(chat()).result is not None


def test_what_cannot_fit_a_known_window_is_refused_before_the_call() -> None:
    watched = Watched()
    with pytest.raises(CannotFit, match="do not fit the usable window of 8,000") as caught:
        watched.session.before_call([system("You help."), user(filler(60_000))])
    assert caught.value.largest[0].startswith("message 1 (user)")
    guessed = {"window.context_length": "auto", "window.unknown_model": 8_000}
    sent = Watched(**guessed).session.before_call([user(filler(60_000))])
    assert len(sent.messages) == 1, "a window that is merely assumed is no reason to refuse"


class Slow:
    """A summariser that answers when it is told to."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Event()
        self.asked = 0

    def __call__(self, request: Any) -> str:
        self.asked += 1
        self.begun.set()
        assert self.go.wait(20)
        return GOOD


AHEAD = [
    {"name": "full", "at": "before_call", "when": "tokens >= threshold_tokens"},
    {"name": "ahead", "at": "before_call", "when": "tokens >= threshold_tokens * 0.5", "background": True},
]


def background() -> tuple[Session, Slow, list[SessionEvent], list[Raw]]:
    slow, events = Slow(), list[SessionEvent]()
    overrides = {"window.context_length": 20_000, "counter": "estimate", "triggers": AHEAD}
    guard = Session("default", overrides=overrides, summarizer=slow, environ={}, on_event=events.append)
    return guard, slow, events, chat(9, 1_600)


def test_a_summary_is_made_while_the_agent_goes_on() -> None:
    guard, slow, events, host = background()
    sent = guard.before_call(host)
    assert sent.decision.rule == "ahead"
    assert list(sent.messages) == host
    for turn in range(3):
        host += [assistant(f"Answer {turn}."), user(f"Next {turn}.")]
        assert list(guard.before_call(host).messages) == host
    assert slow.begun.wait(20)
    assert slow.asked == 1
    slow.go.set()
    assert guard.wait(20)
    host += [assistant("Last answer."), user("Last.")]
    sent = guard.before_call(host)
    assert list(sent.messages[-8:]) == host[-8:], "what came meanwhile stays"
    assert sum(TAG in str(message["content"]) for message in sent.messages) == 1
    assert len(sent.messages) < len(host)
    assert guard.state.count == 1
    assert [event.kind for event in events] == [EventKind.BACKGROUND, EventKind.COMPACTED]


def test_what_covers_messages_that_have_changed_is_thrown_away() -> None:
    guard, slow, events, host = background()
    guard.before_call(host)
    slow.go.set()
    assert guard.wait(20)
    host[3] = user("Something else was asked.")
    sent = guard.before_call(host)
    assert sum(TAG in str(message["content"]) for message in sent.messages) == 0
    assert "thrown away" in events[-2].message or "thrown away" in events[-1].message
    assert guard.state.count == 0


def test_when_it_gets_too_full_the_background_is_waited_for() -> None:
    guard, slow, _, host = background()
    guard.before_call(host)
    host += [assistant(filler(16_000)), user(filler(16_000))]
    threading.Timer(0.05, slow.go.set).start()
    sent = guard.before_call(host)
    assert slow.asked >= 1
    assert sum(TAG in str(message["content"]) for message in sent.messages) == 1
    assert guard.check(host).variables["tokens"] < 10_000


def test_a_failure_in_the_background_is_told_and_costs_nothing() -> None:
    def fail(request: Any) -> str:
        raise RuntimeError("no model")

    events: list[SessionEvent] = []
    overrides = {
        "window.context_length": 20_000,
        "counter": "estimate",
        "triggers": AHEAD,
        "summary.on_failure": "abort",
    }
    guard = Session("default", overrides=overrides, summarizer=fail, environ={}, on_event=events.append)
    host = chat(9, 1_600)
    guard.before_call(host)
    assert guard.wait(20)
    assert list(guard.before_call(host).messages) == host
    assert [event.kind for event in events][:2] == [EventKind.BACKGROUND, EventKind.FAILED]


@pytest.fixture
def policy(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(f"version: 1\nname: mine\nextends: default\ncounter: estimate\n{text}\n", encoding="utf-8")
        return path

    return write


def test_g6_an_edited_policy_applies_at_the_next_check(policy: Callable[[str], Path]) -> None:
    events: list[SessionEvent] = []
    path = policy("threshold: 100000")
    guard = Session(path, environ={}, summarizer=ScriptedSummarizer([GOOD]), on_event=events.append)
    host = chat()
    assert not guard.check(host).due
    policy("threshold: 5000  # edited")
    assert guard.check(host).due
    policy("threshold: 5  # a mistake")
    assert guard.check(host).due
    assert [event.kind for event in events] == [EventKind.POLICY_CHANGED, EventKind.POLICY_REFUSED]
    assert "mine.yaml:5:12: threshold: expected a share of the window" in events[-1].message
    policy("threshold: 90000  # right again")
    assert not guard.check(host).due
    path.unlink()
    assert not guard.check(host).due
    assert events[-1].kind is EventKind.POLICY_REFUSED


def test_g6_a_parent_and_a_template_are_watched_too(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text("version: 1\nname: parent\nextends: default\ncounter: estimate\n")
    (tmp_path / "frame.j2").write_text('{% extends "builtin/hermes/frame.j2" %}')
    child = tmp_path / "child.yaml"
    child.write_text("version: 1\nname: child\nextends: ./parent.yaml\nassembly: {frame: ./frame.j2}\n")
    guard = Session(child, overrides={"window.context_length": 8_000}, environ={})
    assert guard.check(chat()).variables["threshold_tokens"] == 4_000
    (tmp_path / "parent.yaml").write_text(
        "version: 1\nname: parent\nextends: default\ncounter: estimate\nthreshold: 0.9\n"
    )
    assert guard.check(chat()).variables["threshold_tokens"] == 7_200
    (tmp_path / "frame.j2").write_text("{{ no_such_variable }}")
    events = len(str(guard.check(chat())))
    assert events
    assert guard.before_call(chat()).result is not None
