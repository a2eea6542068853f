"""A real HTTP server on 127.0.0.1 that speaks just enough of the chat-completions protocol."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelServer:
    """``answers`` are sent one after the other, the last one again and again; ``requests`` are the bodies received.

    An answer is (status, body); a number for the status 0 means: wait so many seconds, then drop the connection.
    """

    def __init__(self, url: str, answers: list[tuple[int, Any]]) -> None:
        self.url = url
        self.answers = answers
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []


def completion(text: str | None, finish_reason: str = "stop", **message: Any) -> tuple[int, dict[str, Any]]:
    """A successful answer."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return 200, {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def failure(status: int, message: str) -> tuple[int, dict[str, Any]]:
    """An answer that is an error."""
    return status, {"error": {"message": message, "type": "error", "code": None}}


@contextmanager
def serving(*answers: tuple[int, Any]) -> Iterator[ModelServer]:
    """Runs a server with these answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            state.requests.append(json.loads(body))
            state.keys.append(self.headers.get("authorization"))
            status, answer = state.answers[min(len(state.requests), len(state.answers)) - 1]
            if status == 0:
                time.sleep(answer)
                return
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = ModelServer(f"http://127.0.0.1:{server.server_address[1]}/v1", list(answers))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
