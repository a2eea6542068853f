"""Who may compact a conversation: one at a time, for as long as the lease runs."""

import secrets

from sqlalchemy import Connection, update

from compactor.session.store.log import locked
from compactor.session.store.records import Claim
from compactor.session.store.tables import conversations

SECONDS = 30.0
"""A lease runs so long; its holder renews it while the summariser runs, and one that was killed blocks no longer."""


def claim(connection: Connection, conversation: str, *, now: float) -> Claim | None:
    """The right to compact, None where somebody else has it."""
    row = locked(connection, conversation)
    if row["lease_holder"] is not None and (row["lease_until"] or 0) > now:
        return None
    holder = secrets.token_hex(8)
    _set(connection, conversation, holder, now + SECONDS)
    return Claim(conversation, holder, row["version"])


def renew(connection: Connection, claimed: Claim, *, now: float) -> bool:
    """Has the lease run on; False where somebody else has taken it."""
    row = locked(connection, claimed.conversation_id)
    if row["lease_holder"] != claimed.holder:
        return False
    _set(connection, claimed.conversation_id, claimed.holder, now + SECONDS)
    return True


def release(connection: Connection, claimed: Claim) -> None:
    """Gives the lease back, if it is still one's own."""
    row = locked(connection, claimed.conversation_id)
    if row["lease_holder"] == claimed.holder:
        _set(connection, claimed.conversation_id, None, None)


def _set(connection: Connection, conversation: str, holder: str | None, until: float | None) -> None:
    changed = update(conversations).where(conversations.c.id == conversation)
    connection.execute(changed.values(lease_holder=holder, lease_until=until))
