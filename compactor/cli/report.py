"""The report of a compaction for people: every outcome in its own words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compactor.assembly.repair import Repairs
from compactor.cli.files import STANDARD
from compactor.cli.opened import Opened
from compactor.cli.output import Output
from compactor.planning.trigger import FORCED
from compactor.result import CompactionResult, Outcome, Report

LABEL_WIDTH = 10

_DECLINED = "declined: "
"""What the failure of an attempt begins with where a summarizer had nothing to offer, which is no error."""

_STYLES = {
    Outcome.COMPACTED: "bold green",
    Outcome.PRUNED: "bold green",
    Outcome.NOT_NEEDED: "bold",
    Outcome.NOTHING_TO_GAIN: "bold yellow",
    Outcome.CANNOT_FIT: "bold red",
    Outcome.BUSY: "bold yellow",
    Outcome.FAILED: "bold red",
}

_REPAIRS = {
    "orphans": "results without a call removed",
    "duplicates": "repeated results removed",
    "stubs": "calls without a result given a stub",
    "calls": "calls without a result removed",
    "moved": "results moved behind their call",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the report under its label."""

    label: str
    text: str
    style: str = "dim"


def print_report(
    output: Output,
    result: CompactionResult,
    opened: Opened,
    *,
    written: str | None,
    hint: str | None = None,
    notices: Sequence[str] = (),
    state: str | None = None,
) -> None:
    """Prints the report; ``written`` is where the conversation went, ``hint`` what to do where nothing was done,
    ``notices`` are warnings about what was asked for, ``state`` is what was restated behind the summary."""
    output.line(_headline(result), style=_STYLES[result.outcome])
    for row in _rows(result, opened, written, hint, notices, state):
        output.line(row.text, label=f"  {row.label:<{LABEL_WIDTH}}", style=row.style)


def print_summary(output: Output, result: CompactionResult, state: str | None) -> None:
    """Prints the summary, and below it the state that was restated behind it."""
    for text in (result.summary or "(no summary was made)", state):
        if text is not None:
            output.line("")
            for line in text.splitlines():
                output.line(line)


def _headline(result: CompactionResult) -> str:
    report = result.report
    match result.outcome:
        case Outcome.COMPACTED if report.summarizer is None:
            return f"Compacted, but without a summary: {_change(report)}"
        case Outcome.COMPACTED:
            return f"Compacted: {_change(report)}"
        case Outcome.PRUNED:
            return f"Pruned, no summary needed: {_change(report)}"
        case Outcome.NOT_NEEDED:
            return f"Not needed: {result.reason}"
        case Outcome.NOTHING_TO_GAIN:
            return f"Nothing to gain: {result.reason}"
        case Outcome.CANNOT_FIT:
            return f"Cannot fit: {result.reason}"
        case Outcome.BUSY:
            return f"Busy: {result.reason}"
        case Outcome.FAILED:
            return f"Failed: {result.reason}"


def _change(report: Report) -> str:
    before, after = report.tokens_before, report.tokens_after
    share = (after - before) / before if before else 0.0
    return (
        f"{before:,} -> {after:,} tokens ({share * 100:+.0f} %), "
        f"{report.messages_before:,} -> {report.messages_after:,} messages"
    )


def _rows(
    result: CompactionResult,
    opened: Opened,
    written: str | None,
    hint: str | None,
    notices: Sequence[str],
    state: str | None,
) -> Iterator[Row]:
    report = result.report
    if result.changed:
        yield from _what_happened(report, 0 if state is None else opened.compactor.counter.text(state))
    else:
        yield Row("size", f"{report.tokens_before:,} tokens, {report.messages_before:,} messages")
    if report.summarizer is not None or not result.changed:
        yield from _asked(report)
    yield from _extended(report)
    if report.trigger is not None:
        yield Row("trigger", _trigger(report, opened))
    yield Row("window", f"{report.window:,} tokens ({report.window_source}); threshold {report.threshold_tokens:,}")
    if report.target_tokens is not None:
        yield Row("target", f"{report.target_tokens:,} tokens{_met(result)}")
    path = opened.ready.loaded.path
    yield Row("policy", f"{report.policy}{f' ({path})' if path else ''}, counter {report.counter}")
    for warning in (*report.warnings, *notices):
        yield Row("warning", warning, "yellow")
    if result.outcome is Outcome.NOT_NEEDED:
        yield Row("hint", "--force compacts all the same", "cyan")
    if hint is not None:
        yield Row("hint", hint, "cyan")
    yield from _saved(result, written)


def _what_happened(report: Report, state: int) -> Iterator[Row]:
    """``state`` is what the restated state costs in tokens."""
    yield Row("kept", f"head {report.head}, tail {report.tail} messages")
    if report.folded:
        if report.summarizer is None:
            into = "a static note"
        else:
            tokens, budget = report.parts.get("after", {}).get("summary", 0), report.summary_budget
            beside = f", its frame, and {state:,} of restated state" if state else " and its frame"
            into = f"a summary message of {tokens:,} tokens by {_author(report)} (budget {budget:,}{beside})"
        yield Row("folded", f"{report.folded} messages into {into}")
    if report.pruned:
        yield Row("pruned", f"{report.pruned} messages made smaller{', folded ones included' if report.folded else ''}")
    if report.repaired.total:
        yield Row("repaired", _repaired(report.repaired))


def _author(report: Report) -> str:
    model = report.attempts[-1].model if report.attempts else None
    return f"{report.summarizer} ({model})" if model not in (None, report.summarizer) else str(report.summarizer)


def _repaired(repaired: Repairs) -> str:
    counts = {words: getattr(repaired, name) for name, words in _REPAIRS.items()}
    return ", ".join(f"{count} {words}" for words, count in counts.items() if count)


def _asked(report: Report) -> Iterator[Row]:
    """What the summarisers said that made no summary."""
    for attempt in report.attempts:
        if attempt.failure is not None:
            yield Row("asked", f"{attempt.summarizer}: {_answer(attempt.failure)}")


def _answer(failure: str) -> str:
    if not failure.startswith(_DECLINED):
        return failure
    reason = failure.removeprefix(_DECLINED)
    if reason.startswith("no model configured"):
        return "no model named (summary.model, --summary-model), nothing was sent"
    return f"nothing to offer here ({reason})"


def _extended(report: Report) -> Iterator[Row]:
    """The calls of plugins, and the secrets that were kept from them and from summarisers."""
    for call in report.plugins:
        if call.failure is not None:
            yield Row("plugin", f"{call.plugin} {call.hook}: failed: {call.failure} ({call.seconds:.2f} s)", "yellow")
        else:
            cut = ", cut off" if call.cut else ""
            said = f"{call.tokens:,} tokens{cut}" if call.tokens else "nothing returned"
            yield Row("plugin", f"{call.plugin} {call.hook}: {call.seconds:.2f} s, {said}")
    if report.redacted:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.redacted.items()))
        yield Row("redacted", f"{kinds} (by kind; not shown to summarizers and plugins)")


def _trigger(report: Report, opened: Opened) -> str:
    if report.trigger == FORCED:
        return "--force"
    rules = {rule.name: rule.when for rule in opened.compactor.policy.triggers}
    return f"{report.trigger}: {rules.get(str(report.trigger), '')}"


def _met(result: CompactionResult) -> str:
    if not result.changed:
        return ""
    return ", met" if result.target_missed is None else ", missed"


def _saved(result: CompactionResult, written: str | None) -> Iterator[Row]:
    if written is not None:
        where = "standard output" if written == STANDARD else written
        yield Row("saved", where if result.changed else f"{where}, the conversation as it came")
    elif result.changed:
        yield Row("not saved", "-o OUT saves it, -o - prints it, --in-place replaces FILE", "cyan")
    elif result.outcome in (Outcome.CANNOT_FIT, Outcome.FAILED):
        yield Row("not saved", "nothing was written; the conversation is as it was")
    else:
        yield Row("not saved", "the conversation is as it was")
