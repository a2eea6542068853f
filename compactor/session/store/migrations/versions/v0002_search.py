"""Full-text search: FTS5 on SQLite, a tsvector index on PostgreSQL. Messages of older stores are indexed, too."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE message_search USING fts5"
            "(text, content='messages', content_rowid='id', tokenize='unicode61 remove_diacritics 2')"
        )
        op.execute(
            "CREATE TRIGGER message_said AFTER INSERT ON messages WHEN new.text <> '' BEGIN "
            "INSERT INTO message_search(rowid, text) VALUES (new.id, new.text); END"
        )
        op.execute("INSERT INTO message_search(message_search) VALUES ('rebuild')")
    else:
        op.execute("CREATE INDEX message_search ON messages USING gin (to_tsvector('simple', left(text, 150000)))")
