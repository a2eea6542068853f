"""A conversation as a compaction sees it: parsed once, in order, without earlier summaries."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compactor.errors import InputError
from compactor.extension.protocols import Format
from compactor.messages.as_json import compact_json
from compactor.messages.earlier import Earlier, lift
from compactor.messages.groups import gathered
from compactor.messages.message import Message, Raw
from compactor.planning.limits import Limits
from compactor.state import CompactionState

SYSTEM_INDEX = -1
"""The index of a system prompt that was given apart: it stands before the message of index 0."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """``given`` are the messages as they came; ``ordered`` the same with late results behind their calls (``moved``
    of them); ``messages`` the same without the summaries of earlier compactions, which are in ``earlier``.

    ``count`` is how often the conversation was compacted so far.
    """

    raw: Sequence[Raw]
    system: Any
    tools: Sequence[Raw]
    format: Format
    given: tuple[Message, ...]
    ordered: tuple[Message, ...]
    messages: tuple[Message, ...]
    moved: int
    earlier: Earlier | None
    count: int


def read_conversation(
    raw: Sequence[Raw], system: Any, tools: Sequence[Raw], state: CompactionState, formats: Sequence[Format]
) -> Conversation:
    """Parses a conversation. Raises ``InputError`` when no format fits.

    The summary of an earlier compaction is taken from the transcript, which is what the model sees, and from the
    state only where the transcript has none.
    """
    fitting = _fitting(raw, formats)
    given = tuple(parsed(fitting, message, index) for index, message in enumerate(raw))
    if system is not None:
        given = (parsed_system(fitting, system), *given)
    ordered, moved = gathered(given)
    messages, earlier = lift(ordered)
    if earlier is None and state.summary is not None:
        earlier = Earlier(state.summary, state.count, len(messages), ())
    count = max(state.count, earlier.count if earlier else 0)
    return Conversation(raw, system, tools, fitting, given, ordered, messages, moved, earlier, count)


def fingerprint(
    messages: Sequence[Raw], system: Any, tools: Sequence[Raw], limits: Limits, min_gain: float, *, prune_only: bool
) -> str:
    """A digest of a request, of the limits that it is held against, and of what may be done about it."""
    digest = hashlib.sha256()
    numbers = (limits.usable, limits.threshold, limits.target, limits.tail, min_gain, prune_only)
    for value in (*messages, system, list(tools), numbers):
        digest.update(compact_json(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def parsed_system(fitting: Format, system: Any) -> Message:
    """A system prompt that was given apart, as the message that it is to everybody else."""
    return fitting.parse({"role": "system", "content": system}, SYSTEM_INDEX)


def parsed(fitting: Format, message: Any, index: int) -> Message:
    """One message. Raises ``InputError``."""
    try:
        return fitting.parse(message, index)
    except Exception as error:
        raise InputError(f"format {fitting.name!r} cannot read message {index}: {error!r}") from error


def check_sequence(messages: Any) -> None:
    """Raises ``InputError`` for what is no list of anything."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise InputError(f"expected a list of messages, got {type(messages).__name__}")


def _fitting(messages: Sequence[Any], formats: Sequence[Format]) -> Format:
    check_sequence(messages)
    misfits = []
    for candidate in formats:
        misfit = candidate.misfit(messages)
        if misfit is None:
            return candidate
        misfits.append(f"{candidate.name}: {misfit}")
    raise InputError("these are no messages that Compactor reads; tried " + "; ".join(misfits))
