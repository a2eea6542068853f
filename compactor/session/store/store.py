"""The store: sessions on disk, in SQLite or PostgreSQL."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from compactor.extension.protocols import Format
from compactor.messages.formats.openai_chat import OpenAIChat
from compactor.messages.message import Raw
from compactor.session.store import commits, leases, log, search, views
from compactor.session.store.database import NEWEST, Database, default_path
from compactor.session.store.logs import write_log
from compactor.session.store.records import (
    Claim,
    Commit,
    CompactionRecord,
    Hit,
    MessageRecord,
    Revision,
    SessionRecord,
    Stats,
    View,
)


class Store:
    """Keeps conversations: every message that was said, and what compactions left of them.

    Every method is one transaction: it is done as a whole or not at all, whoever is killed meanwhile. All raise
    ``StoreError``.
    """

    def __init__(self, where: str | Path | None = None, *, clock: Callable[[], float] = time.time) -> None:
        """Opens the store, and makes it where there is none.

        ``where`` is a file, or a URL (``postgresql+psycopg://user@host/name``); None is a file in the user's data
        folder. A store of an older version is brought up to date, one of a newer version refused (``StoreError``).
        """
        self._database = Database(default_path() if where is None else where)
        self._clock = clock

    @property
    def where(self) -> str:
        """The place for people, without a password."""
        return self._database.shown

    @property
    def path(self) -> Path | None:
        """Its file, None for a database on a server."""
        return self._database.path

    def close(self) -> None:
        """Closes the connections; the store is opened again when it is used."""
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(
        self,
        *,
        lead: Sequence[Raw] = (),
        system: Any = None,
        title: str | None = None,
        source: str = "cli",
        model: str | None = None,
        policy: str | None = None,
        messages: Sequence[Raw] = (),
        format_: Format | None = None,
    ) -> SessionRecord:
        """Begins a conversation; its first session.

        ``lead`` are its leading system messages, ``messages`` what was said so far.
        """
        with self._database.writing() as connection:
            name = log.begin(
                connection,
                now=self._clock(),
                title=title,
                source=source,
                model=model,
                policy=policy,
                lead=lead,
                system=system,
            )
            record = views.session(connection, name)
            if messages:
                log.append(connection, record.conversation_id, messages, format_ or OpenAIChat(), now=self._clock())
            return record

    def append(
        self, conversation: str, messages: Sequence[Raw], format_: Format | None = None
    ) -> list[tuple[int, int]]:
        """Adds messages; the id and the position of each. Costs the same however long the conversation is."""
        if not messages:
            return []
        with self._database.writing() as connection:
            return log.append(connection, conversation, messages, format_ or OpenAIChat(), now=self._clock())

    def keep_lead(self, conversation: str, lead: Sequence[Raw], system: Any, sent: tuple[Sequence[Raw], Any]) -> None:
        """Notes leading system messages and system prompt as they are now; ``sent`` as they are sent while a compaction
        applies, with its note."""
        with self._database.writing() as connection:
            log.keep_lead(connection, conversation, lead, system, sent)

    def take_back(self, conversation: str, position: int) -> int:
        """Takes back what was said from a position on, and compactions that cover any of it; how many messages."""
        with self._database.writing() as connection:
            return log.take_back(connection, conversation, position, now=self._clock())

    def revise(self, conversation: str, revision: Revision, format_: Format | None = None) -> list[tuple[int, int]]:
        """Takes back and says anew, all at once; the id and the position of each message that was said."""
        with self._database.writing() as connection:
            if revision.start is not None:
                log.take_back(connection, conversation, revision.start, now=self._clock(), shorten=True)
            if revision.dropped:
                commits.shorten(connection, conversation, revision.dropped)
            if not revision.messages:
                return []
            return log.append(connection, conversation, revision.messages, format_ or OpenAIChat(), now=self._clock())

    def rewind(self, conversation: str, message_id: int) -> View:
        """Takes back everything that was said after a message."""
        with self._database.writing() as connection:
            last = views.message(connection, message_id, conversation)
            log.take_back(connection, conversation, last.position + 1, now=self._clock())
            return views.view(connection, conversation)

    def claim(self, conversation: str) -> Claim | None:
        """The right to compact for ``leases.SECONDS``, None where somebody else has it."""
        with self._database.writing() as connection:
            return leases.claim(connection, conversation, now=self._clock())

    def renew(self, claimed: Claim) -> bool:
        """Has a lease run on; False where it is lost."""
        with self._database.writing() as connection:
            return leases.renew(connection, claimed, now=self._clock())

    def release(self, claimed: Claim) -> None:
        """Gives a lease back without a compaction."""
        with self._database.writing() as connection:
            leases.release(connection, claimed)

    def commit(self, claimed: Claim, made: Commit) -> bool:
        """Keeps a compaction; False, and nothing changes, where the conversation is no longer what was compacted."""
        with self._database.writing() as connection:
            return commits.commit(connection, claimed, made, now=self._clock())

    def undo(self, conversation: str) -> View | None:
        """Undoes the newest compaction; None where there is none."""
        with self._database.writing() as connection:
            if not commits.undo(connection, conversation, now=self._clock()):
                return None
            return views.view(connection, conversation)

    def write_log(self, session: str) -> Path | None:
        """Writes what was said in a session to ``session_<id>.json``, in the folder ``sessions`` beside the store's
        file (in the data folder, for a database on a server); None where that cannot be written."""
        with self._database.reading() as connection:
            record = views.session(connection, session)
            said = views.said_in(connection, session)
        folder = (self._database.path or default_path()).parent / "sessions"
        return write_log(folder, record, said)

    def session(self, name: str) -> SessionRecord:
        """A session by its id, or the beginning of it."""
        with self._database.reading() as connection:
            return views.session(connection, name)

    def sessions(self, *, limit: int | None = None) -> list[SessionRecord]:
        """Sessions, newest first."""
        with self._database.reading() as connection:
            return views.all_sessions(connection, limit=limit)

    def lineage(self, conversation: str) -> list[SessionRecord]:
        """The sessions of a conversation, oldest first."""
        with self._database.reading() as connection:
            return views.lineage(connection, conversation)

    def compactions(self, conversation: str) -> list[CompactionRecord]:
        """The compactions of a conversation, oldest first, those that were undone included."""
        with self._database.reading() as connection:
            return views.compactions_of(connection, conversation)

    def view(self, conversation: str) -> View:
        """A conversation as it is sent now."""
        with self._database.reading() as connection:
            return views.view(connection, conversation)

    def everything(self, conversation: str) -> tuple[Sequence[Raw], Any, list[MessageRecord]]:
        """Leading system messages, system prompt, and all messages as they were said, whatever was compacted."""
        with self._database.reading() as connection:
            lead, system = views.opening(connection, conversation)
            return lead, system, views.everything(connection, conversation)

    def message(self, message_id: int, conversation: str | None = None) -> MessageRecord:
        """A message by its id, of one conversation or of any."""
        with self._database.reading() as connection:
            return views.message(connection, message_id, conversation)

    def search(
        self, query: str, *, session: str | None = None, conversation: str | None = None, limit: int = 20
    ) -> list[Hit]:
        """What was said with all these words, best first: in one session, one lineage, or anywhere."""
        within = None
        if session is not None:
            within = search.of_session(session)
        elif conversation is not None:
            within = search.of_conversation(conversation)
        with self._database.reading() as connection:
            return search.find(connection, query, within=within, limit=limit, sqlite=self._database.is_sqlite)

    def stats(self) -> Stats:
        """Numbers of the whole store."""
        with self._database.reading() as connection:
            found = views.counts(connection)
        path = self._database.path
        files = [] if path is None else [path, path.with_name(f"{path.name}-wal")]
        size = sum(file.stat().st_size for file in files if file.exists())
        return Stats(*found, bytes=size, version=NEWEST, where=self.where)
