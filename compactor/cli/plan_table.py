"""A plan for people: the decision, a table that is laid out so that no reason is ever cut, and the bars."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len

from compactor.cli.bars import print_bars
from compactor.cli.output import GAP, Column, Output, folded, printable
from compactor.cli.plan_report import PREVIEW, Planned, beginning
from compactor.messages.message import Message
from compactor.planning.fates import Fate, MessageFate
from compactor.planning.plan import Plan

MANY = 60
"""Messages from which on a row of the table stands for a run of them, unless every one is asked for."""

_TITLES = ("#", "role", "tokens", "becomes", "edit", "why")

_LEAST_TEXT = 12
"""Characters of a message's text below which it tells nothing."""

_INDENT = "    "
"""What stands before a line under a row."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What is told of a run of messages: the cells before ``edit``, and the rest by itself."""

    cells: tuple[str, ...]
    edit: str
    why: tuple[str, ...]
    text: str


def print_plan(output: Output, planned: Planned, *, hint: str | None, every: bool) -> None:
    """Prints the decision, the table and the bars."""
    _print_decision(output, planned)
    for warning in planned.opened.ready.warnings:
        output.wrapped(warning, label="warning: ", style="yellow")
    if hint is not None:  # not wrapped: what it says to use is to be copied
        output.line(hint, label="hint: ", style="cyan")
    output.line("")
    collapsed = not every and len(planned.fates) > MANY
    rows = list(_runs(planned)) if collapsed else [_row(planned, [fate]) for fate in planned.fates]
    _print_table(output, rows)
    if any(fate.edit and fate.fate is Fate.KEEP for fate in planned.fates):
        kept = "Kept messages that are pruned stay in place; only old output in them is cleared."
        output.wrapped(kept, style="dim")
    if collapsed:
        output.wrapped("A row stands for messages with the same fate; --all shows every one.", style="dim")
    output.line("")
    print_bars(output, planned.before, planned.after, total=planned.plan.tokens)


def _print_decision(output: Output, planned: Planned) -> None:
    plan, limits = planned.plan, planned.plan.limits
    policy = planned.opened.compactor.policy
    output.wrapped(_headline(plan), style="bold")
    window = limits.window
    target = "" if limits.target is None else f", target {limits.target:,}"
    budgets = f"threshold {limits.threshold:,}{target}, window {window.tokens:,} ({window.source})"
    output.wrapped(f"{plan.tokens:,} tokens; {budgets}")
    ceiling = int(limits.tail * policy.boundaries.tail_soft_ceiling)
    tail = f"tail budget {limits.tail:,} tokens{f', up to {ceiling:,}' if ceiling > limits.tail else ''}"
    summary = f"summary budget {plan.summary_tokens:,} tokens"
    output.wrapped(f"policy {policy.name} ({planned.opened.ready.loaded.path}); {tail}; {summary}")


def _headline(plan: Plan) -> str:
    decision = plan.decision
    due = f"Due: {decision.reason}" if decision.due else f"Not due: {decision.reason}"
    if plan.pruned_only:
        return f"{due}. Pruning {len(plan.edits)} messages would be enough."
    if not plan.folded:
        return f"{due}. Nothing would be folded."
    return f"{due}. {len(plan.folded)} messages would be folded, {len(plan.edits)} pruned."


def _runs(planned: Planned) -> Iterator[_Row]:
    for _, run in groupby(
        planned.fates, key=lambda fate: (fate.fate, fate.region, fate.message.index in planned.grouped)
    ):
        yield _row(planned, list(run), counted=True)


def _row(planned: Planned, run: Sequence[MessageFate], *, counted: bool = False) -> _Row:
    """A row for messages of one fate; edits are told, or ``counted`` where rows stand for many."""
    first, last = run[0], run[-1]
    came = sum(planned.tokens(fate.message) for fate in run)
    left = sum(planned.tokens(fate.after) for fate in run)
    edits = [fate.edit for fate in run if fate.edit is not None]
    alone = len(run) == 1
    cells = (
        _place(first.message) if alone else f"{_place(first.message)}-{_place(last.message)}",
        first.message.role if alone else f"{len(run)} messages",
        f"{came:,}" if came == left else f"{came:,} -> {left:,}",
        f"{first.fate} ({first.region})",
    )
    edit = (f"{len(edits)} pruned" if counted else edits[0]) if edits else ""
    return _Row(cells, edit, planned.why(first), beginning(first.message))


def _place(message: Message) -> str:
    """The message's index in the input; a system prompt that stands apart has none."""
    return "-" if message.index is None or message.index < 0 else str(message.index)


def _print_table(output: Output, rows: Sequence[_Row]) -> None:
    """The table; what has no room in it as a column stands under the row, but for the text, which is left out."""
    widths = _widths(rows)
    for under in ((), ("why",), ("edit", "why")):
        titles = [title for title in _TITLES if title not in under]
        taken = sum(widths[title] for title in titles) + GAP * (len(titles) - 1)
        if taken <= output.width:
            break
    columns = [Column(title, right=title == "tokens", whole=title != "why", width=widths[title]) for title in titles]
    room = output.width - taken - GAP
    with_text = room >= _LEAST_TEXT
    if with_text:
        columns.append(Column("text", whole=True))
    shown = []
    for row in rows:
        cells = (*row.cells, *([] if "edit" in under else [row.edit]), *([] if "why" in under else [" ".join(row.why)]))
        shown.append((*cells, output.shortened(row.text, min(room, PREVIEW))) if with_text else cells)
    below = [[_INDENT + ", ".join(under)], *(_under(row, under, output.width) for row in rows)] if under else []
    output.table(columns, shown, below=below, least=taken)


def _widths(rows: Sequence[_Row]) -> dict[str, int]:
    """How wide every column has to be for what is in it; a reason may take several lines, but none of its parts."""
    columns = [*zip(*(row.cells for row in rows), strict=True), [row.edit for row in rows]]
    parts = [*columns, [part for row in rows for part in row.why]]
    return {
        title: max(cell_len(printable(text)) for text in (title, *texts))
        for title, texts in zip(_TITLES, parts, strict=True)
    }


def _under(row: _Row, under: Sequence[str], width: int) -> list[str]:
    told = [row.edit] if row.edit and "edit" in under else []
    return [line for text in (*told, *row.why) for line in folded(printable(text), width, indent=_INDENT)]
