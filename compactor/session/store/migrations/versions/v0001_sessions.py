"""Conversations, sessions, messages and compactions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("title", sa.Text),
        sa.Column("lead", sa.Text, nullable=False),
        sa.Column("system", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("lease_holder", sa.String(64)),
        sa.Column("lease_until", sa.Float),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("conversation_id", sa.String(32), sa.ForeignKey("conversations.id"), nullable=False, index=True),
        sa.Column("parent_id", sa.String(64), sa.ForeignKey("sessions.id")),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("model", sa.Text),
        sa.Column("policy", sa.Text),
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("end_reason", sa.Text),
    )
    op.create_table(
        "messages",
        sa.Column("id", _number, primary_key=True, autoincrement=True),
        sa.Column("conversation_id", sa.String(32), sa.ForeignKey("conversations.id"), nullable=False),
        sa.Column("session_id", sa.String(64), sa.ForeignKey("sessions.id"), nullable=False, index=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("raw", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("said_at", sa.Float, nullable=False),
        sa.Column("gone_at", sa.Float),
        sa.UniqueConstraint("conversation_id", "position"),
    )
    op.create_table(
        "compactions",
        sa.Column("id", _number, primary_key=True, autoincrement=True),
        sa.Column("conversation_id", sa.String(32), sa.ForeignKey("conversations.id"), nullable=False),
        sa.Column("session_id", sa.String(64), sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("child_id", sa.String(64), sa.ForeignKey("sessions.id")),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("covered", sa.Integer, nullable=False),
        sa.Column("left", sa.Text, nullable=False),
        sa.Column("lead", sa.Text, nullable=False),
        sa.Column("system", sa.Text),
        sa.Column("summary", sa.Text),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
        sa.Column("state_before", sa.Text, nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("undone_at", sa.Float),
    )
    op.create_index("compactions_of_conversation", "compactions", ["conversation_id", "covered"])
    op.create_table(
        "archived",
        sa.Column("compaction_id", _number, sa.ForeignKey("compactions.id"), primary_key=True),
        sa.Column("message_id", _number, sa.ForeignKey("messages.id"), primary_key=True),
        sa.Column("fate", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
