"""What can be read of a store: conversations as they are sent, sessions, lineages, and everything that was said."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, func, select

from compactor.errors import StoreError
from compactor.messages.message import Raw
from compactor.session.store.commits import newest
from compactor.session.store.log import current_session
from compactor.session.store.records import CompactionRecord, MessageRecord, SessionRecord, View
from compactor.session.store.rows import compaction_record, from_json, message_records, session_record, state_from
from compactor.session.store.tables import compactions, conversations, messages, sessions


def session(connection: Connection, name: str) -> SessionRecord:
    """A session by its id, or by a beginning of it that no other has. Raises ``StoreError``."""
    exact = connection.execute(_sessions().where(sessions.c.id == name)).mappings().first()
    if exact is not None:
        return session_record(exact)
    like = _sessions().where(sessions.c.id.startswith(name, autoescape=True)).order_by(sessions.c.id)
    found = [session_record(row) for row in connection.execute(like.limit(6)).mappings()] if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise StoreError(f"several sessions begin with {name!r}: {', '.join(record.id for record in found)}")
    raise StoreError(f"there is no session {name!r}; `compactor session list` shows those that there are")


def all_sessions(connection: Connection, *, limit: int | None = None) -> list[SessionRecord]:
    """Sessions, newest first."""
    newest = sessions.c.started_at.desc(), sessions.c.number.desc()
    statement = _sessions().order_by(*newest)
    if limit is not None:  # first which ones: their messages are counted
        statement = statement.where(sessions.c.id.in_(select(sessions.c.id).order_by(*newest).limit(limit)))
    return [session_record(row) for row in connection.execute(statement).mappings()]


def lineage(connection: Connection, conversation: str) -> list[SessionRecord]:
    """The sessions of a conversation, in the order in which they began."""
    statement = _sessions().where(sessions.c.conversation_id == conversation)
    ordered = statement.order_by(sessions.c.number, sessions.c.started_at, sessions.c.id)
    return [session_record(row) for row in connection.execute(ordered).mappings()]


def compactions_of(connection: Connection, conversation: str) -> list[CompactionRecord]:
    """The compactions of a conversation in the order in which they were made, those that were undone included."""
    statement = select(compactions).where(compactions.c.conversation_id == conversation).order_by(compactions.c.id)
    return [compaction_record(row) for row in connection.execute(statement).mappings()]


def view(connection: Connection, conversation: str) -> View:
    """A conversation as it is sent now."""
    row = _conversation(connection, conversation)
    last = newest(connection, conversation)
    covered = 0 if last is None else last["covered"]
    later = select(messages).where(_there(conversation), messages.c.position >= covered).order_by(messages.c.position)
    return View(
        session=session(connection, current_session(connection, conversation)),
        lead=from_json(row["lead"] if last is None else last["lead"]),
        system=from_json(row["system"] if last is None else last["system"]),
        left=() if last is None else from_json(last["left"]),
        later=message_records(connection.execute(later).mappings().all()),
        covered=covered,
        version=row["version"],
        state=state_from(row["state"]),
    )


def everything(connection: Connection, conversation: str) -> list[MessageRecord]:
    """All messages that were said and not taken back, without the leading system messages."""
    statement = select(messages).where(_there(conversation)).order_by(messages.c.position)
    return message_records(connection.execute(statement).mappings().all())


def said_in(connection: Connection, name: str) -> list[MessageRecord]:
    """What was said in one session and not taken back."""
    there = and_(messages.c.session_id == name, messages.c.gone_at.is_(None))
    return message_records(
        connection.execute(select(messages).where(there).order_by(messages.c.position)).mappings().all()
    )


def opening(connection: Connection, conversation: str) -> tuple[Sequence[Raw], object]:
    """The leading system messages as the host gave them, and the system prompt that it gave apart."""
    row = _conversation(connection, conversation)
    return from_json(row["lead"]), from_json(row["system"])


def message(connection: Connection, name: int, conversation: str | None = None) -> MessageRecord:
    """A message by its id, taken back or not. Raises ``StoreError``."""
    statement = select(messages).where(messages.c.id == name)
    if conversation is not None:
        statement = statement.where(messages.c.conversation_id == conversation)
    row = connection.execute(statement).mappings().first() if 0 < name < 2**63 else None  # a database counts no further
    if row is None:
        raise StoreError(f"there is no message {name}")
    return message_records([row])[0]


def counts(connection: Connection) -> tuple[int, int, int, int, int, int]:
    """Conversations, sessions, messages, compactions, those of them undone, and the tokens that the others saved."""
    numbers = [
        int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for table in (conversations, sessions, messages, compactions)
    ]
    saved = 0
    undone = 0
    for report, undone_at in connection.execute(select(compactions.c.report, compactions.c.undone_at)):
        numbers_of = from_json(report)
        undone += undone_at is not None
        saved += 0 if undone_at is not None else numbers_of["tokens_before"] - numbers_of["tokens_after"]
    return (numbers[0], numbers[1], numbers[2], numbers[3], undone, saved)


def _conversation(connection: Connection, name: str) -> RowMapping:
    row = connection.execute(select(conversations).where(conversations.c.id == name)).mappings().first()
    if row is None:
        raise StoreError(f"there is no conversation {name!r}")
    return row


def _there(conversation: str) -> ColumnElement[bool]:
    return and_(messages.c.conversation_id == conversation, messages.c.gone_at.is_(None))


def _sessions() -> Select[Any]:
    said = (
        select(func.count())
        .where(messages.c.session_id == sessions.c.id, messages.c.gone_at.is_(None))
        .scalar_subquery()
        .label("messages")
    )
    base = conversations.c.title.label("base")
    return select(sessions, said, base).join(conversations, conversations.c.id == sessions.c.conversation_id)
