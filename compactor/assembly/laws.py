"""The laws that every result obeys (DESIGN section 4), checked on what is about to be handed back.

They bind what we introduce: what was wrong in the input and could not be mended is no violation. Laws 1 and 10 to
12 are properties of how results are made and have tests of their own; law 5 decides the outcome in the engine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compactor.assembly.assemble import has_note
from compactor.assembly.repair import is_whole
from compactor.messages.earlier import is_real_user, own_parts, summaries_in
from compactor.messages.message import Message, Reasoning, Text, is_blank
from compactor.messages.pairing import pair

CHECKED = ("pairs", "roles", "newest user message", "system prompt", "one summary", "signed reasoning")


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that a result breaks: its number in DESIGN section 4, and how."""

    law: int
    message: str


def violations(
    given: Sequence[Message], result: Sequence[Message], *, summary_index: int | None, anchored: bool
) -> tuple[Violation, ...]:
    """How ``result`` breaks a law that ``given`` allowed it to keep; empty when all hold.

    Both are as a format parses them; ``summary_index`` is where the summary is in ``result``, None without one;
    ``anchored`` says that the policy wants the newest user message kept.
    """
    found = [*_pairs(result), *_roles(given, result, summary_index), *_system(given, result), *_one_summary(result)]
    found += _signed_reasoning(given, result)
    if anchored:
        found += _newest_user(given, result)
    return tuple(found)


def _pairs(result: Sequence[Message]) -> Iterator[Violation]:
    pairing = pair(result)
    if not is_whole(pairing):
        yield Violation(
            2,
            f"{len(pairing.orphans)} results without a call, {len(pairing.duplicates)} repeated results, "
            f"{len(pairing.unanswered)} calls without a result",
        )
    for (call, _), (answer, _) in pairing.answers.items():
        if not all(message.is_result for message in result[call + 1 : answer]):
            yield Violation(2, f"the result in message {answer} is not adjacent to its call in message {call}")


def _roles(given: Sequence[Message], result: Sequence[Message], summary_index: int | None) -> Iterator[Violation]:
    opening = _spoken(result)
    if opening and opening[0].role != "user" and (_spoken(given)[:1] or opening)[0].role == "user":
        yield Violation(3, f"the first message after the system prompt is of role {opening[0].role!r}")
    if summary_index is None:
        return
    summary = result[summary_index]
    if not summary.text.strip():
        yield Violation(3, "the summary message is empty")
    before, after = _spoken(result[:summary_index]), _spoken(result[summary_index + 1 :])
    if summary.index is None:  # else it joined a message whose neighbours are those of the input
        for neighbour in (*before[-1:], *after[:1]):
            if neighbour.role == summary.role:
                yield Violation(3, f"the summary stands next to its own role ({summary.role!r})")


def _newest_user(given: Sequence[Message], result: Sequence[Message]) -> Iterator[Violation]:
    newest = next((message for message in reversed(given) if is_real_user(message)), None)
    if newest is None:
        return
    kept = next((message for message in reversed(result) if is_real_user(message)), None)
    if kept is None or _own_content(kept) != _own_content(newest):
        yield Violation(4, "the newest user message is not there verbatim")


def _system(given: Sequence[Message], result: Sequence[Message]) -> Iterator[Violation]:
    before = [_content(message) for message in given if message.is_system]
    after = [_content(message) for message in result if message.is_system]
    if len(before) != len(after) or not all(map(_continues, before, after)):
        yield Violation(6, "the system messages are not all there in their order")
    notes = sum(has_note(message) for message in result)
    if notes > max(1, sum(has_note(message) for message in given)):
        yield Violation(6, f"the system prompt has its note {notes} times")


def _continues(then: Sequence[Any], now: Sequence[Any]) -> bool:
    """Whether a content is still there, with at most something added behind it."""
    return len(now) >= len(then) and all(
        new == old or (isinstance(new, str) and isinstance(old, str) and new.startswith(old))
        for old, new in zip(then, now, strict=False)
    )


def _one_summary(result: Sequence[Message]) -> Iterator[Violation]:
    count = sum(len(summaries_in(message)) for message in result)
    if count > 1:
        yield Violation(7, f"there are {count} summaries")


def _signed_reasoning(given: Sequence[Message], result: Sequence[Message]) -> Iterator[Violation]:
    signed = {id(part.raw) for message in given for part in message.parts if _is_signed(part)}
    for place, message in enumerate(result):
        if any(_is_signed(part) and id(part.raw) not in signed for part in message.parts):
            yield Violation(9, f"message {place} holds signed reasoning that was edited")


def _is_signed(part: object) -> bool:
    return isinstance(part, Reasoning) and part.signed


def _spoken(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if not message.is_system]


def _own_content(message: Message) -> list[Any]:
    return [part.text if isinstance(part, Text) else part.raw for part in own_parts(message)]


def _content(message: Message) -> list[Any]:
    return [part.text if isinstance(part, Text) else part.raw for part in message.parts if not is_blank(part)]
