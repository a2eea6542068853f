"""The tables of the store, as the newest migration leaves them.

A *conversation* is a lineage: its messages stand in one log, whatever sessions they were said in. A *session* is a
stretch of it with an id of its own; a rotation ends one and begins the next. Messages are never changed or deleted:
what was rewound has ``gone_at``, a compaction that was undone ``undone_at``.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

_Number = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up only what is declared as exactly INTEGER."""

conversations = Table(
    "conversations",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("title", Text),  # of its first session
    Column("lead", Text, nullable=False),  # JSON: leading system messages
    Column("system", Text),  # JSON: a system prompt given apart
    Column("state", Text, nullable=False),  # JSON of CompactionState
    Column("length", Integer, nullable=False),  # positions given out so far
    Column("version", Integer, nullable=False),  # counts commits, undos and rewinds: the swap of compare-and-swap
    Column("lease_holder", String(64)),
    Column("lease_until", Float),  # seconds since the epoch
    Column("created_at", Float, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("conversation_id", ForeignKey("conversations.id"), nullable=False, index=True),
    Column("parent_id", ForeignKey("sessions.id")),
    Column("number", Integer, nullable=False),  # of the session in its lineage, from 1
    Column("title", Text),
    Column("source", Text, nullable=False),
    Column("model", Text),
    Column("policy", Text),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("end_reason", Text),
)

messages = Table(
    "messages",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("conversation_id", ForeignKey("conversations.id"), nullable=False),
    Column("session_id", ForeignKey("sessions.id"), nullable=False, index=True),
    Column("position", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("raw", Text, nullable=False),  # JSON, the order of its keys kept
    Column("text", Text, nullable=False),  # what can be searched for
    Column("said_at", Float, nullable=False),
    Column("gone_at", Float),
    UniqueConstraint("conversation_id", "position"),
)

compactions = Table(
    "compactions",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("conversation_id", ForeignKey("conversations.id"), nullable=False),
    Column("session_id", ForeignKey("sessions.id"), nullable=False),
    Column("child_id", ForeignKey("sessions.id")),  # the session that it began, where it rotated
    Column("number", Integer, nullable=False),
    Column("covered", Integer, nullable=False),  # messages at lower positions are covered
    Column("left", Text, nullable=False),  # JSON: the messages that took their place
    Column("lead", Text, nullable=False),
    Column("system", Text),
    Column("summary", Text),
    Column("outcome", Text, nullable=False),
    Column("report", Text, nullable=False),  # JSON of Report, plugins and seconds included
    Column("state_before", Text, nullable=False),
    Column("made_at", Float, nullable=False),
    Column("undone_at", Float),
    Index("compactions_of_conversation", "conversation_id", "covered"),
)

archived = Table(
    "archived",
    metadata,
    Column("compaction_id", ForeignKey("compactions.id"), primary_key=True),
    Column("message_id", ForeignKey("messages.id"), primary_key=True),
    Column("fate", Text, nullable=False),  # folded or pruned
    Column("reason", Text, nullable=False),
)
