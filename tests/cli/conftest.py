"""An empty working directory, an environment with nothing of the user's, and the command run in it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compactor.cli.app import app
from compactor.testing import assistant, rounds, system, user

Run = Callable[..., Any]
Save = Callable[..., str]

LONG = [
    system("You are a coding agent."),
    user("Make the build faster in src/build.py, never touch vendor/."),
    *rounds(40, chars=1500),
    assistant("Found it: the cache is off."),
    user("Then turn it on and run the tests."),
    *rounds(4, chars=1500, first=40),
]
"""A session of about 14,000 tokens."""

SHORT = [user("hi"), assistant("hello"), user("bye")]

DATA = Path(__file__).parent.parent / "data"

SMALL_WINDOW = ("--context-length", "16000")
"""A window for which ``LONG`` is due."""


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test, with ``long.json`` and ``short.json`` in it."""
    workplace = tmp_path / "work"
    workplace.mkdir()
    monkeypatch.chdir(workplace)
    for name in list(os.environ):
        if name.startswith("COMPACTOR_") or name.endswith(("_API_KEY", "_COLOR")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "160")
    Path("long.json").write_text(json.dumps(LONG), encoding="utf-8")
    Path("short.json").write_text(json.dumps(SHORT), encoding="utf-8")
    return workplace


@pytest.fixture
def run() -> Run:
    """Run the command; the result has ``exit_code``, ``stdout`` and ``stderr``."""

    def run(*arguments: str, given: bytes | str | None = None) -> Any:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run
