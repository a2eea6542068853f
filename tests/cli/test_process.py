"""The command as a process: what it imports, and how it ends when it is stopped."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .conftest import SMALL_WINDOW

RUN = "from compactor.cli.main import run; run()"
MODULES = f"""
import sys
try:
    {RUN}
finally:
    print("MODULES", *(name for name in sys.modules if "." not in name), file=sys.stderr)
"""


def modules(*arguments: str) -> set[str]:
    """The top-level modules that the command leaves imported."""
    done = subprocess.run([sys.executable, "-c", MODULES, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.rpartition("MODULES ")[2].split())


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("compress", "--help"), ("policy", "--help")])
def test_help_is_cheap(arguments: tuple[str, ...]) -> None:
    imported = modules(*arguments)
    assert not imported & {"litellm", "tiktoken", "pydantic_settings", "jinja2", "pluggy", "yaml"}
    assert len(arguments) > 1 or "pydantic" not in imported  # the help of a command: Typer may import it by itself


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "long.json", *SMALL_WINDOW),
        ("compress", "long.json", *SMALL_WINDOW, "--summarizer", "extractive", "-o", "out.json"),
        ("compress", "long.json", *SMALL_WINDOW, "-o", "out.json"),
    ],
)
def test_litellm_is_imported_only_to_call_a_model(arguments: tuple[str, ...]) -> None:
    assert "litellm" not in modules(*arguments)


def test_nothing_is_logged_beside_the_report() -> None:
    command = [sys.executable, "-c", RUN, "plan", "short.json", "--set", "boundaries.anchors=[]"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "no anchors" in done.stdout


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-c", RUN, "policy", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_terminal_without_unicode() -> None:
    command = [sys.executable, "-c", RUN, "plan", "long.json", *SMALL_WINDOW]
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=True, env=environ)
    assert done.stdout.isascii()


@pytest.fixture
def silent_server() -> Iterator[tuple[int, threading.Event]]:
    """The port of a server that never answers, and an event that says that it was asked."""
    asked, over = threading.Event(), threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.set()
            over.wait(60)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port, asked
        over.set()
        server.shutdown()
        thread.join()


def test_interrupted(silent_server: tuple[int, threading.Event], workplace: Path) -> None:
    port, asked = silent_server
    before = sorted(workplace.iterdir())
    model = ("--summarizer", "litellm", "--summary-model", "openai/x")
    base = ("--set", f"summary.options.api_base=http://127.0.0.1:{port}")
    command = [sys.executable, "-c", RUN, "compress", "long.json", "-o", "out.json", *SMALL_WINDOW, *model, *base]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert asked.wait(120)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in told
    assert sorted(workplace.iterdir()) == before
