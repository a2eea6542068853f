"""From the parts that are kept to the messages that are handed back: repaired, rendered, checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compactor.assembly.assemble import Candidate, assemble, with_note
from compactor.assembly.laws import Violation, violations
from compactor.assembly.repair import Repairs, repair
from compactor.extension.protocols import Format
from compactor.messages.message import Message, Raw
from compactor.policy.models import Policy


@dataclass(frozen=True, slots=True)
class Finished:
    """A result in the provider's shape.

    ``messages`` are the dictionaries to hand back and ``parsed`` the same as values; ``summary_index`` is where
    the summary is among them, None without one.
    """

    messages: tuple[Raw, ...]
    parsed: tuple[Message, ...]
    repairs: Repairs
    violations: tuple[Violation, ...]
    summary_index: int | None


def finish(
    before: Sequence[Message],
    after: Sequence[Message],
    *,
    summary: str | None,
    note: str | None,
    given: Sequence[Message],
    policy: Policy,
    format_: Format,
) -> Finished:
    """Repairs the kept messages, puts the summary message between ``before`` and ``after``, and checks the laws.

    ``given`` is the conversation as it came. Without a ``summary`` nothing stands between the two.
    """
    stub = policy.assembly.stub
    make_stub = (lambda call: format_.stub(call, stub)) if policy.assembly.orphan_calls == "stub" else None
    before, after, repairs = repair(before, after, make_stub)
    candidate = Candidate((*before, *after), None) if summary is None else assemble(before, after, summary)
    messages = candidate.messages if note is None else with_note(candidate.messages, note)
    rendered = tuple(_rendered(message, format_) for message in messages)
    parsed = tuple(
        message if message.raw is raw else replace(format_.parse(raw, place), index=message.index)
        for place, (message, raw) in enumerate(zip(messages, rendered, strict=True))
    )
    broken = violations(
        given,
        parsed,
        summary_index=candidate.summary_index,
        anchored="last_user" in policy.boundaries.anchors,
    )
    return Finished(rendered, parsed, repairs, broken, candidate.summary_index)


def _rendered(message: Message, format_: Format) -> Raw:
    return message.raw if message.raw is not None and not message.touched else format_.render(message)
