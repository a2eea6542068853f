"""A check for people: the verdict, the rules, the numbers that they look at, and what to do next."""

import shlex
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from compactor.cli import options
from compactor.cli.check_report import Checked, Verdict
from compactor.cli.output import GAP, Column, Output, folded, printable
from compactor.policy.expressions import VARIABLES

ALWAYS_SHOWN = frozenset(("tokens", "threshold_tokens", "context_length"))
"""The variables that are shown whether a rule asks for them or not."""

_MOMENTS = {
    "turn_start": "a turn begins",
    "tool_results": "tool results are sent",
    "error": "a provider refuses a request",
    "manual": "the caller forces a compaction",
}
"""When the rules are asked that a moment's own table leaves out."""

_LEAST_TEXT = 28
"""Characters of a column of text below which it is hard to read."""


def print_check(output: Output, checked: Checked, file: str) -> None:
    """Prints the check of a ``file``, as it was named on the command line."""
    _print_decision(output, checked)
    asked = [verdict for verdict in checked.verdicts if verdict.asked]
    others = [verdict for verdict in checked.verdicts if not verdict.asked]
    if asked:
        output.line("")
        _print_rules(output, asked)
    for verdict in asked:
        if verdict.failure is not None:
            output.wrapped(f"{verdict.rule.name}: {verdict.failure}; it counts as not true", style="yellow")
    if asked and not checked.enabled:
        where = checked.opened.ready.loaded.line("enabled")
        output.wrapped(f"None of these is asked: enabled is false ({where}).", style="yellow")
    if others:
        output.line("")
    for verdict in others:
        output.wrapped(_elsewhere(verdict), style="dim")
    output.line("")
    _print_variables(output, checked, asked)
    if checked.decision.due:
        output.line("")
        _print_next(output, checked, file)


def _print_decision(output: Output, checked: Checked) -> None:
    decision, ready = checked.decision, checked.opened.ready
    output.wrapped(f"{'Due' if decision.due else 'Not due'}: {decision.reason}", style="bold")
    read_off = f"the newest message is {'a' if checked.at == 'tool_results' else 'no'} tool result"
    window = ready.limits.window
    output.wrapped(
        f"asked at {checked.at} ({'--at' if checked.named else read_off}); "
        f"window {window.tokens:,} ({window.source}); policy {ready.policy.name} ({ready.loaded.path})"
    )
    for warning in checked.warnings:
        output.wrapped(warning, label="warning: ", style="yellow")


def _print_rules(output: Output, verdicts: Sequence[Verdict]) -> None:
    """A row for every rule; where columns are few, its condition has a line of its own."""
    titles = ("rule", "true", "where")
    rows = [(_named(verdict), _said(verdict), verdict.where) for verdict in verdicts]
    widths = _widths((titles, *rows))
    name, true, where = (Column(title, whole=True, width=width) for title, width in zip(titles, widths, strict=True))
    conditions = [verdict.rule.trigger.when or "always" for verdict in verdicts]
    if _total((*widths, _LEAST_TEXT)) <= output.width:
        wide = [(*row[:2], condition, row[2]) for row, condition in zip(rows, conditions, strict=True)]
        output.table((name, true, Column("when"), where), wide)
        return
    below = [folded(printable(text), output.width, indent="    ", hanging="  ") for text in ("when", *conditions)]
    output.table((name, true, where), rows, below=below, least=_total(widths))


def _named(verdict: Verdict) -> str:
    trigger = verdict.rule.trigger
    return f"{trigger.name} (background)" if trigger.background else trigger.name


def _said(verdict: Verdict) -> str:
    if verdict.true is None:
        return "unknown"
    return "yes" if verdict.true else "no"


def _elsewhere(verdict: Verdict) -> str:
    """A rule of another moment: when it is asked, and what it asks."""
    trigger = verdict.rule.trigger
    kind = f" ({trigger.error})" if trigger.error else ""
    condition = trigger.when or "always"
    return f"{trigger.name}: asked when {_MOMENTS[trigger.at]}{kind}: {condition} ({verdict.where})"


def _print_variables(output: Output, checked: Checked, asked: Sequence[Verdict]) -> None:
    """The numbers that the rules look at, and those that are always of interest."""
    values, meanings = checked.decision.variables, VARIABLES[checked.at]
    shown = ALWAYS_SHOWN.union(*(verdict.rule.names for verdict in asked))
    rows = [(name, f"{values[name]:,}", meanings[name]) for name in meanings if name in shown]
    name, value, _ = _widths((("variable", "value", ""), *rows))
    columns = (Column("variable", whole=True, width=name), Column("value", right=True, width=value), Column("meaning"))
    output.table(columns, rows, least=_total((name, value, _LEAST_TEXT)))


def _print_next(output: Output, checked: Checked, file: str) -> None:
    """Commands that look at the compaction and make it; not wrapped, as they are to be copied."""
    again = (file, *_given(checked.opened.choices))
    force = () if checked.due_without else ("--force",)
    for command in (("plan", *again), ("compress", *again, *force, "-o", "OUT")):
        output.line(shlex.join(("compactor", *command)), label="next: ", style="cyan")
    if force:
        why = "compress asks the rules at turn_start and knows no usage, so that nothing would be due: hence --force"
        output.wrapped(why, label="note: ", style="cyan")


def _given(choices: options.Choices) -> Iterator[str]:
    """The options that led to the policy, as they were given."""
    if choices.policy != options.DEFAULT_POLICY:
        yield from ("--policy", choices.policy)
    named = (("--model", choices.model), ("--context-length", choices.context_length), ("--target", choices.target))
    for option, value in (*named, *(("--set", text) for text in choices.sets or ())):
        if value is not None:
            yield from (option, value)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide every column has to be for what is in it."""
    return [max(cell_len(printable(text)) for text in column) for column in zip(*rows, strict=True)]


def _total(widths: Sequence[int]) -> int:
    """The width of a table that has columns of these widths."""
    return sum(widths) + GAP * (len(widths) - 1)
