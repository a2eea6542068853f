"""What people see: lines, tables and JSON, plain where there is no terminal or no color is wanted."""

import json
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compactor.cli.failures import Unwritten

PIPE_WIDTH = 200
"""Columns of a table that goes to a file or a pipe, where no terminal says how many there are."""

GAP = 3
"""Characters between two columns of a table."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: one that wraps where the table is too wide, or one that stays ``whole``; numbers stand to
    the ``right``. ``width``: characters that it has whatever is in it."""

    title: str
    right: bool = False
    whole: bool = False
    width: int | None = None


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

    def shortened(self, text: str, characters: int) -> str:
        """The text, or its beginning and a mark that it goes on."""
        if cell_len(text) <= characters:
            return text
        mark = "..." if self.ascii_only else "…"
        return set_cell_size(text, characters - len(mark)).rstrip() + mark

    def line(self, text: str, *, label: str = "", style: str = "") -> None:
        """One line, never wrapped; ``style`` is that of the label, or of the text where there is no label."""
        self.pieces([(label, style), (text, "" if label else style)])

    def wrapped(self, text: str, *, label: str = "", style: str = "") -> None:
        """What ``line`` prints, on as many lines as it takes, broken between words only."""
        first, *others = folded(label + printable(text), self.width, hanging="  ")
        self.line(first.removeprefix(label.rstrip()).lstrip(), label=label, style=style)
        for other in others:
            self.line(other, style="" if label else style)

    def pieces(self, pieces: Iterable[tuple[str, str]]) -> None:
        """One line made of texts, each with its style."""
        self._console.print(Text.assemble(*((printable(text), style) for text, style in pieces)), soft_wrap=True)

    def table(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[str]],
        *,
        below: Sequence[Sequence[str]] = (),
        least: int = 0,
    ) -> None:
        """A table, ``least`` characters wide however narrow the terminal is.

        ``below`` are lines that stand under the title (first) and under every row; no cell may wrap beside them.
        """
        lines = self._table_lines(columns, rows, max(least, self.width))
        if not below:
            for line in lines:
                self._console.print(line, soft_wrap=True)
            return
        title, rule, *others = lines
        for line, under in zip((title, *others), below, strict=True):
            self._console.print(line, soft_wrap=True)
            for text in under:
                self.line(text, style="bold" if line is title else "")
            if line is title:
                self._console.print(rule, soft_wrap=True)

    def _table_lines(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> Iterator[Text]:
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in columns:
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                no_wrap=column.whole or column.right,
                overflow="fold",
                width=column.width,
            )
        for row in rows:
            table.add_row(*(Text(printable(text)) for text in row))
        for segments in self._console.render_lines(table, self._console.options.update(width=width), pad=False):
            line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
            line.rstrip()  # what fills the last column is no part of what is told
            yield line


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


def folded(text: str, width: int, *, indent: str = "", hanging: str = "") -> list[str]:
    """The text on lines of a width, broken between words only: a longer word stands on a line of its own.

    ``indent`` stands before every line, ``hanging`` after it before every line but the first.
    """
    return textwrap.wrap(
        text,
        max(width, len(indent + hanging) + 1),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]


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
