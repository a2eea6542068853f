"""A real HTTP server on 127.0.0.1 that answers any POST as a provider would: with success, a refusal or a stream."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the server says to one request.

    ``body``: text goes out as it is, anything else as JSON. With ``events``, the answer is a stream of server-sent
    events instead, each of them text or JSON; ``breaks_off`` drops the connection after the last one. A
    ``threading.Event`` among them is waited for; one that nobody sets breaks the stream off.
    ``delay`` are seconds before the first byte.
    """

    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[Any] | None = None
    breaks_off: bool = False
    delay: float = 0


@dataclass(frozen=True)
class Received:
    """One request as it came in; header names are in lower case."""

    path: str
    body: Any
    headers: Mapping[str, str]


class ProviderServer:
    """``answers`` are given one after the other, the last one again and again; ``requests`` are what came in.

    ``reply``, where there is one, makes the answer to each request in their place.
    ``url`` has no path: an openai client wants ``url + "/v1"``, an anthropic client ``url``.
    """

    def __init__(self, url: str, answers: Sequence[Answer], reply: "Reply | None" = None) -> None:
        self.url = url
        self.answers = list(answers)
        self.reply = reply
        self.requests: list[Received] = []
        self._lock = threading.Lock()

    def next_answer(self, request: Received) -> Answer:
        """Notes the request; the answer to it."""
        with self._lock:
            self.requests.append(request)
            if self.reply is not None:
                return self.reply(request)
            return self.answers[min(len(self.requests), len(self.answers)) - 1]


Reply = Callable[[Received], Answer]
"""Makes the answer to a request."""


@dataclass
class Window:
    """A ``Reply`` of a provider that counts: it refuses what is longer than ``tokens``, and reports what it counted.

    A prompt costs ``ratio`` tokens for each four characters of its JSON. ``refusal`` makes the answer to one that is
    too long, of its size and the window; ``text`` is said to all others, in the shape and the way (streamed or not)
    that the request asks for. ``prompts`` are the sizes of all requests, ``refused`` is how many were too long.
    """

    tokens: int
    refusal: Callable[[int, int], Answer]
    ratio: float = 1.0
    text: str = "Fine."
    prompts: list[int] = field(default_factory=list)
    refused: int = 0

    def __call__(self, request: Received) -> Answer:
        """The answer to a request."""
        asked = [request.body.get(name) for name in ("system", "messages", "tools")]
        prompt = int(len(json.dumps([part for part in asked if part], ensure_ascii=False)) / 4 * self.ratio)
        self.prompts.append(prompt)
        if prompt > self.tokens:
            self.refused += 1
            return self.refusal(prompt, self.tokens)
        streamed = bool(request.body.get("stream"))
        if request.path.endswith("/messages"):
            say = anthropic_stream if streamed else anthropic_answer
            return say(self.text, prompt_tokens=prompt)
        if streamed:
            return openai_stream([self.text], prompt_tokens=prompt)
        return openai_answer(self.text, prompt_tokens=prompt)


def openai_answer(
    text: str | None = "Fine.", finish_reason: str = "stop", *, prompt_tokens: int = 11, **message: Any
) -> Answer:
    """A chat completion. Usage: 11 tokens in unless said otherwise, 7 out."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text, **message}}
    return Answer(body=_completion("chat.completion", [choice], usage=_usage(prompt_tokens)))


def anthropic_answer(text: str = "Fine.", stop_reason: str = "end_turn", *, prompt_tokens: int = 11) -> Answer:
    """An Anthropic message. Usage: 11 tokens in unless said otherwise, 7 out."""
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": prompt_tokens, "output_tokens": 7},
    }
    return Answer(body=body)


def anthropic_stream(text: str = "Fine.", *, prompt_tokens: int = 11) -> Answer:
    """A streamed Anthropic message, of one delta. Usage: the tokens in come first, those out (7) last."""
    start = {**anthropic_answer("", prompt_tokens=prompt_tokens).body, "content": [], "stop_reason": None}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    events = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    return Answer(events=events)


def openai_stream(
    chunks: Sequence[str | dict[str, Any] | threading.Event] = ("Fi", "ne."),
    *,
    error: Any = None,
    breaks_off: bool = False,
    prompt_tokens: int = 11,
) -> Answer:
    """A streamed chat completion: a chunk of text is a delta, a dictionary goes out as the whole chunk.

    A ``threading.Event`` is waited for before what comes after it is sent.
    ``error`` is the body of an error event after the chunks; ``breaks_off`` drops the connection after them. In both
    cases there is no end of the stream: no finish reason, no usage and no ``[DONE]``.
    """
    events: list[Any] = [
        _chunk([_delta({"role": "assistant", "content": chunk})]) if isinstance(chunk, str) else chunk
        for chunk in chunks
    ]
    if error is not None:
        events.append(error)
    elif not breaks_off:
        events += [_chunk([_delta({}, "stop")]), _chunk([], usage=_usage(prompt_tokens)), "[DONE]"]
    return Answer(events=events, breaks_off=breaks_off)


def _usage(prompt_tokens: int) -> dict[str, int]:
    return {"prompt_tokens": prompt_tokens, "completion_tokens": 7, "total_tokens": prompt_tokens + 7}


def _completion(kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": "1", "object": kind, "created": 1, "model": "m", "choices": choices, **more}


def _chunk(choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return _completion("chat.completion.chunk", choices, **more)


def _delta(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "finish_reason": finish_reason, "delta": delta}


_PATIENCE = 10
"""Seconds that a stream waits for an event."""


def _named(event: Any) -> str:
    """The line that Anthropic puts before the data of an event."""
    kind = event.get("type") if isinstance(event, dict) else None
    return f"event: {kind}\n" if kind else ""


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)


@contextmanager
def serving(*answers: Answer, reply: Reply | None = None) -> Iterator[ProviderServer]:
    """Runs a server with these answers, or with those that ``reply`` makes."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # of a chunked body, a client can tell whether it broke off
        disable_nagle_algorithm = True  # else headers and body are 40 ms apart

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = state.next_answer(Received(self.path, json.loads(raw or b"null"), headers))
            time.sleep(answer.delay)
            try:
                if answer.events is None:
                    self._send(answer)
                else:
                    self._stream(answer, answer.events)
            except ConnectionError:
                self.close_connection = True  # the client did not wait

        def _send(self, answer: Answer) -> None:
            data = _text(answer.body).encode()
            kind = "text/html" if isinstance(answer.body, str) else "application/json"
            self._start(answer, {"content-type": kind, "content-length": str(len(data))})
            self.wfile.write(data)

        def _stream(self, answer: Answer, events: Sequence[Any]) -> None:
            self._start(answer, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
            for event in events:
                if isinstance(event, threading.Event):
                    if event.wait(_PATIENCE):
                        continue
                    self.close_connection = True
                    return
                data = f"{_named(event)}data: {_text(event)}\n\n".encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.wfile.flush()
            if answer.breaks_off:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def _start(self, answer: Answer, headers: Mapping[str, str]) -> None:
            self.send_response(answer.status)
            for name, value in {**headers, **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass  # a client that goes away, or that talks TLS, is part of a test

    server = Server(("127.0.0.1", 0), Handler)
    state = ProviderServer(f"http://127.0.0.1:{server.server_address[1]}", answers, reply)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
