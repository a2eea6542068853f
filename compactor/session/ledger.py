"""The conversation of a session: what the host holds, what of it is sent, and its size, counted as it grows."""

from collections.abc import Callable, Sequence
from typing import Any

from compactor.conversation import Conversation, check_sequence, parsed_system, read_conversation
from compactor.errors import InputError
from compactor.extension.protocols import Counter, Format
from compactor.messages.message import Raw
from compactor.session.changes import Change, Size, Update
from compactor.session.hostlist import Found, Known, Newest, find, leading, plain
from compactor.session.tally import Tally, additive
from compactor.state import CompactionState

Noted = Callable[[Format, Sequence[Raw], Any], tuple[Sequence[Raw], Any]]
"""Adds to leading system messages, or to a system prompt given apart, the note that a compaction leaves there."""


class Ledger:
    """Follows a list of messages that a host keeps, whether it goes on with its own list or with what it was handed.

    After a compaction a short list stands for the first messages of the host's. Of a list that has only grown, what was
    added is read and counted, and nothing else; it is recognised by the objects in it, or by their content where these
    are copies. The newest message is read again where a host has written to it. Leading system messages are compared
    apart: a prompt that is written anew for each call does not make another conversation.
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
        self._verbatim = 0  # of these, those at the end that are the host's own
        self._sent_lead: list[Raw] = []
        self._sent_system: Any = None
        self._tools: list[Raw] = []
        self._tools_weight = 0
        self._newest = Newest()
        self.compactions = 0
        """How often the conversation had been compacted when it was first looked at, as its transcript tells."""

    @property
    def messages(self) -> list[Raw]:
        """What is to be sent; nothing before the first ``update``."""
        return [] if self._host is None else [*self._sent_lead, *self._sent.raw]

    @property
    def behind_lead(self) -> Sequence[Raw]:
        """What is to be sent behind the leading system messages."""
        return self._sent.raw

    @property
    def system(self) -> Any:
        """The system prompt that is to be sent, where the host gives it apart."""
        return self._sent_system

    @property
    def sent(self) -> tuple[Sequence[Raw], Any]:
        """The leading system messages and the system prompt as they are sent."""
        return self._sent_lead, self._sent_system

    @property
    def given(self) -> tuple[Sequence[Raw], Any]:
        """The leading system messages and the system prompt as the host gives them."""
        return list(plain(self._lead)), self._system

    @property
    def format(self) -> Format:
        """The format of the messages."""
        return self._format

    @property
    def tools(self) -> Sequence[Raw]:
        """The tool schemas of the request."""
        return self._tools

    @property
    def covered(self) -> int:
        """How many messages the host holds, leading system messages not counted: what a compaction now would cover."""
        return len(self._host or ())

    @property
    def lead(self) -> int:
        """How many leading system messages are sent."""
        return len(self._sent_lead)

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

    @property
    def fixed_tokens(self) -> int:
        """What no compaction makes smaller: the leading system messages and the tool schemas."""
        return self._tokens(self._prefix)

    def said_at(self, sent: int) -> int | None:
        """The host's place of a message that is sent at ``sent`` behind the leading ones; None for one of ours."""
        place = sent - self._kept
        return place + self._covered if place >= -self._verbatim else None

    def update(
        self,
        messages: Sequence[Any],
        system: Any,
        tools: Sequence[Raw],
        state: CompactionState,
        noted: Noted,
        *,
        only_grown: bool = False,
    ) -> Update | None:
        """Takes the host's list as it is now. Raises ``InputError`` when it cannot be read.

        With ``only_grown``, nothing is noted and None returned where the list has done anything but grow; a message
        that was replaced within a long list may then go unnoticed.
        """
        check_sequence(messages)
        found = None if self._host is None else self._found(messages, thorough=not only_grown)
        if only_grown and self._host is not None and not self._is_all(found):
            return None
        if found is None:
            update = Update(Change.NEW if self._host is not None else Change.FIRST)
            self._start(messages, system, state if self._host is None else CompactionState())
        else:
            update = self._follow(messages, system, noted, found)
        if self._tools != tools:
            self._tools = list(tools)
            self._weigh_tools()
        return update

    def restore(
        self,
        lead: Sequence[Raw],
        system: Any,
        messages: Sequence[Raw],
        *,
        covered: int,
        left: Sequence[Raw],
        sent: tuple[Sequence[Raw], Any],
    ) -> None:
        """Goes on with a conversation that was kept: leading system messages, system prompt and ``messages`` as they
        were said, what was ``left`` in place of the first ``covered``, and what is ``sent`` as lead and prompt."""
        self._start([*lead, *messages], system, CompactionState(), lead=len(lead))
        self._cover(covered, left, messages[covered:])
        self._set_prefix(*sent)

    def restart(self) -> None:
        """Goes on with the host's list as if nothing of it had ever been compacted."""
        self._cover(0, (), list(plain(self._host or ())))

    def replace(self, left: Sequence[Raw], covered: int, noted: Noted) -> None:
        """Takes over what a compaction of the host's first ``covered`` messages left; the later ones follow it."""
        self._cover(covered, left, self.later(covered))
        self._begin_with(self._lead, self._system, noted)

    def later(self, start: int) -> list[Raw]:
        """The host's messages from a place on that no compaction covers, as dictionaries."""
        return self._sent.raw[self._place(start) :]

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

    def _found(self, messages: Sequence[Any], *, thorough: bool) -> Found | None:
        """What of the known messages is still there, in the host's own list or in what it was handed."""
        known = [Known(self._host or [], self._covered - self._verbatim, handed_back=False)]
        if self._covered:
            known.append(Known(self._sent.raw, self._kept - self._verbatim, handed_back=True))
        leads = len(self._lead), len(self._sent_lead)
        return find(messages, leads, known, thorough=thorough)

    def _is_all(self, found: Found | None) -> bool:
        """Whether all that was known is still there."""
        return found is not None and found.same == len(self._sent.raw if found.handed_back else self._host or ())

    def _follow(self, messages: Sequence[Any], system: Any, noted: Noted, found: Found) -> Update:
        lead, same = found.lead, found.same
        swapped = (self._covered, self._kept, self._verbatim) if found.handed_back else None
        if found.handed_back:
            self._host, self._covered, self._kept, self._verbatim = list(self._sent.raw), 0, 0, 0
            self._newest = Newest(self._host[-1] if self._host else None)
        assert self._host is not None
        change = Change.GROWN if same == len(self._host) else Change.REWOUND
        dropped = max(self._covered - same, 0)
        if dropped:
            self._sent.truncate(self._kept - dropped)
            self._covered, self._kept, self._verbatim = same, self._kept - dropped, self._verbatim - dropped
        start = self._add(messages, lead, same)
        begins = list(messages[:lead])
        # A host that goes on with what it was handed has the note of a compaction in its system prompt.
        led_anew = begins not in (self._lead, self._sent_lead) or system not in (self._system, self._sent_system)
        if led_anew:
            self._begin_with(messages[:lead], system, noted)
        return Update(change, start, swapped, led_anew)

    def _add(self, messages: Sequence[Any], lead: int, same: int) -> int:
        """Adds what comes behind the first ``same`` messages; the place from which on messages are new."""
        assert self._host is not None
        untouched = same and messages[lead + same - 1] is self._newest.message and not self._newest.changed()
        start = same if untouched or same < len(self._host) else max(same - 1, self._covered)
        new = list(plain(messages[lead + start :]))
        misfit = self._format.misfit(new)
        if misfit is not None:
            raise InputError(f"these are no messages of format {self._format.name!r}: {misfit} (counted from {start})")
        if start < len(self._host):
            if start < same:
                known = self._sent.raw[self._place(start)]
                if new[0] is not known and new[0] == known:  # a copy
                    start, new = same, new[1:]
            self._sent.truncate(self._place(start))
        self._sent.extend(new)
        copies = bool(same) and messages[lead] is not self._host[0]
        if copies:
            self._host[:] = messages[lead:]
        else:
            self._host[start:] = messages[lead + start :]
        self._newest = Newest(self._host[-1] if self._host else None)
        return start

    def _start(self, messages: Sequence[Any], system: Any, state: CompactionState, lead: int | None = None) -> None:
        lead = leading(messages) if lead is None else lead
        raw = list(plain(messages))
        conversation = read_conversation(raw, system, (), state, self._formats)
        self._prefix, self._sent = (
            Tally(conversation.format, self._counter, wants_body=self._wants_body) for _ in range(2)
        )
        apart = system is not None
        for message, item in zip(conversation.given[apart + lead :], raw[lead:], strict=True):
            self._sent.add(item, message)
        self._host, self._covered, self._kept, self._verbatim = list(messages[lead:]), 0, 0, 0
        self._lead, self._system = list(messages[:lead]), system
        self._format, self.compactions = conversation.format, conversation.count
        self._newest = Newest(self._host[-1] if self._host else None)
        self._set_prefix(raw[:lead], system)

    def _cover(self, covered: int, left: Sequence[Raw], later: Sequence[Raw]) -> None:
        before = self._sent.raw[: self._place(covered)]
        pairs = zip(reversed(left), reversed(before), strict=False)
        self._verbatim = next((place for place, (one, other) in enumerate(pairs) if one is not other), len(left))
        self._covered, self._kept = covered, len(left)
        self._sent.clear()
        self._sent.extend((*left, *later))

    def _place(self, host: int) -> int:
        """The place among the sent messages of one that the host has at ``host``, behind what is covered."""
        return self._kept + host - self._covered

    def _begin_with(self, lead: Sequence[Any], system: Any, noted: Noted) -> None:
        self._lead, self._system = list(lead), system
        self._set_prefix(*noted(self._format, list(plain(lead)), system))

    def _set_prefix(self, lead: Sequence[Raw], system: Any) -> None:
        self._sent_lead, self._sent_system = list(lead), system
        self._prefix.clear()
        if system is not None:
            self._prefix.add({"role": "system", "content": system}, parsed_system(self._format, system))
        self._prefix.extend(lead)

    def _weigh_tools(self) -> None:
        self._tools_weight = 0 if self._additive is None else self._additive.weigh_tools(self._tools)

    def _tokens(self, *parts: Tally) -> int:
        """Of a request of these messages and the tools: counted as they came, or all at once where that is no sum."""
        if self._additive is None:
            return self._counter.request([message for part in parts for message in part.messages], self._tools)
        weight = sum(part.weight for part in parts) + self._tools_weight
        return self._additive.tokens_of(weight, sum(len(part.raw) for part in parts))
