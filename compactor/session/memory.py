"""A store for one conversation that lives as long as its process: what a session without a database has."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from compactor.errors import StoreError
from compactor.extension.protocols import Format
from compactor.messages.formats.openai_chat import OpenAIChat
from compactor.messages.message import Raw
from compactor.session.store.naming import session_id
from compactor.session.store.records import Claim, Commit, Hit, MessageRecord, Revision, SessionRecord, View
from compactor.session.store.snippets import snippet
from compactor.session.store.texts import searchable
from compactor.state import CompactionState


class MemoryStore:
    """As ``Store``, for one conversation at a time and without anything written. Nobody else can change it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock

    def close(self) -> None:
        """Nothing is open."""

    def begin(
        self,
        *,
        lead: Sequence[Raw] = (),
        system: Any = None,
        title: str | None = None,
        source: str = "cli",
        model: str | None = None,
        policy: str | None = None,
    ) -> SessionRecord:
        now = self._clock()
        name = session_id(now)
        self._record = SessionRecord(name, name, None, 1, title, source, model, policy, now, None, None)
        self._lead, self._system = list(lead), system
        self._log: list[MessageRecord] = []
        self._gone: set[int] = set()
        self._made: list[tuple[Commit, CompactionState]] = []
        self._state = CompactionState()
        self._version = 0
        return self._record

    def append(
        self, conversation: str, messages: Sequence[Raw], format_: Format | None = None
    ) -> list[tuple[int, int]]:
        first, now = len(self._log), self._clock()
        self._format = format_ or OpenAIChat()
        self._log += [
            MessageRecord(first + place + 1, first + place, self._record.id, raw, now)
            for place, raw in enumerate(messages)
        ]
        return [(place + 1, place) for place in range(first, len(self._log))]

    def keep_lead(self, conversation: str, lead: Sequence[Raw], system: Any, sent: tuple[Sequence[Raw], Any]) -> None:
        self._lead, self._system = list(lead), system
        self._made = [
            (replace(made, lead=sent[0], result=replace(made.result, system=sent[1])), before)
            for made, before in self._made
        ]

    def take_back(self, conversation: str, position: int) -> int:
        return self._take_back(position, shorten=False)

    def revise(self, conversation: str, revision: Revision, format_: Format | None = None) -> list[tuple[int, int]]:
        if revision.start is not None:
            self._take_back(revision.start, shorten=True)
        if revision.dropped and self._made:
            made, before = self._made[-1]
            self._made[-1] = replace(made, left=made.left[: max(len(made.left) - revision.dropped, 0)]), before
            self._version += 1
        return self.append(conversation, revision.messages, format_)

    def _take_back(self, position: int, *, shorten: bool) -> int:
        going = [place for place in range(position, len(self._log)) if place not in self._gone]
        self._gone.update(going)
        applying: list[tuple[Commit, CompactionState]] = []
        for made, before in reversed(self._made):
            covered = [self._log[place].raw for place in going if place < made.covered]
            if made.covered <= position:
                applying.append((made, before))
            elif shorten and list(made.left[-len(covered) :]) == covered:
                applying.append((replace(made, left=made.left[: -len(covered)], covered=position), before))
            elif not applying:
                self._state = before
        self._made = applying[::-1]
        self._version += 1
        return len(going)

    def rewind(self, conversation: str, message_id: int) -> View:
        self.take_back(conversation, self.message(message_id).position + 1)
        return self.view(conversation)

    def claim(self, conversation: str) -> Claim | None:
        return Claim(conversation, "", self._version)

    def renew(self, claimed: Claim) -> bool:
        return True

    def release(self, claimed: Claim) -> None:
        """Nobody else waits for it."""

    def commit(self, claimed: Claim, made: Commit) -> bool:
        self._made.append((made, self._state))
        self._state = made.result.state
        self._version += 1
        return True

    def undo(self, conversation: str) -> View | None:
        if not self._made:
            return None
        self._state = self._made.pop()[1]
        self._version += 1
        return self.view(conversation)

    def write_log(self, session: str) -> None:
        """Nothing is written."""

    def session(self, name: str) -> SessionRecord:
        return self._record

    def view(self, conversation: str) -> View:
        last = self._made[-1][0] if self._made else None
        covered = last.covered if last else 0
        return View(
            session=replace(self._record, messages=len(self._log) - len(self._gone)),
            lead=last.lead if last else self._lead,
            system=last.result.system if last else self._system,
            left=last.left if last else (),
            later=[message for message in self._there() if message.position >= covered],
            covered=covered,
            version=self._version,
            state=self._state,
        )

    def everything(self, conversation: str) -> tuple[Sequence[Raw], Any, list[MessageRecord]]:
        return self._lead, self._system, self._there()

    def message(self, message_id: int, conversation: str | None = None) -> MessageRecord:
        if not 1 <= message_id <= len(self._log):
            raise StoreError(f"there is no message {message_id}")
        return self._log[message_id - 1]

    def search(
        self, query: str, *, session: str | None = None, conversation: str | None = None, limit: int = 20
    ) -> list[Hit]:
        words = [word.lower() for word in re.findall(r"\w+", query)]
        found = []
        for message in reversed(self._log):
            role, said = searchable(message.raw, self._format)
            if words and all(word in said.lower() for word in words):
                shown = snippet(said, words)
                found.append(Hit(message.id, self._record.id, self._record.title, role, shown, message.said_at))
        return found[:limit]

    def _there(self) -> list[MessageRecord]:
        return [message for message in self._log if message.position not in self._gone]
