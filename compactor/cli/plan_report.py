"""A plan as it is told: the fate of every message and why, tokens by part; and all of it as JSON."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compactor.cli.opened import Opened
from compactor.cli.output import printable
from compactor.extension.protocols import Counter
from compactor.messages.message import Message, Raw
from compactor.parts import parts_before
from compactor.planning.fates import MessageFate, Region, fates
from compactor.planning.plan import Plan

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
    """A plan with what is needed to tell it: the fate of every message, and tokens by part.

    ``grouped`` are the indexes of messages of the head that are kept only for the sake of their group: they lie
    beyond what the policy protects.
    """

    opened: Opened
    plan: Plan
    fates: tuple[MessageFate, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]
    grouped: frozenset[int | None]

    @classmethod
    def of(cls, opened: Opened) -> "Planned":
        """Plans a conversation."""
        plan, conversation, counter = opened.plan(), opened.conversation, opened.compactor.counter
        told = fates(plan, conversation.given)
        there = {_PARTS.get(fate.region) for fate in told if not fate.message.is_system}
        before = _only_there(parts_before(counter, conversation, plan, plan.tokens), there)
        after = _only_there(_parts_after(counter, plan, conversation.tools), there)
        protected = opened.compactor.policy.boundaries.protect_first_n
        grouped = frozenset(message.index for message in plan.head[protected:] if not message.is_system)
        return cls(opened, plan, told, before, after, grouped)

    def tokens(self, message: Message) -> int:
        """What one message costs."""
        return self.opened.compactor.counter.message(message)

    def why(self, fate: MessageFate) -> tuple[str, ...]:
        """The policy key behind a fate and where it is set, with words before it where the key alone says too little;
        each part is one that should stay on one line."""
        if not fate.key:
            return (fate.reason,)
        where = f"{fate.key} ({self.opened.ready.loaded.line(fate.key)})"
        return ("in one group with a protected message:", where) if fate.message.index in self.grouped else (where,)


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
        "preview": _preview(fate.message),
    }


def beginning(message: Message) -> str:
    """Where a message's text begins, on one line and at least as long as a preview; what it calls without a text."""
    text = message.text or ", ".join(f"{call.name}({call.arguments})" for call in message.calls)
    # A multiple is enough: blanks are joined before the text is cut.
    return " ".join(printable(text[: 20 * PREVIEW]).split())


def _preview(message: Message) -> str:
    line = beginning(message)
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1].rstrip() + "…"
