"""The log of a conversation: messages are added at its end, and taken back without being deleted."""

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from compactor.errors import StoreError
from compactor.extension.protocols import Format
from compactor.messages.message import Raw
from compactor.session.store.naming import session_id
from compactor.session.store.rows import as_json, from_json, message_values, state_json
from compactor.session.store.tables import compactions, conversations, messages, sessions
from compactor.session.store.texts import storable
from compactor.state import CompactionState


def begin(
    connection: Connection,
    *,
    now: float,
    title: str | None,
    source: str,
    model: str | None,
    policy: str | None,
    lead: Sequence[Raw],
    system: Any,
) -> str:
    """Begins a conversation with its first session; the session's id."""
    conversation, name = uuid.uuid4().hex, free_session_id(connection, now)
    title = None if title is None else storable(title)
    connection.execute(
        insert(conversations).values(
            id=conversation,
            title=title,
            lead=as_json(list(lead)),
            system=None if system is None else as_json(system),
            state=state_json(CompactionState()),
            length=0,
            version=0,
            created_at=now,
        )
    )
    connection.execute(
        insert(sessions).values(
            id=name,
            conversation_id=conversation,
            number=1,
            title=title,
            source=source,
            model=model,
            policy=policy,
            started_at=now,
        )
    )
    return name


def free_session_id(connection: Connection, now: float) -> str:
    """An id that no session has: there are not too many for one second."""
    while True:
        name = session_id(now)
        if connection.execute(select(sessions.c.id).where(sessions.c.id == name)).first() is None:
            return name


def locked(connection: Connection, conversation: str) -> RowMapping:
    """The row of a conversation, held until the transaction ends. Raises ``StoreError``."""
    found = select(conversations).where(conversations.c.id == conversation).with_for_update()
    row = connection.execute(found).mappings().first()
    if row is None:
        raise StoreError(f"there is no conversation {conversation!r}")
    return row


def append(
    connection: Connection, conversation: str, raw: Sequence[Raw], format_: Format, *, now: float
) -> list[tuple[int, int]]:
    """Adds messages at the end, in the session that goes on now; id and position of each."""
    row = locked(connection, conversation)
    session = current_session(connection, conversation)
    first = row["length"]
    values = [
        {
            **message_values(message, format_),
            "conversation_id": conversation,
            "session_id": session,
            "position": first + place,
            "said_at": now,
        }
        for place, message in enumerate(raw)
    ]
    added = connection.execute(insert(messages).returning(messages.c.id, sort_by_parameter_order=True), values)
    ids = list(added.scalars())
    later = first + len(values)
    connection.execute(update(conversations).where(conversations.c.id == conversation).values(length=later))
    return [(name, first + place) for place, name in enumerate(ids)]


def take_back(connection: Connection, conversation: str, position: int, *, now: float, shorten: bool = False) -> int:
    """Takes back what was said from ``position`` on, and the compactions that cover any of it; how many messages.

    With ``shorten``, a compaction that had left just those messages as they were, at its end, stays without them.
    """
    row = locked(connection, conversation)
    there = (
        messages.c.conversation_id == conversation,
        messages.c.position >= position,
        messages.c.gone_at.is_(None),
    )
    going = [
        (place, raw) for place, raw in connection.execute(select(messages.c.position, messages.c.raw).where(*there))
    ]
    connection.execute(update(messages).where(*there).values(gone_at=now))
    covering = select(compactions).where(
        compactions.c.conversation_id == conversation,
        compactions.c.covered > position,
        compactions.c.undone_at.is_(None),
    )
    state, stays = row["state"], False
    for made in connection.execute(covering.order_by(compactions.c.id.desc())).mappings().all():
        covered = [raw for place, raw in sorted(going) if place < made["covered"]]
        left = from_json(made["left"])
        this = update(compactions).where(compactions.c.id == made["id"])
        if shorten and list(map(as_json, left[-len(covered) :])) == covered:
            connection.execute(this.values(left=as_json(left[: -len(covered)]), covered=position))
            stays = True
        elif stays:  # a later one still applies: only an undo of that would come back to this one
            connection.execute(this.values(undone_at=now))
        else:
            withdraw(connection, made, "rewind", now)
            state = made["state_before"]
    changed = update(conversations).where(conversations.c.id == conversation)
    connection.execute(changed.values(version=row["version"] + 1, state=state))
    return len(going)


def withdraw(connection: Connection, made: RowMapping, reason: str, now: float) -> None:
    """Undoes a compaction. The session that it ended goes on; the one that it began ends."""
    connection.execute(update(compactions).where(compactions.c.id == made["id"]).values(undone_at=now))
    if made["child_id"] is None:
        return
    begun = update(sessions).where(sessions.c.id == made["child_id"], sessions.c.ended_at.is_(None))
    connection.execute(begun.values(ended_at=now, end_reason=reason))
    ended = update(sessions).where(sessions.c.id == made["session_id"])
    connection.execute(ended.values(ended_at=None, end_reason=None))


def keep_lead(
    connection: Connection, conversation: str, lead: Sequence[Raw], system: Any, sent: tuple[Sequence[Raw], Any]
) -> None:
    """Notes the system prompt as it is now; ``sent`` as it is sent while a compaction applies."""
    row = update(conversations).where(conversations.c.id == conversation)
    connection.execute(row.values(**_lead_values(lead, system)))
    applying = compactions.c.conversation_id == conversation, compactions.c.undone_at.is_(None)
    connection.execute(update(compactions).where(*applying).values(**_lead_values(*sent)))


def _lead_values(lead: Sequence[Raw], system: Any) -> dict[str, str | None]:
    return {"lead": as_json(list(lead)), "system": None if system is None else as_json(system)}


def current_session(connection: Connection, conversation: str) -> str:
    """The session of a conversation that goes on."""
    newest = (
        select(sessions.c.id)
        .where(sessions.c.conversation_id == conversation, sessions.c.ended_at.is_(None))
        .order_by(sessions.c.number.desc())
    )
    found = connection.execute(newest.limit(1)).scalar()
    if found is None:
        raise StoreError(f"all sessions of the conversation {conversation!r} have ended")
    return str(found)


def said(connection: Connection, conversation: str, covered: int) -> int:
    """How many messages below ``covered`` were not taken back."""
    counted = select(func.count()).where(
        messages.c.conversation_id == conversation, messages.c.position < covered, messages.c.gone_at.is_(None)
    )
    return int(connection.execute(counted).scalar_one())
