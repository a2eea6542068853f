"""Full-text search over everything that was ever said, in either database's own way."""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal_column, select, text

from compactor.session.store.records import Hit
from compactor.session.store.snippets import snippet
from compactor.session.store.tables import messages, sessions
from compactor.session.store.texts import storable

_WORD = re.compile(r"\w+", re.UNICODE)

_MAX_QUERY = 1_000
"""Characters of a query that are looked at: databases limit the conditions of a statement, and the length of one."""

_INDEXED = 150_000
"""Characters of a text whose words PostgreSQL indexes: a ``tsvector`` of more could exceed its limit of 1 MB."""


_CANDIDATES = 200
"""Of the messages with all words, so many newest ones are weighed against each other: words that stand everywhere would
have a database read half of what it holds."""


def find(
    connection: Connection, query: str, *, within: ColumnElement[bool] | None, limit: int, sqlite: bool
) -> list[Hit]:
    """The messages that hold all words of a query, best first; those that hold it as a piece of text where no message
    has the words (a path, a part of a name, a script without blanks)."""
    query = storable(query[:_MAX_QUERY])
    words = _WORD.findall(query)
    if not words or limit < 1:
        return []
    by_words = _newest(_with_words(words, sqlite), within, max(limit, _CANDIDATES))
    rows = sorted(connection.execute(by_words).mappings(), key=lambda row: _weight(row["text"], words), reverse=True)
    if not rows:
        pieces = and_(*(messages.c.text.icontains(piece, autoescape=True) for piece in query.split()))
        rows = list(connection.execute(_newest(pieces, within, limit)).mappings())
    return [_hit(row, words) for row in rows[:limit]]


def _newest(condition: ColumnElement[bool], within: ColumnElement[bool] | None, limit: int) -> Select[Any]:
    """The newest messages for which a condition holds."""
    there = (
        select(
            messages.c.id,
            messages.c.session_id,
            messages.c.role,
            messages.c.said_at,
            messages.c.text,
            sessions.c.title,
        )
        .join(sessions, sessions.c.id == messages.c.session_id)
        .where(condition)
    )
    return (there if within is None else there.where(within)).order_by(messages.c.id.desc()).limit(limit)


def _with_words(words: Sequence[str], sqlite: bool) -> ColumnElement[bool]:
    if sqlite:
        found = text("SELECT rowid FROM message_search WHERE message_search MATCH :query").bindparams(
            query=" ".join(f'"{word}"' for word in words)
        )
        return messages.c.id.in_(found.columns(literal_column("rowid")))
    indexed = func.left(messages.c.text, literal_column(str(_INDEXED)))
    vector = func.to_tsvector(literal_column("'simple'"), indexed)
    wanted = func.plainto_tsquery(literal_column("'simple'"), " ".join(words))
    return vector.op("@@")(wanted)


def _weight(said: str, words: Sequence[str]) -> float:
    """How much a text is about these words: how often they stand in it, against its length."""
    lowered = said.lower()
    return float(sum(min(lowered.count(word.lower()), 20) for word in words) / (len(said) + 200) ** 0.5)


def _hit(row: Any, words: Sequence[str]) -> Hit:
    return Hit(row["id"], row["session_id"], row["title"], row["role"], snippet(row["text"], words), row["said_at"])


def of_conversation(conversation_id: str) -> ColumnElement[bool]:
    """Only what was said in one lineage."""
    return messages.c.conversation_id == conversation_id


def of_session(session_id: str) -> ColumnElement[bool]:
    """Only what was said in one session."""
    return messages.c.session_id == session_id
