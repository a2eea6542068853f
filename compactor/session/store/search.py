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


def find(
    connection: Connection, query: str, *, within: ColumnElement[bool] | None, limit: int, sqlite: bool
) -> list[Hit]:
    """The messages that hold all words of a query, best first; those that hold it as a piece of text where no message
    has the words (a path, a part of a name, a script without blanks)."""
    query = storable(query[:_MAX_QUERY])
    words = _WORD.findall(query)
    if not words:
        return []
    statement = _by_words(words, sqlite)
    rows = connection.execute(_within(statement, within).limit(limit)).mappings().all()
    if not rows:
        pieces = [messages.c.text.icontains(piece, autoescape=True) for piece in query.split()]
        rows = (
            connection.execute(
                _within(_columns().where(and_(*pieces)).order_by(messages.c.id.desc()), within).limit(limit)
            )
            .mappings()
            .all()
        )
    return [_hit(row, words) for row in rows]


def _columns(*more: Any) -> Select[Any]:
    return select(
        messages.c.id,
        messages.c.session_id,
        messages.c.role,
        messages.c.said_at,
        messages.c.text,
        sessions.c.title,
        *more,
    ).join(sessions, sessions.c.id == messages.c.session_id)


def _within(statement: Select[Any], within: ColumnElement[bool] | None) -> Select[Any]:
    return statement if within is None else statement.where(within)


def _by_words(words: Sequence[str], sqlite: bool) -> Select[Any]:
    if sqlite:
        found = text("SELECT rowid AS id, rank FROM message_search WHERE message_search MATCH :query").bindparams(
            query=" ".join(f'"{word}"' for word in words)
        )
        hits = found.columns(literal_column("id"), literal_column("rank")).subquery("hits")
        return _columns().join(hits, hits.c.id == messages.c.id).order_by(hits.c.rank, messages.c.id.desc())
    indexed = func.left(messages.c.text, literal_column(str(_INDEXED)))
    vector = func.to_tsvector(literal_column("'simple'"), indexed)
    wanted = func.plainto_tsquery(literal_column("'simple'"), " ".join(words))
    return _columns().where(vector.op("@@")(wanted)).order_by(func.ts_rank(vector, wanted).desc(), messages.c.id.desc())


def _hit(row: Any, words: Sequence[str]) -> Hit:
    return Hit(row["id"], row["session_id"], row["title"], row["role"], snippet(row["text"], words), row["said_at"])


def of_conversation(conversation_id: str) -> ColumnElement[bool]:
    """Only what was said in one lineage."""
    return messages.c.conversation_id == conversation_id


def of_session(session_id: str) -> ColumnElement[bool]:
    """Only what was said in one session."""
    return messages.c.session_id == session_id
