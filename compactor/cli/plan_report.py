"""A plan for people and as JSON: what becomes of every message, and tokens by part."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from compactor.cli.bars import print_bars
from compactor.cli.opened import Opened
from compactor.cli.output import Column, Output, printable
from compactor.extension.protocols import Counter
from compactor.messages.message import Message, Raw
from compactor.parts import parts_before
from compactor.planning.fates import MessageFate, Region, fates
from compactor.planning.plan import Plan

MANY = 60
"""Messages from which on a row of the table stands for a run of them, unless every one is asked for."""

PREVIEW = 60
"""Characters of a message's text that are shown."""


_PARTS: Mapping[Region, str] = {
    Region.EARLIER: "middle",
    Region.MIDDLE: "middle",
    Region.ANCHOR: "tail",
    Region.TAIL: "tail",
}
"""The part in which the tokens of a message are counted, for the regions whose part may hold none."""

_LAST_FIRST = ("tail", "middle", "head", "system", "tools")


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what is needed to tell it: the fate of every message, and tokens by part."""

    opened: Opened
    plan: Plan
    fates: tuple[MessageFate, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]

    @classmethod
    def of(cls, opened: Opened) -> "Planned":
        """Plans a conversation."""
        plan, conversation, counter = opened.plan(), opened.conversation, opened.compactor.counter
        told = fates(plan, conversation.given)
        there = {_PARTS.get(fate.region) for fate in told if not fate.message.is_system}
        before = _only_there(parts_before(counter, conversation, plan, plan.tokens), there)
        after = _only_there(_parts_after(counter, plan, conversation.tools), there)
        return cls(opened, plan, told, before, after)

    def tokens(self, message: Message) -> int:
        """What one message costs."""
        return self.opened.compactor.counter.message(message)

    def why(self, fate: MessageFate) -> str:
        """The policy key behind a fate, and where it is set."""
        return f"{fate.key} ({self.opened.ready.loaded.line(fate.key)})" if fate.key else fate.reason


def _parts_after(counter: Counter, plan: Plan, tools: Sequence[Raw]) -> Mapping[str, int]:
    """Tokens by part as they would be with a summary of the size that it aims at."""

    def cost(messages: Iterable[Message], *, system: bool) -> int:
        return sum(counter.message(message) for message in messages if message.is_system is system)

    kept = (*plan.head, *plan.between, *plan.tail)
    parts = {
        "system": cost(kept, system=True),
        "tools": counter.request((), tools) if tools else 0,
        "head": cost(plan.head, system=False),
    }
    rest = counter.request(kept, tools) - sum(parts.values())
    return {**parts, "summary": plan.summary_tokens if plan.folded else 0, "tail": max(rest, 0)}


def _only_there(parts: Mapping[str, int], there: Collection[str | None]) -> Mapping[str, int]:
    """The parts, with nothing for a middle or tail that holds no message.

    What a request costs beside its messages is in the part that was not counted but is the rest; it belongs to the
    last part that is there.
    """
    empty = {"middle", "tail"}.intersection(parts).difference(there)
    last = next((name for name in _LAST_FIRST if parts.get(name) and name not in empty), None)
    if last is None:
        return parts
    beside = sum(parts[name] for name in empty)
    return {**parts, **dict.fromkeys(empty, 0), last: parts[last] + beside}


def print_plan(output: Output, planned: Planned, *, hint: str | None, every: bool) -> None:
    """Prints the decision, the table and the bars."""
    plan, limits = planned.plan, planned.plan.limits
    output.line(_headline(plan), style="bold")
    window = limits.window
    target = "" if limits.target is None else f", target {limits.target:,}"
    policy = f"{planned.opened.compactor.policy.name} ({planned.opened.ready.loaded.path})"
    budgets = f"threshold {limits.threshold:,}{target}, window {window.tokens:,} ({window.source})"
    output.line(f"{plan.tokens:,} tokens; {budgets}")
    output.line(f"policy {policy}, tail budget {limits.tail:,} tokens, summary budget {plan.summary_tokens:,} tokens")
    for warning in planned.opened.ready.warnings:
        output.line(warning, label="warning: ", style="yellow")
    if hint is not None:
        output.line(hint, label="hint: ", style="cyan")
    output.line("")
    collapsed = not every and len(planned.fates) > MANY
    rows = _runs(planned) if collapsed else [_row(planned, [fate]) for fate in planned.fates]
    output.table(_columns(output), rows)
    if collapsed:
        output.line("A row stands for messages with the same fate; --all shows every one.", style="dim")
    output.line("")
    print_bars(output, planned.before, planned.after, total=plan.tokens)


def _columns(output: Output) -> Sequence[Column]:
    return (
        Column("#", whole=True),
        Column("role", whole=True),
        Column("tokens", right=True),
        Column("becomes", whole=True),
        Column("edit"),
        Column("why", least=54 if output.width >= 120 else 28),  # a key with its line, or the key on a line of its own
        Column("text", cut=True),
    )


def _headline(plan: Plan) -> str:
    decision = plan.decision
    due = f"Due: {decision.reason}" if decision.due else f"Not due: {decision.reason}"
    if plan.pruned_only:
        return f"{due}. Pruning {len(plan.edits)} messages would be enough."
    if not plan.folded:
        return f"{due}. Nothing would be folded."
    return f"{due}. {len(plan.folded)} messages would be folded, {len(plan.edits)} pruned."


def _runs(planned: Planned) -> Iterator[Sequence[str]]:
    for _, run in groupby(planned.fates, key=lambda fate: (fate.fate, fate.region)):
        yield _row(planned, list(run))


def _row(planned: Planned, run: Sequence[MessageFate]) -> Sequence[str]:
    """A row for messages of one fate."""
    first, last = run[0], run[-1]
    came = sum(planned.tokens(fate.message) for fate in run)
    left = sum(planned.tokens(fate.after) for fate in run)
    edits = [fate.edit for fate in run if fate.edit is not None]
    alone = len(run) == 1
    return (
        _place(first.message) if alone else f"{_place(first.message)}-{_place(last.message)}",
        first.message.role if alone else f"{len(run)} messages",
        f"{came:,}" if came == left else f"{came:,} -> {left:,}",
        f"{first.fate} ({first.region})",
        (edits[0] if alone else f"{len(edits)} pruned") if edits else "",
        planned.why(first),
        preview(first.message),
    )


def _place(message: Message) -> str:
    """The message's index in the input; a system prompt that stands apart has none."""
    return "-" if message.index is None or message.index < 0 else str(message.index)


def preview(message: Message, characters: int = PREVIEW) -> str:
    """The beginning of a message's text on one line; what it calls where it has no text."""
    text = message.text or ", ".join(f"{call.name}({call.arguments})" for call in message.calls)
    # A multiple is enough: blanks are joined before the text is cut.
    line = " ".join(printable(text[: 20 * characters]).split())
    return line if len(line) <= characters else line[: characters - 3] + "..."


def to_dict(planned: Planned) -> dict[str, Any]:
    """The plan as plain data for JSON."""
    plan, limits, ready = planned.plan, planned.plan.limits, planned.opened.ready
    return {
        "due": plan.decision.due,
        "trigger": plan.decision.rule,
        "reason": plan.decision.reason,
        "policy": ready.policy.name,
        "model": ready.model,
        "counter": ready.policy.counter,
        "window": limits.window.tokens,
        "window_source": limits.window.source,
        "threshold_tokens": limits.threshold,
        "target_tokens": limits.target,
        "tail_tokens": limits.tail,
        "summary_tokens": plan.summary_tokens,
        "tokens": plan.tokens,
        "messages": len(planned.fates),
        "head": len(plan.head),
        "folded": len(plan.folded),
        "tail": len(plan.between) + len(plan.tail),
        "pruned": len(plan.edits),
        "pruned_only": plan.pruned_only,
        "parts": {"before": dict(planned.before), "after": dict(planned.after)},
        "warnings": list(ready.warnings),
        "fates": [_fate_dict(planned, fate) for fate in planned.fates],
    }


def _fate_dict(planned: Planned, fate: MessageFate) -> dict[str, Any]:
    return {
        "index": None if fate.message.index is None or fate.message.index < 0 else fate.message.index,
        "role": fate.message.role,
        "tokens": planned.tokens(fate.message),
        "tokens_after": planned.tokens(fate.after),
        "becomes": str(fate.fate),
        "region": str(fate.region),
        "edit": fate.edit,
        "reason": fate.reason,
        "key": fate.key,
        "where": planned.opened.ready.loaded.line(fate.key) if fate.key else None,
        "preview": preview(fate.message),
    }
