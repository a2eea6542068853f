"""Spans of OpenTelemetry, where its API is installed; without it nothing happens."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Protocol

from compactor.planning.trigger import Decision
from compactor.result import CompactionResult


class Span(Protocol):
    """A span that a result can be written to."""

    def end_with(self, result: CompactionResult) -> None: ...


@contextmanager
def compaction_span(decision: Decision, model: str | None) -> Iterator[Span]:
    """A span around one compaction, with the rule that asked for it; the spans of model calls lie within."""
    if not _installed():
        yield _NoSpan()
        return
    from opentelemetry import trace

    tracer = trace.get_tracer("compactor")
    attributes = {"compactor.trigger": decision.rule or "", "gen_ai.request.model": model or ""}
    with tracer.start_as_current_span("compactor.compaction", attributes=attributes) as span:
        yield _OpenTelemetrySpan(span)


@lru_cache(maxsize=1)
def _installed() -> bool:
    try:
        return find_spec("opentelemetry.trace") is not None
    except ModuleNotFoundError:
        return False


class _NoSpan:
    def end_with(self, result: CompactionResult) -> None:
        """Nobody asked."""


class _OpenTelemetrySpan:
    def __init__(self, span: Any) -> None:
        self._span = span

    def end_with(self, result: CompactionResult) -> None:
        report = result.report
        self._span.set_attributes(
            {
                "compactor.policy": report.policy,
                "compactor.outcome": result.outcome.value,
                "compactor.summarizer": report.summarizer or "",
                "compactor.tokens_before": report.tokens_before,
                "compactor.tokens_after": report.tokens_after,
                "compactor.messages_before": report.messages_before,
                "compactor.messages_after": report.messages_after,
            }
        )
