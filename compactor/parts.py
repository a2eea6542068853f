"""Tokens by part of a conversation, before and after a compaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from compactor.assembly.finish import Finished
from compactor.conversation import Conversation
from compactor.extension.protocols import Counter
from compactor.messages.earlier import own_parts
from compactor.messages.message import Message, Raw
from compactor.planning.plan import Plan


def parts_before(counter: Counter, conversation: Conversation, plan: Plan, total: int) -> Mapping[str, int]:
    """``system``, ``tools``, ``head``, ``middle`` and ``tail`` as they came; they sum up to ``total``.

    Only what stays is counted; the middle is the rest, so the cost does not grow with it.
    """
    first = conversation.given[0].index if conversation.given else 0
    offset = -first if first is not None else 0
    kept = {}
    for name, messages in {"head": plan.head, "tail": (*plan.between, *plan.tail)}.items():
        came = [conversation.given[message.index + offset] for message in messages if message.index is not None]
        kept[name] = _split(came)
    parts = {
        "system": _tokens(counter, [*kept["head"][0], *kept["tail"][0]]),
        "tools": counter.request((), conversation.tools) if conversation.tools else 0,
        "head": _tokens(counter, kept["head"][1]),
        "tail": _tokens(counter, kept["tail"][1]),
    }
    middle = max(total - sum(parts.values()), 0)
    return {**parts, "middle": middle}


def parts_after(counter: Counter, finished: Finished, tools: Sequence[Raw], total: int) -> Mapping[str, int]:
    """``system``, ``tools``, ``head``, ``summary`` and ``tail`` of a result; they sum up to ``total``."""
    place = finished.summary_index
    system, _ = _split(finished.parsed)
    parts = {
        "system": _tokens(counter, system),
        "tools": counter.request((), tools) if tools else 0,
        "head": 0,
        "summary": 0,
    }
    if place is not None:
        before = _split(finished.parsed[:place])[1]
        summary = finished.parsed[place]
        parts["head"] = _tokens(counter, before)
        # A summary that joined a message is counted without the rest of it.
        own = replace(summary, parts=own_parts(summary))
        parts["summary"] = counter.message(summary) - (counter.message(own) if own.parts else 0)
    return {**parts, "tail": max(total - sum(parts.values()), 0)}


def _split(messages: Iterable[Message]) -> tuple[list[Message], list[Message]]:
    """System messages, and the others."""
    kept = list(messages)
    return [message for message in kept if message.is_system], [message for message in kept if not message.is_system]


def _tokens(counter: Counter, messages: Iterable[Message]) -> int:
    return sum(map(counter.message, messages))
