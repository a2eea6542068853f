"""Compactions as they are committed and undone: all of one or nothing."""

from sqlalchemy import Connection, RowMapping, insert, select, update

from compactor.session.store.log import current_session, free_session_id, locked, said, withdraw
from compactor.session.store.records import Claim, Commit
from compactor.session.store.rows import as_json, from_json, state_json
from compactor.session.store.tables import archived, compactions, conversations, messages, sessions


def commit(connection: Connection, claimed: Claim, made: Commit, *, now: float) -> bool:
    """Keeps a compaction and gives the lease back; False, and nothing is kept, where the conversation has changed."""
    conversation = claimed.conversation_id
    row = locked(connection, conversation)
    if row["lease_holder"] != claimed.holder or row["version"] != claimed.version:
        return False
    if said(connection, conversation, made.covered) != made.count:
        return False
    session = current_session(connection, conversation)
    child = _rotated(connection, session, made, now) if made.rotate else None
    _keep(connection, conversation, session, child, made, row, now)
    changed = update(conversations).where(conversations.c.id == conversation)
    connection.execute(
        changed.values(
            state=state_json(made.result.state), version=row["version"] + 1, lease_holder=None, lease_until=None
        )
    )
    return True


def _keep(
    connection: Connection,
    conversation: str,
    session: str,
    child: str | None,
    made: Commit,
    row: RowMapping,
    now: float,
) -> None:
    result = made.result
    kept = insert(compactions).values(
        conversation_id=conversation,
        session_id=session,
        child_id=child,
        number=result.state.count,
        covered=made.covered,
        left=as_json(list(made.left)),
        lead=as_json(list(made.lead)),
        system=None if result.system is None else as_json(result.system),
        summary=result.summary,
        outcome=result.outcome.value,
        report=as_json(result.report.to_dict()),
        state_before=row["state"],
        made_at=now,
    )
    key = connection.execute(kept).inserted_primary_key
    if not made.archived or key is None:
        return
    places = select(messages.c.id, messages.c.position).where(
        messages.c.conversation_id == conversation, messages.c.position.in_(made.archived)
    )
    rows = [
        {"compaction_id": key[0], "message_id": name, "fate": fate, "reason": reason}
        for name, position in connection.execute(places)
        for fate, reason in [made.archived[position]]
    ]
    connection.execute(insert(archived), rows)


def _rotated(connection: Connection, session: str, made: Commit, now: float) -> str:
    """The session that begins where another one ends."""
    parent = connection.execute(select(sessions).where(sessions.c.id == session)).mappings().one()
    ended = update(sessions).where(sessions.c.id == session)
    connection.execute(ended.values(ended_at=now, end_reason="compression"))
    child = free_session_id(connection, now)
    connection.execute(
        insert(sessions).values(
            id=child,
            conversation_id=parent["conversation_id"],
            parent_id=session,
            number=parent["number"] + 1,
            title=made.title,
            source=parent["source"],
            model=made.model or parent["model"],
            policy=made.result.report.policy,
            started_at=now,
        )
    )
    return child


def newest(connection: Connection, conversation: str) -> RowMapping | None:
    """The compaction that applies now."""
    found = (
        select(compactions)
        .where(compactions.c.conversation_id == conversation, compactions.c.undone_at.is_(None))
        .order_by(compactions.c.id.desc())
    )
    return connection.execute(found.limit(1)).mappings().first()


def undo(connection: Connection, conversation: str, *, now: float) -> bool:
    """Undoes the compaction that applies; False where there is none. What was said since stays."""
    row = locked(connection, conversation)
    last = newest(connection, conversation)
    if last is None:
        return False
    withdraw(connection, last, "undo", now)
    changed = update(conversations).where(conversations.c.id == conversation)
    connection.execute(changed.values(state=last["state_before"], version=row["version"] + 1))
    return True


def shorten(connection: Connection, conversation: str, dropped: int) -> None:
    """Takes messages off the end of what the newest compaction left; they were never said as they stand there."""
    row = locked(connection, conversation)
    last = newest(connection, conversation)
    if last is None:
        return
    left = from_json(last["left"])
    changed = update(compactions).where(compactions.c.id == last["id"])
    connection.execute(changed.values(left=as_json(left[: max(len(left) - dropped, 0)])))
    bump = update(conversations).where(conversations.c.id == conversation)
    connection.execute(bump.values(version=row["version"] + 1))
