"""What ``compactor session`` shows: sessions, one of them, what was found, and the numbers of a store."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from compactor.cli.output import Column, Output
from compactor.cli.plan_report import beginning
from compactor.cli.session_compactions import author
from compactor.messages.formats.openai_chat import OpenAIChat
from compactor.messages.message import Raw
from compactor.session.store.records import CompactionRecord, Hit, MessageRecord, SessionRecord, Stats

NEWEST = 20
"""Messages that are shown of a session, where all were not asked for."""

_LINE = 400
"""Characters of a message's first line; the terminal shows what there is room for."""

_LEAST = 48
"""Characters of a line of a table, however narrow the terminal is."""

_LEAST_WITH_ID = 60
"""The same, where one of the columns is an id."""

_NARROW = 110
"""Characters of a line below which tables have fewer columns; ids stay whole, for they are to be copied."""

_HANDLES = 30
"""Characters of a row of messages beside their text."""


@dataclass(frozen=True, slots=True)
class Page:
    """A session with what belongs to it. ``lead`` are leading system messages; ``said`` is its own messages."""

    session: SessionRecord
    children: Sequence[SessionRecord]
    lead: Sequence[Raw]
    has_system: bool
    said: Sequence[MessageRecord]
    compactions: Sequence[CompactionRecord]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; every message in full."""
        return {
            "session": session_dict(self.session),
            "children": [child.id for child in self.children],
            "system_messages": list(self.lead),
            "messages": [{"handle": said.id, "said_at": said.said_at, "message": dict(said.raw)} for said in self.said],
            "compactions": [asdict(compaction) for compaction in self.compactions],
        }


def session_dict(record: SessionRecord) -> dict[str, Any]:
    """A session as plain data for JSON."""
    return {**asdict(record), "state": state_of(record)}


def state_of(record: SessionRecord) -> str:
    """Whether a session goes on, and if not, what ended it."""
    return "running" if record.ended_at is None else f"ended ({record.end_reason or 'no reason given'})"


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def moment(seconds: float) -> str:
    """Date and time here."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def print_sessions(output: Output, records: Sequence[SessionRecord]) -> None:
    """A table of sessions; where it is narrow without source, model and start."""
    wide = output.width >= _NARROW
    more = (Column("source"), Column("model"), Column("started")) if wide else ()
    columns = (Column("id", whole=True), Column("title"), *more, Column("messages", right=True), Column("state"))
    rows = []
    for record in records:
        details = (record.source, record.model or "-", moment(record.started_at)) if wide else ()
        rows.append((record.id, record.title or "-", *details, f"{record.messages:,}", state_of(record)))
    output.table(columns, rows, least=_LEAST_WITH_ID)


def print_page(output: Output, page: Page, *, every: bool) -> None:
    """One session: its numbers, its messages, its compactions."""
    output.line(page.session.title or page.session.id, style="bold")
    output.table((Column("session", whole=True), Column(page.session.id)), list(_numbers(page)), least=_LEAST)
    if page.compactions:
        output.line("")
        print_compactions(output, page.compactions)
    output.line("")
    said = page.said if every else page.said[-NEWEST:]
    if len(said) < len(page.said):
        left_out = f"Not shown: {counted(len(page.said) - len(said), 'earlier message')}; --all shows every one."
        output.wrapped(left_out, style="dim")
    rows = [] if len(said) < len(page.said) else [_message_row(output, "-", raw) for raw in page.lead]
    rows += [_message_row(output, str(message.id), message.raw) for message in said]
    if rows:
        output.table((Column("handle", right=True), Column("role"), Column("text")), rows, least=_LEAST)
    else:
        output.line("Nothing was said in it.")


def print_compactions(output: Output, made: Sequence[CompactionRecord]) -> None:
    """A table of compactions; where it is narrow without times and messages."""
    wide = output.width >= _NARROW
    more = (Column("made"), Column("messages")) if wide else ()
    columns = (Column("compaction", right=True), *more, Column("tokens"), Column("summarizer"), Column("began"))
    rows = []
    for each in made:
        messages = f"{each.messages_before:,} -> {each.messages_after:,}"
        details = (moment(each.made_at), messages) if wide else ()
        tokens = f"{each.tokens_before:,} -> {each.tokens_after:,}"
        began = "undone" if each.undone_at is not None else each.child_id or "-"
        rows.append((str(each.number), *details, tokens, author(each), began))
    output.table(columns, rows, least=_LEAST)


def print_hits(output: Output, hits: Sequence[Hit]) -> None:
    """A table of what was found; where it is narrow without time and role."""
    wide = output.width >= _NARROW
    more = (Column("when"), Column("role")) if wide else ()
    columns = (Column("handle", right=True), *more, Column("session", whole=True), Column("snippet"))
    rows = []
    for hit in hits:
        details = (moment(hit.said_at), hit.role) if wide else ()
        rows.append((str(hit.message_id), *details, hit.session_id, hit.snippet))
    output.table(columns, rows, least=_LEAST_WITH_ID)


def print_stats(output: Output, stats: Stats) -> None:
    """The numbers of a store."""
    rows = [
        ("conversations", f"{stats.conversations:,}"),
        ("sessions", f"{stats.sessions:,}"),
        ("messages", f"{stats.messages:,}"),
        ("compactions", f"{stats.compactions:,}, {stats.undone:,} of them undone"),
        ("tokens saved", f"{stats.saved_tokens:,}"),
        ("version", stats.version),
        ("size", f"{stats.bytes:,} bytes" if stats.bytes else "not known: a database on a server"),
    ]
    output.table((Column("store", whole=True), Column(stats.where)), rows, least=_LEAST)


def stats_dict(stats: Stats) -> dict[str, Any]:
    """The numbers of a store as plain data for JSON; ``bytes`` is None for a database on a server."""
    numbers = asdict(stats)
    return {"store": numbers.pop("where"), **numbers, "bytes": stats.bytes or None}


def _numbers(page: Page) -> Iterator[tuple[str, str]]:
    session = page.session
    yield "state", state_of(session)
    yield "started", moment(session.started_at)
    if session.ended_at is not None:
        yield "ended", moment(session.ended_at)
    yield "source", session.source
    yield "model", session.model or "-"
    yield "policy", session.policy or "-"
    apart = len(page.lead) + page.has_system
    system = f", and {apart} of the system before them" if apart else ""
    yield "messages", f"{session.messages:,}{system}"
    yield "number", f"{session.number} of its conversation"
    yield "parent", session.parent_id or "-"
    yield "child", ", ".join(f"{child.id} {state_of(child)}" for child in page.children) or "-"


def _message_row(output: Output, handle: str, raw: Raw) -> tuple[str, str, str]:
    message = OpenAIChat().parse(raw, 0)
    room = min(max(output.width, _LEAST) - _HANDLES, _LINE)
    return handle, message.role, output.shortened(beginning(message), room)
