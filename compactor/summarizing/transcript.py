"""What the summariser is given: the folded turns as text, and the prompt around it."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from compactor.messages.message import Media, Message, Opaque, Part, Text, ToolResult
from compactor.policy.models import Policy
from compactor.templates import Templates


class Call(NamedTuple):
    """A tool call as templates see it."""

    name: str
    arguments: str


class Turn(NamedTuple):
    """A message as templates see it; ``call_id`` is None but for tool results.

    A tuple, because the sandbox looks closely at every attribute: unpacking is ten times faster.
    """

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str | None = None


def turns_of(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The turns of messages: one each, and one for every result of a message that holds several."""
    turns: list[Turn] = []
    for message in messages:
        results = message.results
        for result in results:
            name = result.ids[0] if result.ids else "?"
            turns.append(Turn(message.role, encodable(_shown(result.content)), call_id=encodable(name)))
        text = encodable(_shown(part for part in message.parts if not isinstance(part, ToolResult)))
        calls = tuple(Call(encodable(call.name), encodable(call.arguments)) for call in message.calls)
        if text or calls or not results:
            turns.append(Turn(encodable(message.role), text, calls))
    return tuple(turns)


def write_prompt(
    policy: Policy,
    templates: Templates,
    folded: Sequence[Message],
    *,
    previous: str | None,
    budget_tokens: int,
    focus: str | None = None,
    memory: str | None = None,
) -> str:
    """The whole prompt for a summary of ``folded``: a first one, or an update of ``previous``."""
    limits = {"limits": policy.summary.input, "turns": turns_of(folded)}
    transcript = templates.render(policy.summary.transcript, limits).removesuffix("\n\n")
    quoted = {
        "transcript": transcript,
        "previous_summary": encodable(previous or ""),
        "focus": focus and encodable(focus),
        "memory": memory and encodable(memory),
    }
    fence = fence_for(text for text in quoted.values() if text)
    variables = {**quoted, "fence": fence, "sections": policy.summary.sections, "budget_tokens": budget_tokens}
    if previous is None:
        del variables["previous_summary"]
    return templates.render(policy.summary.first if previous is None else policy.summary.update, variables)


def fence_for(texts: Iterable[str]) -> str:
    """A word that occurs in none of the texts, the same for the same texts: no text can close its own quotation."""
    quoted = tuple(texts)
    seed = hashlib.sha256("\0".join(quoted).encode("utf-8", "replace"))
    while any(seed.hexdigest()[:12] in text for text in quoted):
        seed.update(b"+")
    return seed.hexdigest()[:12]


def encodable(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can be sent as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _shown(parts: Iterable[Part]) -> str:
    """Text as it is, media and unknown content by name; blank texts and reasoning are left out."""
    shown = []
    for part in parts:
        if isinstance(part, Text) and part.text.strip():
            shown.append(part.text)
        elif isinstance(part, Media):
            shown.append(f"[{part.kind}: {part.label}]")
        elif isinstance(part, Opaque):
            shown.append(f"[{part.kind}]")
    return "\n".join(shown)
