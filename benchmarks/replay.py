"""What a session costs over a whole life: transcripts replayed message by message, compacted when due.

A session looks at the conversation before every answer of the model, as an agent would have it. The window is half of
what the transcript comes to. The summarizer works without a model.
"""

import json
import logging
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring import Row
from benchmarks.transcripts import Messages, transcript
from compactor.errors import CannotFit
from compactor.session.session import Session

CORPUS = Path(os.environ.get("COMPACTOR_TEST_CORPUS", Path(__file__).parents[2] / "shared" / "corpus" / "dev"))
POLICIES = ("default", "hermes")
MODEL = "gpt-4o"
GENERATED = (200, 400, 600, 1_000)
"""Messages of the transcripts that stand in where there are no real ones."""

SMALLEST_WINDOW = 8_000
"""Tokens."""


@dataclass(slots=True)
class Lives:
    """What was seen: the CPU seconds of each check without and with a compaction, and how many lives ended early."""

    checks: list[float] = field(default_factory=list)
    compactions: list[float] = field(default_factory=list)
    cannot_fit: int = 0


def measure(rounds: int) -> Iterator[Row]:
    """Compactions, and CPU milliseconds of checks and compactions, by policy.

    Each transcript is lived once, with hundreds of checks: ``rounds`` is not used.
    """
    logging.getLogger("compactor").setLevel(logging.CRITICAL)
    transcripts = dict(conversations())
    for policy in POLICIES:
        lives = Lives()
        for messages, tools in transcripts.values():
            live(policy, messages, tools, lives)
        yield from rows(f"{policy}, {len(transcripts)} transcripts", lives)


def conversations() -> Iterator[tuple[str, tuple[Messages, Sequence[Any]]]]:
    """Messages and tools by name: real transcripts where they are beside the project, else generated ones."""
    files = sorted((CORPUS / "chat").glob("*.json"))
    for path in files:
        document = json.loads(path.read_text("utf-8"))
        yield path.stem, (document["messages"], document.get("tools") or ())
    if not files:
        yield from ((f"generated, {length}", (transcript(length), ())) for length in GENERATED)


def live(policy: str, messages: Messages, tools: Sequence[Any], lives: Lives) -> None:
    """Lives through one transcript, up to where no compaction helps any more."""
    overrides = {"summary.summarizers": ["extractive"]}
    whole = Session(policy, model=MODEL, overrides=overrides, environ={}).check(messages, tools=tools)
    window = max(whole.variables["tokens"] // 2, SMALLEST_WINDOW)
    session = Session(policy, model=MODEL, overrides={**overrides, "window.context_length": window}, environ={})
    host: Messages = []
    for message in messages:
        if message["role"] == "assistant" and host:
            started = time.process_time()
            try:
                outgoing = session.before_call(host, tools=tools)
            except CannotFit:
                lives.cannot_fit += 1
                return
            taken = time.process_time() - started
            (lives.checks if outgoing.result is None else lives.compactions).append(taken)
        host.append(message)


def rows(name: str, lives: Lives) -> Iterator[Row]:
    """The table's lines for one policy."""
    yield Row(f"replay, {name}: checks", len(lives.checks), "")
    yield Row(f"replay, {name}: compactions", len(lives.compactions), "")
    yield Row(f"replay, {name}: ended as it could not fit", lives.cannot_fit, "")
    for kind, seconds in (("check", lives.checks), ("compaction", lives.compactions)):
        yield Row(f"replay, {name}: {kind}, median", statistics.median(seconds) * 1000, "ms")
        yield Row(f"replay, {name}: {kind}, longest", max(seconds) * 1000, "ms")
