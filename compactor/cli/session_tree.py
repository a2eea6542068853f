"""The lineage of a conversation as a tree: its sessions, what ended each, and the compactions in between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from compactor.cli.output import Output, printable
from compactor.cli.session_compactions import author, change
from compactor.cli.session_pages import counted, moment, state_of
from compactor.session.store.records import CompactionRecord, SessionRecord

_LEAST = 32
"""Columns of the tree, however narrow the terminal is."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The sessions of a conversation and its compactions, oldest first; ``asked`` is the session that was asked for."""

    asked: str
    sessions: Sequence[SessionRecord]
    compactions: Sequence[CompactionRecord]

    @property
    def withdrawn(self) -> frozenset[str]:
        """The sessions that began with a compaction that was undone."""
        return frozenset(made.child_id for made in self.compactions if made.undone_at is not None and made.child_id)

    def of(self, session: SessionRecord) -> Iterator[CompactionRecord]:
        """The compactions that were made in a session."""
        return (made for made in self.compactions if made.session_id == session.id)


def print_lineage(output: Output, lineage: Lineage) -> None:
    """Prints the tree, wrapped where the terminal is narrow. Sessions follow each other, so none is indented below
    the one before it: however long a lineage gets, it stays as wide."""
    first = lineage.sessions[0]
    tree = Tree(Text(printable(first.base or first.title or "(no title)"), "bold"), guide_style="")
    for session in lineage.sessions:
        gone = session.id in lineage.withdrawn
        branch = tree.add(Text(_session_label(session, asked=session.id == lineage.asked), "dim" if gone else ""))
        for made in lineage.of(session):
            branch.add(Text(_compaction_label(made), "dim" if made.undone_at is not None else "cyan"))
    for pieces in _lines(tree, max(output.width, _LEAST)):
        output.pieces(pieces)


def _session_label(session: SessionRecord, *, asked: bool) -> str:
    title = f" {session.title!r}" if session.title else ""
    mark = " <- this one" if asked else ""
    said = f"{counted(session.messages, 'message')} since {moment(session.started_at)}"
    return printable(f"{session.number}. {session.id}{title}: {said}, {state_of(session)}{mark}")


def _compaction_label(made: CompactionRecord) -> str:
    began = f", began {made.child_id}" if made.child_id and made.undone_at is None else ""
    undone = f", undone {moment(made.undone_at)}" if made.undone_at is not None else ""
    return printable(f"compaction {made.number}: {change(made)} ({author(made)}){began}{undone}")


def _lines(tree: Tree, width: int) -> Iterator[list[tuple[str, str]]]:
    # A console of its own lays the tree out; it prints nothing, and knows what the stream can show.
    console = Console(width=width, color_system="standard", force_terminal=True)
    for line in console.render_lines(tree, pad=False):
        yield [(segment.text, str(segment.style or "")) for segment in line]
