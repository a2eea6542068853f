"""The litellm summariser, against a real server on 127.0.0.1."""

import asyncio
import time
from typing import Any

import pytest

from compactor.engine import Compactor
from compactor.result import CompactionResult, Outcome
from compactor.testing import assistant, rounds, user

from .model_server import completion, failure, serving

GOOD = "## Goal\nFix the login bug."
MESSAGES = [user("Fix the login bug."), assistant("On it."), *rounds(12, chars=3000), user("And?"), assistant("Yes.")]


def compactor(url: str | None = None, **summary: Any) -> Compactor:
    values = {"model": "openai/summarizer", "summarizers": ["litellm"], "timeout": 20, **summary}
    overrides = {f"summary.{key}": value for key, value in values.items()}
    if url is not None:
        overrides["summary.options"] = {"api_base": url, **summary.get("options", {})}
    return Compactor("hermes", overrides={"window.context_length": 16_000, **overrides}, clock=lambda: 1000.0)


def said(done: CompactionResult) -> str:
    return "; ".join(attempt.failure or "answered" for attempt in done.report.attempts)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_summary_by_a_model(asynchronous: bool) -> None:
    with serving(completion(GOOD)) as server:
        engine = compactor(server.url, options={"temperature": 0.25})
        done = (
            asyncio.run(engine.acompact(MESSAGES, force=True)) if asynchronous else engine.compact(MESSAGES, force=True)
        )
    assert done.outcome is Outcome.COMPACTED, done.reason
    assert done.summary == GOOD
    assert done.report.summarizer == "litellm"
    assert done.report.attempts[-1].model == "openai/summarizer"
    [sent] = server.requests
    assert sent["temperature"] == 0.25
    assert [message["role"] for message in sent["messages"]] == ["user"]
    assert "[TOOL RESULT call_1]" in sent["messages"][0]["content"]


def test_a_fallback_model_is_asked_when_the_first_fails() -> None:
    with serving(failure(500, "out of order"), completion(GOOD)) as server:
        done = compactor(server.url, fallback_models=["openai/other"]).compact(MESSAGES, force=True)
    assert done.summary == GOOD
    assert [sent["model"] for sent in server.requests] == ["summarizer", "other"]
    assert done.report.attempts[-1].model == "openai/other"


@pytest.mark.parametrize(
    ("answer", "words", "kind"),
    [
        (failure(401, "bad key"), "AuthenticationError", "missing_key"),
        (failure(429, "slow down"), "RateLimitError", "rate_limit"),
        (failure(500, "out of order"), "InternalServerError", "network"),
        (completion(GOOD, "length"), "cut off", "bad_reply"),
        (completion(""), "empty", "bad_reply"),
        (completion("<think>hm</think>"), "empty", "bad_reply"),  # litellm takes the thinking out itself
        (completion("I'm sorry, I can't help with that."), "refusal", "bad_reply"),
        (completion(None, "tool_calls"), "no text", "bad_reply"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_summary_leads_to_the_static_note_and_a_cooldown(answer: Any, words: str, kind: str) -> None:
    with serving(answer) as server:
        engine = compactor(server.url, cooldown={"default": 600, kind: 77})
        done = engine.compact(MESSAGES, force=True)
        assert done.outcome is Outcome.COMPACTED
        assert done.summary is None
        assert words in said(done)
        assert done.state.cooldowns == {"litellm": 1077.0}
        asked = len(server.requests)
        again = engine.compact([*done.messages, *rounds(9, chars=3000, first=50)], state=done.state, force=True)
        until = time.strftime("%H:%M:%S", time.localtime(1077))
        assert f"cooling down until {until} after a failure" in said(again)
        assert len(server.requests) == asked == 1


def test_a_server_that_never_answers_runs_into_the_timeout() -> None:
    with serving((0, 3)) as server:
        done = compactor(server.url, timeout=0.3).compact(MESSAGES, force=True)
    assert "Timeout" in said(done)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("model", "variable"),
    [("gpt-4o-mini", "OPENAI_API_KEY"), ("anthropic/claude-3-5-haiku-latest", "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_is_one_line_that_names_the_variable(model: str, variable: str) -> None:
    done = compactor(model=model).compact(MESSAGES, force=True)
    assert said(done) == f"model {model!r} needs an API key: set {variable}"
    assert done.outcome is Outcome.COMPACTED


def test_a_server_of_ones_own_needs_no_key_but_gets_the_one_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(completion(GOOD)) as server:
        assert compactor(server.url).compact(MESSAGES, force=True).summary == GOOD
        monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
        assert compactor(server.url).compact(MESSAGES, force=True).summary == GOOD
    assert server.keys[1] == "Bearer from-the-environment"


def test_without_a_model_it_declines_and_the_next_one_is_asked() -> None:
    done = compactor(model=None, summarizers=["litellm", "extractive"]).compact(MESSAGES, force=True)
    assert said(done).startswith("declined: no model configured")
    assert done.report.summarizer == "extractive"
    assert done.state.cooldowns == {}


def test_abort_hands_the_input_back_and_tries_again_later() -> None:
    with serving(failure(500, "out of order")) as server:
        done = compactor(server.url, on_failure="abort", cooldown={"default": 0}).compact(MESSAGES, force=True)
        assert done.outcome is Outcome.FAILED
        assert list(done.messages) == MESSAGES
        assert "summary.on_failure is abort" in done.reason
        server.answers[:] = [completion(GOOD)]
        again = compactor(server.url, on_failure="abort").compact(MESSAGES, state=done.state, force=True)
    assert again.summary == GOOD
