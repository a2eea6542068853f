"""What of ``compactor session`` changes a store: taking conversations in, and undoing a compaction."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from compactor.cli import options
from compactor.cli.exits import FAILED
from compactor.cli.failures import Unwritten, show
from compactor.cli.session_place import Place, SessionId, StorePlace, StorePolicy, clean, told, working

if TYPE_CHECKING:
    from compactor.cli.output import Output
    from compactor.cli.session_files import Imported
    from compactor.session.store.records import CompactionRecord, View


def import_sessions(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Conversations, JSON or JSONL.", show_default=False)
    ],
    title: Annotated[str | None, typer.Option("--title", help="Their title; else the name of the file.")] = None,
    source: Annotated[str, typer.Option("--source", help="Where they come from.")] = "import",
    model: Annotated[str | None, typer.Option("--model", help="The model; else what the file says.")] = None,
    store: StorePlace = None,
    policy: StorePolicy = options.DEFAULT_POLICY,
    as_json: options.AsJson = False,
) -> None:
    """Make every file a new session of the store, which is made where there is none.

    A file that cannot be read does not keep the others out. Exit code 1: some failed, and standard error says which.
    """
    from dataclasses import asdict

    from compactor.cli.output import messages, write_json
    from compactor.cli.session_files import Labels, import_files
    from compactor.prepared import prepare

    # Standard output is for the ids alone, whatever plugins have to say.
    with redirect_stdout(sys.stderr), Place.chosen(store, policy).opened(make=True) as kept:
        done = import_files(kept, files, Labels(title, source, model), prepare(policy).formats)
    if as_json:
        write_json({"store": kept.where, "imported": [asdict(each) for each in done]})
    else:
        _print_imported(messages(), done)
    for each in done:
        if each.error is not None:
            show(Unwritten(f"{each.file}: {each.error}"))
    if not as_json:
        told(kept)
    if any(each.error is not None for each in done):
        raise typer.Exit(FAILED)


def undo(
    session: SessionId,
    store: StorePlace = None,
    policy: StorePolicy = options.DEFAULT_POLICY,
    as_json: options.AsJson = False,
) -> None:
    """Undo the newest compaction of a conversation; what was said since stays.

    Exit code 1: there is nothing to undo.
    """
    from dataclasses import asdict

    from compactor.cli.output import messages, write_json
    from compactor.cli.session_compactions import in_force, last_undone
    from compactor.cli.session_pages import session_dict

    with Place.chosen(store, policy).opened() as kept:
        record = kept.session(clean(session))
        with working():
            view = kept.undo(record.conversation_id)
            made = kept.compactions(record.conversation_id)
        if view is None:
            why = "all of them are undone" if made else "it was never compacted"
            show(Unwritten(f"{record.id}: there is no compaction of this conversation to undo, {why}"))
            told(kept)
            raise typer.Exit(FAILED)
        undone = last_undone(made)
        applies = in_force(made)[-1:]
        if as_json:
            write_json(
                {
                    "store": kept.where,
                    "undone": asdict(undone),
                    "session": session_dict(view.session),
                    "messages": len(view.messages),
                    "applies": asdict(applies[0]) if applies else None,
                }
            )
        else:
            _print_undone(messages(), undone, applies, view)
            told(kept)


def _print_imported(output: "Output", done: "Sequence[Imported]") -> None:
    from compactor.cli.output import Column, errors

    rows = [(each.session, f"{each.messages:,}", each.file) for each in done if each.session is not None]
    if rows:
        output.table((Column("session", whole=True), Column("messages", right=True), Column("file")), rows)
    left_out = sorted({key for each in done for key in each.left_out})
    if left_out:
        keys = f"kept are messages and the system prompt; what else stands in a file is not: {', '.join(left_out)}"
        errors().line(keys, label="note: ", style="cyan")


def _print_undone(
    output: "Output", undone: "CompactionRecord", applies: "Sequence[CompactionRecord]", view: "View"
) -> None:
    from compactor.cli.session_compactions import author, change

    output.line(f"Undone: compaction {undone.number}, {change(undone)} ({author(undone)}).", style="bold")
    saved = undone.tokens_before - undone.tokens_after
    output.line(f"Back: {_back(undone)}, and the {saved:,} tokens that it had saved.")
    if undone.child_id is not None:
        output.line(f"The session {undone.child_id} that it began has ended.")
    now = f"Now the session {view.session.id} goes on, and {len(view.messages):,} messages are sent"
    if applies:
        output.line(f"{now}: compaction {applies[0].number} applies, {change(applies[0])}.")
    else:
        output.line(f"{now}: all of them as they were said, no compaction applies.")


def _back(undone: "CompactionRecord") -> str:
    from compactor.cli.session_pages import counted

    counts = {"folded": undone.folded, "pruned": undone.pruned}
    return " and ".join(counted(count, f"{what} message") for what, count in counts.items() if count)
