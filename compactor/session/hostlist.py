"""Looking at the list of messages that a host keeps: what it is made of, and whether it is still the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compactor.errors import InputError
from compactor.messages.message import SYSTEM_ROLES, Raw

_PROBES = 8


def leading(messages: Sequence[Any]) -> int:
    """How many leading system messages a list has."""
    count = 0
    for message in messages:
        known = plain_one(message)
        if not isinstance(known, Mapping) or known.get("role") not in SYSTEM_ROLES:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class Known:
    """A list that a host may go on with, without leading system messages: its own, or what it was handed back.

    Of the messages, at least the first ``least`` have to be there for it to be the same conversation.
    """

    messages: Sequence[Any]
    least: int
    handed_back: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A host's list that goes on from a known one: ``lead`` leading system messages, then ``same`` known messages."""

    lead: int
    same: int
    handed_back: bool


def find(messages: Sequence[Any], leads: Sequence[int], known: Sequence[Known], *, thorough: bool) -> Found | None:
    """What of the known lists is still there; None where it is another conversation.

    ``leads`` are the numbers of leading system messages that there were: one that stood further down comes to stand
    behind them where everything between was folded, and is none of them. Where it is not ``thorough``, a list that has
    only grown is recognised by a few of its messages.
    """
    most = leading(messages)
    possible = [lead for lead in dict.fromkeys((*leads, most)) if lead <= most]
    for one in known:
        for lead in possible:
            if _extends(messages, lead, one.messages, thorough=thorough):
                return Found(lead, len(one.messages), one.handed_back)
    for one in known:
        found = max(
            (Found(lead, _common(messages, lead, one.messages), one.handed_back) for lead in possible), key=_same
        )
        if found.same == len(one.messages) or found.same >= max(one.least, 1):
            return found
    return None


def _same(found: Found) -> int:
    return found.same


def _extends(messages: Sequence[Any], offset: int, known: Sequence[Any], *, thorough: bool) -> bool:
    """Whether ``messages`` goes on, from ``offset``, like ``known``: all of it where ``thorough``, else by some probes
    of the very objects."""
    count = len(known)
    if len(messages) - offset < count:
        return False
    if thorough:
        return list(messages[offset : offset + count]) == known  # compares the objects first, and in C
    places = (*range(0, count, max(count // _PROBES, 1)), count - 1) if count else ()
    return all(messages[offset + place] is known[place] for place in places)


def _common(messages: Sequence[Any], offset: int, known: Sequence[Any]) -> int:
    """How many messages from ``offset`` on are equal to the known ones."""
    pairs = zip(range(offset, len(messages)), known, strict=False)
    shorter = min(max(len(messages) - offset, 0), len(known))
    return next((place - offset for place, item in pairs if messages[place] != item), shorter)


def plain(messages: Iterable[Any]) -> Iterator[Raw]:
    """The dictionaries of messages."""
    return map(plain_one, messages)


def plain_one(message: Any) -> Any:
    """The dictionary of a message that a client returned as an object of its own. Raises ``InputError``."""
    if type(message) is dict or isinstance(message, Mapping) or not hasattr(message, "model_dump"):
        return message
    try:
        return message.model_dump(exclude_none=True)
    except Exception as error:
        raise InputError(f"a message of type {type(message).__name__} cannot be read: {error!r}") from error


class Newest:
    """The newest message as it was: whether a host has written to it since, a list in it included."""

    def __init__(self, message: Any = None) -> None:
        self.message = message
        self._was = self._now()

    def changed(self) -> bool:
        """Whether it has other values, or more or fewer in a list. Never sure of an object of a client."""
        now = self._now()
        return now is None or self._was is None or len(now) != len(self._was) or not all(map(_alike, now, self._was))

    def _now(self) -> list[tuple[Any, int]] | None:
        if not isinstance(self.message, Mapping):
            return None
        return [(value, len(value)) if isinstance(value, list) else (value, 0) for value in self.message.values()]


def _alike(now: tuple[Any, int], was: tuple[Any, int]) -> bool:
    return now[0] is was[0] and now[1] == was[1]
