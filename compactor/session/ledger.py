"""The conversation of a session: what the host holds, what of it is sent, and its size, counted as it grows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from compactor.conversation import Conversation, check_sequence, parsed_system, read_conversation
from compactor.errors import InputError
from compactor.extension.protocols import Counter, Format
from compactor.messages.body import BodySize
from compactor.messages.message import SYSTEM_ROLES, Raw
from compactor.result import CompactionResult
from compactor.session.tally import Tally, additive
from compactor.state import CompactionState

_PROBES = 8
"""Messages that are compared to tell whether a list has only grown. A compaction reads all of them anew."""

Noted = Callable[[Format, Sequence[Raw], Any], tuple[Sequence[Raw], Any]]
"""Adds to leading system messages, or to a system prompt given apart, the note that a compaction leaves there."""


class Change(Enum):
    """What has become of a conversation since it was last looked at."""

    FIRST = auto()
    """It is looked at for the first time."""
    GROWN = auto()
    """Messages were added, or none."""
    REWOUND = auto()
    """Some of those added since the last compaction are gone or different."""
    NEW = auto()
    """It is another one, as far as one can tell."""


@dataclass(frozen=True, slots=True)
class Size:
    """``tokens`` of the whole request as the policy's counter counts; ``messages`` with the system prompt; ``body`` is
    None where nobody asked for it."""

    tokens: int
    messages: int
    body: BodySize | None


class Ledger:
    """Follows a list of messages that a host keeps, whether it goes on with its own list or with what it was handed.

    After a compaction a short list stands for the first messages of the host's. A list that has only grown costs what
    was added: the rest is recognised by the objects in it, and by their content where these are copies. The newest
    message is read again where a host has written to it. Leading system messages are compared apart: a prompt
    that is written anew for each call does not make another conversation.
    """

    def __init__(self, formats: Sequence[Format], counter: Counter, *, wants_body: bool) -> None:
        self._formats = formats
        self._counter = counter
        self._additive = additive(counter)
        self._wants_body = wants_body
        self._host: list[Any] | None = None  # without its leading system messages
        self._lead: list[Any] = []
        self._system: Any = None
        self._covered = 0  # of the host's messages, by what the last compaction left
        self._kept = 0  # messages that it left, leading system messages not counted
        self.compactions = 0
        """How often the conversation had been compacted when it was first looked at, as its transcript tells."""
        self._sent_system: Any = None
        self._tools: list[Raw] = []
        self._tools_weight = 0

    @property
    def messages(self) -> list[Raw]:
        """What is to be sent; nothing before the first ``update``."""
        return [] if self._host is None else [*self._sent_lead, *self._sent.raw]

    @property
    def system(self) -> Any:
        """The system prompt to be sent, where the host gives it apart."""
        return self._sent_system

    @property
    def tools(self) -> Sequence[Raw]:
        """The tool schemas of the request."""
        return self._tools

    @property
    def covered(self) -> int:
        """How many messages the host holds, leading system messages not counted: what a compaction now would cover."""
        return len(self._host or ())

    @property
    def fixed_tokens(self) -> int:
        """What no compaction makes smaller: the leading system messages and the tool schemas."""
        return self._tokens(self._prefix)

    @property
    def newest_role(self) -> str | None:
        """The role of the newest message."""
        return self._sent.messages[-1].role if self._sent.messages else None

    @property
    def size(self) -> Size:
        """The size of the request as it would be sent now."""
        prefix, sent = self._prefix, self._sent
        body = prefix.body + sent.body if self._wants_body else None
        return Size(self._tokens(prefix, sent), len(prefix.raw) + len(sent.raw), body)

    def update(
        self, messages: Sequence[Any], system: Any, tools: Sequence[Raw], state: CompactionState, noted: Noted
    ) -> Change:
        """Takes the host's list as it is now. Raises ``InputError`` when it cannot be read."""
        check_sequence(messages)
        lead = _lead_length(messages)
        same = None if self._host is None else self._unchanged(messages, lead)
        if same is None or self._host is None:
            change = Change.FIRST if self._host is None else Change.NEW
            self._start(messages, lead, system, state)
        else:
            change = Change.GROWN if same == len(self._host) else Change.REWOUND
            self._follow(messages, lead, same)
            if self._system != system or self._lead != list(messages[:lead]):
                self._begin_with(messages[:lead], system, noted)
        if self._tools != tools:
            self._tools = list(tools)
            self._weigh_tools()
        return change

    def count_with(self, counter: Counter, *, wants_body: bool) -> None:
        """Counts everything anew, as another policy or another model wants it, or because a host may have changed what
        was counted before."""
        self._counter, self._additive, self._wants_body = counter, additive(counter), wants_body
        if self._host is not None:
            for tally in (self._prefix, self._sent):
                tally.count_with(counter, wants_body=wants_body)
            self._weigh_tools()

    def read(self, state: CompactionState) -> Conversation:
        """The conversation as it would be sent now, read anew from the messages themselves."""
        return read_conversation(self.messages, self._sent_system, self._tools, state, self._formats)

    def replace(self, result: CompactionResult, covered: int) -> None:
        """Takes over what a compaction of the host's first ``covered`` messages left; the later ones follow it."""
        lead = _lead_length(result.messages)
        later = self._sent.raw[self._place(covered) :]
        self._covered, self._kept = covered, len(result.messages) - lead
        self._sent.clear()
        self._sent.extend((*result.messages[lead:], *later))
        self._set_prefix(result.messages[:lead], result.system)

    def _weigh_tools(self) -> None:
        self._tools_weight = 0 if self._additive is None else self._additive.weigh_tools(self._tools)

    def _tokens(self, *parts: Tally) -> int:
        """Of a request of these messages and the tools: counted as they came, or all at once where that is no sum."""
        if self._additive is None:
            return self._counter.request([message for part in parts for message in part.messages], self._tools)
        weight = sum(part.weight for part in parts) + self._tools_weight
        return self._additive.tokens_of(weight, sum(len(part.raw) for part in parts))

    def _unchanged(self, messages: Sequence[Any], lead: int) -> int | None:
        """How many of the host's messages are still there; None where it is another conversation."""
        host = self._host or []
        if _extends(messages, lead, host):
            return len(host)
        if self._covered and _extends(messages, lead, self._sent.raw):
            return self._handed_back()
        same = _common(messages, lead, host)
        if same == len(host) or (same and same >= self._covered):
            return same
        if self._covered and (same := _common(messages, lead, self._sent.raw)) >= self._kept:
            self._handed_back()
            return same
        return None

    def _handed_back(self) -> int:
        """The host goes on with what it was handed: from now on that is its list."""
        self._host, self._covered, self._kept = list(self._sent.raw), 0, 0
        return len(self._host)

    def _place(self, host: int) -> int:
        """The place among the sent messages of one that the host has at ``host``, behind what is covered."""
        return self._kept + host - self._covered

    def _start(self, messages: Sequence[Any], lead: int, system: Any, state: CompactionState) -> None:
        raw = list(_plain(messages))
        conversation = read_conversation(raw, system, (), state, self._formats)
        self._prefix, self._sent = (
            Tally(conversation.format, self._counter, wants_body=self._wants_body) for _ in range(2)
        )
        apart = system is not None
        for message, item in zip(conversation.given[apart + lead :], raw[lead:], strict=True):
            self._sent.add(item, message)
        self._host, self._covered, self._kept = list(messages[lead:]), 0, 0
        self._lead, self._system = list(messages[:lead]), system
        self._format, self.compactions = conversation.format, conversation.count
        self._newest = _Newest(self._host[-1] if self._host else None)
        self._set_prefix(raw[:lead], system)

    def _follow(self, messages: Sequence[Any], lead: int, same: int) -> None:
        assert self._host is not None
        if same and messages[lead + same - 1] is self._newest.message and not self._newest.changed():
            start = same
        else:
            start = max(same - 1, self._covered)
        new = list(_plain(messages[lead + start :]))
        misfit = self._format.misfit(new)
        if misfit is not None:
            raise InputError(f"these are no messages of format {self._format.name!r}: {misfit} (counted from {start})")
        if start < len(self._host):
            self._sent.truncate(self._place(start))
        self._sent.extend(new)
        self._host[start:] = messages[lead + start :]
        self._newest = _Newest(self._host[-1] if self._host else None)

    def _begin_with(self, lead: Sequence[Any], system: Any, noted: Noted) -> None:
        self._lead, self._system = list(lead), system
        self._set_prefix(*noted(self._format, list(_plain(lead)), system))

    def _set_prefix(self, lead: Sequence[Raw], system: Any) -> None:
        self._sent_lead, self._sent_system = list(lead), system
        self._prefix.clear()
        if system is not None:
            self._prefix.add({"role": "system", "content": system}, parsed_system(self._format, system))
        self._prefix.extend(lead)


class _Newest:
    """The newest message as it was: whether a host has written to it since, a list in it included."""

    def __init__(self, message: Any) -> None:
        self.message = message
        self._was = self._now()

    def changed(self) -> bool:
        """Whether it has other values, or more or fewer in a list. Never sure of an object of a client."""
        now = self._now()
        return now is None or self._was is None or len(now) != len(self._was) or not all(map(_same, now, self._was))

    def _now(self) -> list[Any] | None:
        if not isinstance(self.message, Mapping):
            return None
        return [(value, len(value)) if isinstance(value, list) else (value, 0) for value in self.message.values()]


def _same(now: tuple[Any, int], was: tuple[Any, int]) -> bool:
    return now[0] is was[0] and now[1] == was[1]


def _lead_length(messages: Sequence[Any]) -> int:
    count = 0
    for message in messages:
        plain = _plain_one(message)
        if not isinstance(plain, Mapping) or plain.get("role") not in SYSTEM_ROLES:
            break
        count += 1
    return count


def _extends(messages: Sequence[Any], offset: int, known: Sequence[Any]) -> bool:
    """Whether ``messages`` from ``offset`` on begins with the very objects of ``known``, by a few of them."""
    count = len(known)
    if len(messages) - offset < count:
        return False
    places = (*range(0, count, max(count // _PROBES, 1)), count - 1) if count else ()
    return all(messages[offset + place] is known[place] for place in places)


def _common(messages: Sequence[Any], offset: int, known: Sequence[Any]) -> int:
    """How many messages at the start are equal."""
    pairs = zip(range(offset, len(messages)), known, strict=False)
    return next(
        (place - offset for place, item in pairs if messages[place] != item), min(len(messages) - offset, len(known))
    )


def _plain(messages: Iterable[Any]) -> Iterator[Raw]:
    return map(_plain_one, messages)


def _plain_one(message: Any) -> Any:
    """The dictionary of a message that a client returned as an object of its own."""
    if isinstance(message, Mapping) or not hasattr(message, "model_dump"):
        return message
    return message.model_dump(exclude_none=True)
