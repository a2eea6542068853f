"""The webhook: against a real server, from the policy to the report."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from compactor import Compactor, PolicyError
from compactor.result import CompactionResult
from compactor.testing import ScriptedSummarizer, rounds, system, user

KEY = "made-up-key-of-a-test"
CONVERSATION = [system("You help."), user("Fix the build."), *rounds(30, chars=2000), user("Go on.")]


class Hook:
    """``answers`` (status, content type, body) are given one after the other, the last one again and again.

    A status of 0 waits for so many seconds and drops the connection.
    """

    def __init__(self, url: str, answers: tuple[tuple[int, str, Any], ...]) -> None:
        self.url = url
        self.answers = answers
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []


@contextmanager
def hook(*answers: tuple[int, str, Any]) -> Iterator[Hook]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, kind, body = answers[min(len(state.bodies), len(answers)) - 1]
            if status == 0:
                time.sleep(body)
                return
            data = body.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            try:
                self.wfile.write(data)
            except OSError:
                return  # the other side has read enough

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = Hook(f"http://127.0.0.1:{server.server_address[1]}/memory", answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def compacted(
    url: str, *, focus: str = "the tests", use: Mapping[str, Any] | None = None, **config: Any
) -> tuple[CompactionResult, ScriptedSummarizer]:
    scripted = ScriptedSummarizer(["## Goal\nFix the build."])
    plugin = {"use": "webhook_memory", **(use or {}), "config": {"url": url, **config}}
    policy = {"version": 1, "extends": "default", "plugins": [plugin]}
    overrides = {"window.context_length": 20_000}
    done = Compactor(policy, overrides=overrides, summarizer=scripted, environ={}).compact(
        CONVERSATION, force=True, focus=focus
    )
    assert done.outcome == "compacted", done.reason
    return done, scripted


def failure(done: CompactionResult) -> str:
    return next(call.failure or "" for call in done.report.plugins if call.hook == "on_pre_compress")


ANSWER = (200, "application/json", '{"text": "The build needs JDK 21."}')


def test_the_event_is_posted_and_the_answer_is_remembered() -> None:
    with hook(ANSWER) as server:
        done, scripted = compacted(server.url, headers={"X-Team": "build"})
    body = json.loads(server.bodies[0])
    assert body["event"] == "pre_compress"
    assert (body["count"], body["focus"], body["summary"], body["messages_left_out"]) == (0, "the tests", None, 0)
    assert [message["index"] for message in body["messages"]] == list(range(len(CONVERSATION)))
    assert body["messages"][1]["text"] == "Fix the build."
    assert body["messages"][2]["calls"][0]["name"] == "read_file"
    assert len(body["folded"]) == done.report.folded > 0
    assert server.headers[0]["x-team"] == "build"
    assert "x-compactor-signature" not in server.headers[0]
    assert "The build needs JDK 21." in (scripted.requests[0].memory or "")
    assert failure(done) == ""


def test_the_signature_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_KEY", KEY)
    with hook(ANSWER) as server:
        compacted(server.url, secret_env="HOOK_KEY")
    digest = hmac.new(KEY.encode(), server.bodies[0], hashlib.sha256).hexdigest()
    assert server.headers[0]["x-compactor-signature"] == f"sha256={digest}"
    assert KEY.encode() not in server.bodies[0]


def test_without_its_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_KEY", raising=False)
    with hook(ANSWER) as server:
        done, _ = compacted(server.url, secret_env="HOOK_KEY")
    assert server.bodies == []
    assert "HOOK_KEY" in failure(done)


@pytest.mark.parametrize(
    ("answer", "memory"),
    [
        ((200, "text/plain; charset=utf-8", "Über den Bau."), "Über den Bau."),
        ((200, "text/plain", "  \n"), None),
        ((204, "text/plain", ""), None),
        ((200, "application/json", '{"text": null}'), None),
        ((200, "application/json", "[]"), None),
    ],
)
def test_what_an_answer_may_be(answer: tuple[int, str, str], memory: str | None) -> None:
    with hook(answer) as server:
        done, scripted = compacted(server.url)
    assert failure(done) == ""
    assert scripted.requests[0].memory == (None if memory is None else f"[webhook_memory]\n{memory}")


@pytest.mark.parametrize(
    ("answers", "tries", "said"),
    [
        ([(503, "text/plain", "busy"), ANSWER], 2, ""),
        ([(500, "text/plain", "broken")], 3, "status 500, 3 tries"),
        ([(404, "text/plain", "no")], 1, "status 404"),
        ([(429, "text/plain", "later")], 1, "status 429"),
        ([(302, "text/plain", "elsewhere")], 1, "status 302"),
        ([(0, "", 0.0), ANSWER], 2, ""),  # the connection is dropped once
        ([(200, "application/json", "no json")], 1, "called JSON"),
        ([(200, "application/json", '{"text": 5}')], 1, "int as its 'text'"),
    ],
)
def test_retries_and_failures(answers: list[tuple[int, str, Any]], tries: int, said: str) -> None:
    with hook(*answers) as server:
        done, scripted = compacted(server.url)
    assert len(server.bodies) == tries
    assert len(set(server.bodies)) == 1
    assert said in failure(done)
    assert bool(failure(done)) == bool(said)
    assert (scripted.requests[0].memory is None) == bool(said)


def test_a_server_that_does_not_answer() -> None:
    with hook((0, "", 0.6)) as server:
        done, _ = compacted(server.url, timeout=0.1, retries=1)
    assert len(server.bodies) == 2
    assert "no answer within 0.1 s, 2 tries" in failure(done)


def test_the_deadline_ends_all_tries() -> None:
    with hook((0, "", 0.5)) as server:
        started = time.monotonic()
        done, _ = compacted(server.url, use={"deadline": 0.2}, timeout=0.4, retries=0)
        assert time.monotonic() - started < 2
    assert failure(done) == "no answer within 0.2 s"


def test_nobody_listens() -> None:
    with hook(ANSWER) as server:
        pass
    done, _ = compacted(server.url, retries=0)
    assert "cannot be reached" in failure(done)


def test_the_oldest_messages_are_left_out_of_a_body_that_is_too_big() -> None:
    with hook(ANSWER) as server:
        compacted(server.url, max_bytes=30_000)
    body = json.loads(server.bodies[0])
    assert 25_000 < len(server.bodies[0]) <= 30_000
    sent = [message["index"] for message in body["messages"]]
    assert sent == list(range(body["messages_left_out"], len(CONVERSATION)))
    assert body["messages_left_out"] > 0
    assert set(body["folded"]) <= set(sent)


@pytest.mark.parametrize("focus", ["\x00" * 5000, "😀" * 5000, "\ud800" * 5000])
def test_the_body_is_bounded_whatever_is_in_it(focus: str) -> None:
    with hook(ANSWER) as server:
        compacted(server.url, focus=focus, max_bytes=1000)
    assert len(server.bodies[0]) <= 1000
    assert json.loads(server.bodies[0])["messages_left_out"] > 0


def test_a_long_answer_is_read_in_part_and_cut() -> None:
    with hook((200, "text/plain", "many words " * 400_000)) as server:
        done, scripted = compacted(server.url, use={"max_tokens": 100})
    report = next(call for call in done.report.plugins if call.hook == "on_pre_compress")
    assert (report.failure, report.cut) == (None, True)
    assert report.tokens <= 100
    assert len(scripted.requests[0].memory or "") < 2000


def test_the_report_is_posted_if_asked_for() -> None:
    with hook(ANSWER) as server:
        compacted(server.url, report=True)
    told = json.loads(server.bodies[1])
    assert (told["event"], told["outcome"]) == ("post_compress", "compacted")
    assert told["summary"] == "## Goal\nFix the build."
    assert told["report"]["tokens_after"] < told["report"]["tokens_before"]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"url": "ftp://example.org"},
        {"url": "https://user:" + "pass@example.org/"},
        {"url": "https://example.org", "headers": {"Authorization": "x"}},
        {"url": "https://example.org", "headers": {"X-Api-Key": "x"}},
        {"url": "https://example.org", "secret": "x"},
        {"url": "https://example.org", "retries": -1},
    ],
)
def test_a_wrong_config_is_refused(config: dict[str, Any]) -> None:
    policy = {"version": 1, "extends": "default", "plugins": [{"use": "webhook_memory", "config": config}]}
    with pytest.raises(PolicyError):
        Compactor(policy, environ={})
