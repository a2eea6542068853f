"""``compactor session``: conversations on disk, looked at, searched, taken in and out, and uncompacted."""

from typing import Annotated

import typer

from compactor.cli import options, session_changes
from compactor.cli.failures import Refusal
from compactor.cli.session_place import HOW_TO, Place, SessionId, StorePlace, StorePolicy, clean, told, working

app = typer.Typer(
    help="Look at kept sessions, search them, import and export them, undo a compaction.", no_args_is_help=True
)

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")]


@app.command("list")
def list_sessions(
    store: StorePlace = None,
    policy: StorePolicy = options.DEFAULT_POLICY,
    limit: Limit = 50,
    as_json: options.AsJson = False,
) -> None:
    """List sessions, newest first."""
    from compactor.cli.output import errors, messages, write_json
    from compactor.cli.session_pages import counted, print_sessions, session_dict

    place = Place.chosen(store, policy)
    if place.is_there:
        with place.opened() as kept, working():
            found, where, total = kept.sessions(limit=limit), kept.where, kept.stats().sessions
    else:
        found, where, total = [], str(place.file), 0
    if as_json:
        write_json({"store": where, "total": total, "sessions": [session_dict(record) for record in found]})
        return
    output = messages()
    if found:
        print_sessions(output, found)
    else:
        output.line(f"There are no sessions in {where} yet: {HOW_TO}.")
    if len(found) < total:
        output.line(f"Not shown: {counted(total - len(found), 'older session')}; --limit N shows more.", style="dim")
    errors().line(where, label="store: ", style="cyan")


@app.command("show")
def show_session(
    session: SessionId,
    store: StorePlace = None,
    policy: StorePolicy = options.DEFAULT_POLICY,
    every: Annotated[bool, typer.Option("--all", help="Every message, however many there are.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show a session: its numbers, its messages, its compactions."""
    from compactor.cli.output import messages, write_json
    from compactor.cli.session_pages import Page, print_page

    with Place.chosen(store, policy).opened() as kept:
        record = kept.session(clean(session))
        with working():
            lead, system, said = kept.everything(record.conversation_id)
            lineage = kept.lineage(record.conversation_id)
            made = kept.compactions(record.conversation_id)
        first = record.number == 1  # leading system messages stand before the first session's own
        page = Page(
            session=record,
            children=[other for other in lineage if other.parent_id == record.id],
            lead=lead if first else (),
            has_system=first and system is not None,
            said=[message for message in said if message.session_id == record.id],
            compactions=[compaction for compaction in made if compaction.session_id == record.id],
        )
        if as_json:
            write_json({"store": kept.where, **page.to_dict()})
        else:
            print_page(messages(), page, every=every)
            told(kept)


@app.command("lineage")
def show_lineage(
    session: SessionId,
    store: StorePlace = None,
    policy: StorePolicy = options.DEFAULT_POLICY,
    as_json: options.AsJson = False,
) -> None:
    """Draw the sessions and compactions of a conversation as a tree."""
    from dataclasses import asdict

    from compactor.cli.output import messages, write_json
    from compactor.cli.session_pages import session_dict
    from compactor.cli.session_tree import Lineage, print_lineage

    with Place.chosen(store, policy).opened() as kept:
        record = kept.session(clean(session))
        with working():
            sessions = kept.lineage(record.conversation_id)
            lineage = Lineage(record.id, sessions, kept.compactions(record.conversation_id))
        if as_json:
            write_json(
                {
                    "store": kept.where,
                    "conversation": record.conversation_id,
                    "sessions": [session_dict(each) for each in lineage.sessions],
                    "compactions": [asdict(made) for made in lineage.compactions],
                }
            )
        else:
            print_lineage(messages(), lineage)
            told(kept)


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words that were said.", show_default=False)],
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only in this session.")] = None,
    lineage: Annotated[str | None, typer.Option("--lineage", metavar="ID", help="Only in its conversation.")] = None,
    store: StorePlace = None,
    policy: StorePolicy = options.DEFAULT_POLICY,
    limit: Limit = 20,
    as_json: options.AsJson = False,
) -> None:
    """Search everything that was ever said, best hits first; all words have to be in a message."""
    from dataclasses import asdict

    from compactor.cli.output import messages, write_json
    from compactor.cli.session_pages import print_hits

    if session is not None and lineage is not None:
        raise Refusal("--session and --lineage exclude each other: choose one")
    if not any(character.isalnum() for character in query):
        raise Refusal(f"{query!r}: there is no word to search for")
    with Place.chosen(store, policy).opened() as kept:
        within = None if session is None else kept.session(clean(session)).id
        conversation = None if lineage is None else kept.session(clean(lineage)).conversation_id
        with working():
            hits = kept.search(clean(query), session=within, conversation=conversation, limit=limit)
        if as_json:
            write_json({"store": kept.where, "query": query, "hits": [asdict(hit) for hit in hits]})
            return
        if hits:
            print_hits(messages(), hits)
        else:
            messages().line(f"Nothing was said with all of these words: {query}")
        told(kept)


@app.command("stats")
def stats(
    store: StorePlace = None, policy: StorePolicy = options.DEFAULT_POLICY, as_json: options.AsJson = False
) -> None:
    """Show the numbers of a store, its place, version and size."""
    from compactor.cli.output import messages, write_json
    from compactor.cli.session_pages import print_stats, stats_dict

    with Place.chosen(store, policy).opened() as kept, working():
        numbers = kept.stats()
    if as_json:
        write_json(stats_dict(numbers))
    else:
        print_stats(messages(), numbers)


@app.command("export")
def export(
    session: SessionId,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Where to write; else standard output.")
    ] = None,
    sent: Annotated[bool, typer.Option("--sent", help="As it would be sent now, after its compactions.")] = False,
    lines: Annotated[bool, typer.Option("--jsonl", help="A message a line, as where OUT ends in .jsonl.")] = False,
    store: StorePlace = None,
    policy: StorePolicy = options.DEFAULT_POLICY,
) -> None:
    """Write a whole conversation as it was said, whatever was compacted."""
    from compactor.cli.output import errors
    from compactor.cli.session_files import export_place, export_text, is_lines

    with Place.chosen(store, policy).opened() as kept:
        conversation = kept.session(clean(session)).conversation_id
        destination = export_place(kept, output)
        with working():
            if sent:
                view = kept.view(conversation)
                text = export_text((), view.system, view.messages, lines=lines or is_lines(output))
            else:
                lead, system, log = kept.everything(conversation)
                text = export_text(lead, system, [said.raw for said in log], lines=lines or is_lines(output))
        destination.write(text.encode("utf-8"), b"")
        if output is not None:
            errors().line(f"wrote {output}")
        told(kept)


app.command("import")(session_changes.import_sessions)
app.command("undo")(session_changes.undo)
