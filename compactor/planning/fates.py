"""A plan told message by message: what becomes of each, why, and which policy key is behind it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from compactor.messages.message import Message
from compactor.planning.plan import Plan


class Fate(StrEnum):
    """What becomes of a message."""

    KEEP = "keep"
    FOLD = "fold"


class Region(StrEnum):
    """The part of the conversation that a message belongs to."""

    SYSTEM = "system"
    HEAD = "head"
    EARLIER = "earlier summary"
    MIDDLE = "middle"
    ANCHOR = "anchor"
    TAIL = "tail"


@dataclass(frozen=True, slots=True)
class MessageFate:
    """The fate of one input message: ``reason`` says why, ``key`` is the policy key behind it.

    ``after`` is the message as pruning leaves it, ``edit`` what pruning did, None where it did nothing.
    """

    message: Message
    after: Message
    fate: Fate
    region: Region
    reason: str
    key: str
    edit: str | None = None


_REASONS = {
    Region.SYSTEM: ("system messages are always kept", ""),
    Region.HEAD: ("among the protected first messages, or in one group with them", "boundaries.protect_first_n"),
    Region.EARLIER: ("an earlier summary, which the new one replaces", "summary.update"),
    Region.MIDDLE: ("between head and tail: goes into the summary", "boundaries.tail_budget_ratio"),
    Region.ANCHOR: ("the newest user message is kept verbatim", "boundaries.anchors"),
    Region.TAIL: ("within the tail's token budget, or in one group with it", "boundaries.tail_budget_ratio"),
}


def fates(plan: Plan, messages: Sequence[Message]) -> tuple[MessageFate, ...]:
    """The fate of every one of ``messages`` (the conversation that the plan was made for), in its order."""
    after = {message.index: message for message in (*plan.head, *plan.between, *plan.tail)}
    regions: dict[int | None, Region] = dict.fromkeys((message.index for message in plan.folded), Region.MIDDLE)
    regions |= _regions(plan.head, Region.HEAD) | _regions(plan.between, Region.ANCHOR)
    regions |= _regions(plan.tail, Region.TAIL)
    told = []
    for message in messages:
        region = regions.get(message.index, Region.EARLIER)
        fate = Fate.FOLD if region in (Region.MIDDLE, Region.EARLIER) else Fate.KEEP
        edit = plan.edits.get(message.index)
        reason, key = _REASONS[region]
        told.append(
            MessageFate(
                message, after.get(message.index, message), fate, region, reason, key, edit.reason if edit else None
            )
        )
    return tuple(told)


def _regions(messages: Iterable[Message], region: Region) -> dict[int | None, Region]:
    return {message.index: Region.SYSTEM if message.is_system else region for message in messages}
