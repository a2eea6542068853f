"""Conversations from files into a store, and out of it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactor.cli.destination import Destination
from compactor.cli.failures import Refusal
from compactor.cli.files import STANDARD, read_input
from compactor.cli.session_place import clean
from compactor.errors import CompactorError, InputError, StoreError
from compactor.extension.protocols import Format
from compactor.messages.formats.document import Document, dump_json, load_document
from compactor.messages.message import Raw

if TYPE_CHECKING:
    from rich.progress import Progress

    from compactor.session.store.store import Store

MANY = 20
"""Files from which on their progress is told even where nobody watches."""

_LINES = (".jsonl", ".ndjson")
_KEPT = ("messages", "system", "model")


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a file: the ``session`` that it is now and its numbers, or the ``error``.

    ``messages`` are all those of the file; ``left_out`` are keys beside the messages, which a store has no place for.
    """

    file: str
    session: str | None = None
    messages: int = 0
    left_out: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """What is noted of new sessions. Without ``title`` it is the name of the file, without ``model`` what the file
    says."""

    title: str | None
    source: str
    model: str | None


def import_files(store: "Store", files: Sequence[str], labels: Labels, formats: Sequence[Format]) -> list[Imported]:
    """Makes every file a session; one that cannot be read does not keep the others out."""
    done = []
    with _progress(len(files)) as progress:
        task = progress.add_task("importing", total=len(files))
        for file in files:
            try:
                done.append(_imported(store, file, labels, formats))
            except StoreError as error:
                done.append(Imported(file, error=str(error)))
            except CompactorError as error:
                done.append(Imported(file, error=str(error).removeprefix(f"{file}: ")))
            progress.advance(task)
    return done


def export_text(lead: Sequence[Raw], system: Any, said: Sequence[Raw], *, lines: bool) -> str:
    """A conversation as JSON, an object with ``messages``, or as ``lines`` of one message each.

    Raises ``Refusal`` where a system prompt stands apart, which has no place among lines.
    """
    messages = [*lead, *said]
    if lines:
        if system is not None:
            raise Refusal("the system prompt stands apart from the messages, which JSONL has no place for: export JSON")
        return "".join(f"{dump_json(message)}\n" for message in messages)
    return dump_json({**({} if system is None else {"system": system}), "messages": messages}, indent=2) + "\n"


def export_place(store: "Store", output: str | None) -> Destination:
    """Where an export goes: standard output, unless a file is named. Raises ``Refusal``."""
    if output is not None and _is_store(store, output):
        raise Refusal(f"{output}: this is the store itself; name another file")
    return Destination.chosen("", output or STANDARD, in_place=False)


def is_lines(output: str | None) -> bool:
    """Whether a file's name promises one JSON value a line."""
    return output is not None and output.lower().endswith(_LINES)


def _imported(store: "Store", file: str, labels: Labels, formats: Sequence[Format]) -> Imported:
    from compactor.session.hostlist import leading

    document = load_document(read_input(file), formats)
    messages = document.messages
    count = leading(messages)
    record = store.begin(
        lead=messages[:count],
        system=document.system,
        title=_title(file) if labels.title is None else clean(labels.title),
        source=clean(labels.source),
        model=_model(document) if labels.model is None else clean(labels.model),
        messages=messages[count:],
        format_=_format(document, formats),
    )
    left_out = tuple(key for key in document.top if key not in _KEPT)
    return Imported(file, record.id, len(messages), left_out)


def _title(file: str) -> str | None:
    return None if file == STANDARD else clean(Path(file).stem)


def _model(document: Document) -> str | None:
    named = document.top.get("model")
    return clean(named) if isinstance(named, str) and named else None


def _format(document: Document, formats: Sequence[Format]) -> Format:
    found = next((known for known in formats if known.name == document.format), None)
    if found is None:
        raise InputError(f"its format {document.format!r} is not known")
    return found


def _is_store(store: "Store", output: str) -> bool:
    try:
        return store.path is not None and os.path.samefile(store.path, output)
    except (OSError, ValueError):
        return False


@contextmanager
def _progress(files: int) -> Iterator["Progress"]:
    """A bar on standard error, where somebody watches or where there are many files."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")) or None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = console.is_terminal or files >= MANY
    with Progress(*columns, console=console, disable=not shown) as progress:
        yield progress
