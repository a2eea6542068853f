"""What people see: lines, tables and JSON, plain where there is no terminal or no color is wanted."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compactor.cli.failures import Unwritten

PIPE_WIDTH = 160
"""Columns of a table that goes to a file or a pipe, where no terminal says how many there are."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: one that gives way where the table is too wide, ``cut`` off rather than wrapped, or one
    that stays ``whole``; numbers stand to the ``right``. ``least``: characters that it keeps while others give way."""

    title: str
    right: bool = False
    cut: bool = False
    whole: bool = False
    least: int | None = None


class Output:
    """One of the standard streams, for people. What comes from a conversation or a file is shown, never obeyed:
    no markup, and no control characters."""

    def __init__(self, *, stderr: bool) -> None:
        # Rich by itself would still write bold and dim where no color is wanted.
        colors: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
        self._console = Console(stderr=stderr, color_system=colors, markup=False, highlight=False, emoji=False)
        if not self._console.is_terminal and "COLUMNS" not in os.environ:
            self._console.width = PIPE_WIDTH

    @property
    def width(self) -> int:
        """How many characters a line holds."""
        return self._console.width

    @property
    def ascii_only(self) -> bool:
        """Whether the stream cannot show more than ASCII."""
        return self._console.options.ascii_only

    def line(self, text: str, *, label: str = "", style: str = "") -> None:
        """One line, never wrapped; ``style`` is that of the label, or of the text where there is no label."""
        self.pieces([(label, style), (text, "" if label else style)])

    def pieces(self, pieces: Iterable[tuple[str, str]]) -> None:
        """One line made of texts, each with its style."""
        self._console.print(Text.assemble(*((printable(text), style) for text, style in pieces)), soft_wrap=True)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """A table."""
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in columns:
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                no_wrap=column.whole or column.right,
                overflow="fold",
                min_width=column.least,
            )
        for row in rows:
            table.add_row(*(_cell(column, text) for column, text in zip(columns, row, strict=True)))
        self._console.print(table)


def _cell(column: Column, text: str) -> Text:
    return Text(printable(text), no_wrap=column.cut or None, overflow="ellipsis" if column.cut else None)


def messages() -> Output:
    """Standard output, for what was asked for. Raises ``Unwritten`` where there is none."""
    check_standard_output()
    return Output(stderr=False)


def errors() -> Output:
    """Standard error, for reports and messages."""
    return Output(stderr=True)


def printable(text: str) -> str:
    """The text on one line, without what a terminal would obey or cannot encode."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character.isprintable() else " " for character in text)


def check_standard_output() -> None:
    """Raises ``Unwritten`` where standard output was closed before the command began."""
    if sys.stdout is None:
        raise Unwritten("standard output is closed: nothing can be written to it")


def write_text(text: str) -> None:
    """Text as it is to standard output, in UTF-8 whatever the locale says."""
    write_bytes(text.encode("utf-8", "replace"))


def write_json(data: Any) -> None:
    """Data as JSON to standard output."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    # A lone surrogate can only stand in a string, where the escape of Python is that of JSON too.
    write_bytes(text.encode("utf-8", "backslashreplace"))


def write_bytes(data: bytes) -> None:
    """Bytes as they are to standard output. Raises ``Unwritten`` where there is none."""
    check_standard_output()
    stream = typer.get_binary_stream("stdout")
    stream.write(data)
    stream.flush()
