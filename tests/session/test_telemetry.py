"""Spans of OpenTelemetry around compactions, where it is installed."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from compactor import Session
from compactor.testing import ScriptedSummarizer, assistant, filler, system, user

HOST = [
    system("You help."),
    *(message for turn in range(20) for message in (user(f"{turn} {filler(2_000)}"), assistant(filler(2_000)))),
    user("And now?"),
]


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    made = TracerProvider()
    trace.set_tracer_provider(made)  # can be set once in a process
    return made


@pytest.fixture
def spans(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


def session() -> Session:
    overrides = {"window.context_length": 8_000, "counter": "estimate"}
    return Session(
        "default", model="m", overrides=overrides, summarizer=ScriptedSummarizer(["## Goal\nGo."]), environ={}
    )


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_compaction_is_a_span(spans: InMemorySpanExporter, asynchronous: bool) -> None:
    guard = session()
    sent = asyncio.run(guard.abefore_call(HOST)) if asynchronous else guard.before_call(HOST)
    assert sent.result is not None
    (span,) = spans.get_finished_spans()
    assert span.name == "compactor.compaction"
    assert span.attributes is not None
    assert dict(span.attributes) == {
        "compactor.trigger": "tokens",
        "gen_ai.request.model": "m",
        "compactor.policy": "default",
        "compactor.outcome": "compacted",
        "compactor.summarizer": "ScriptedSummarizer",
        "compactor.tokens_before": sent.result.report.tokens_before,
        "compactor.tokens_after": sent.result.report.tokens_after,
        "compactor.messages_before": 42,
        "compactor.messages_after": len(sent.messages),
    }


def test_a_compaction_in_the_background_is_a_span_too(spans: InMemorySpanExporter) -> None:
    rule = {"name": "ahead", "at": "before_call", "when": "tokens > 100", "background": True}
    overrides = {"window.context_length": 8_000, "counter": "estimate", "triggers": [rule]}
    guard = Session("default", overrides=overrides, summarizer=ScriptedSummarizer(["## Goal\nGo."]), environ={})
    guard.before_call(HOST)
    assert guard.wait(20)
    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    assert (span.attributes["compactor.trigger"], span.attributes["compactor.outcome"]) == ("ahead", "compacted")


def test_no_compaction_is_no_span(spans: InMemorySpanExporter) -> None:
    session().before_call([user("Hello.")])
    assert spans.get_finished_spans() == ()


def test_it_works_without_opentelemetry() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from compactor import Session\n"
        "host = [{'role': 'user', 'content': f'{n} ' + 'word ' * 900} for n in range(40)]\n"
        "guard = Session('default', overrides={'window.context_length': 20000, 'counter': 'estimate'}, environ={})\n"
        "print(guard.before_call(host).result.outcome)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "compacted", done.stderr
