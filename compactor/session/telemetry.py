"""Spans of OpenTelemetry, where its API is installed; without it nothing happens."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from compactor.compaction import Compaction, Steps
from compactor.result import CompactionResult


def spanned(compaction: Compaction) -> Steps:
    """The steps of a compaction within a span; the spans of the model calls that it makes lie within that."""
    with _span(compaction) as span:
        result = yield from compaction.steps()
        if span is not None:
            span.set_attributes(_attributes(result))
    return result


@contextmanager
def _span(compaction: Compaction) -> Iterator[Any]:
    if not _installed():
        yield None
        return
    from opentelemetry import trace

    asked = {
        "compactor.trigger": compaction.decision.rule or "",
        "gen_ai.request.model": compaction.ready.model or "",
    }
    with trace.get_tracer("compactor").start_as_current_span("compactor.compaction", attributes=asked) as span:
        yield span


@lru_cache(maxsize=1)
def _installed() -> bool:
    try:
        return find_spec("opentelemetry.trace") is not None
    except ModuleNotFoundError:
        return False


def _attributes(result: CompactionResult) -> dict[str, str | int]:
    report = result.report
    return {
        "compactor.policy": report.policy,
        "compactor.outcome": result.outcome.value,
        "compactor.summarizer": report.summarizer or "",
        "compactor.tokens_before": report.tokens_before,
        "compactor.tokens_after": report.tokens_after,
        "compactor.messages_before": report.messages_before,
        "compactor.messages_after": report.messages_after,
    }
