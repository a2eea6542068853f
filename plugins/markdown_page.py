"""The Markdown files of ``markdown_memory``: adding lines to them, and never touching those of people."""

import errno
import hashlib
import os
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from compactor import PluginError
from compactor.facts.prose import bare

_GENERATED = re.compile(r"- (?P<text>.*) <!-- compactor:(?P<digest>[0-9a-f]{8}) -->\s*")
_LARGEST = 1_000_000  # bytes of a file that is read: what has more is no memory that a prompt could hold
_MARKER = re.compile(r"\s*<!-- compactor:[0-9a-f]{8} -->\s*$")

LOCK = ".lock"
"""The file in a memory's folder that is locked while the others change."""


class Page:
    """A Markdown file: lines of people, and generated ones, which carry a marker that stops fitting when edited."""

    def __init__(self, text: str) -> None:
        self._end = "\r" if "\r\n" in text else ""
        self._lines = text.split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def add(self, section: str, text: str) -> None:
        """Adds a generated line at the end of a section, and the section where it is missing."""
        heading = f"## {section}"
        headings = [place for place in self._headings() if self._lines[place].rstrip() == heading]
        if headings:
            later = (place for place in self._headings() if place > headings[0])
            place = next(later, len(self._lines))
        else:
            while self._lines and not self._lines[-1].strip():
                self._lines.pop()
            if self._lines and not self._lines[-1].endswith(self._end):
                self._lines[-1] += self._end
            self._lines += [self._end, heading + self._end, self._end, ""]
            place = len(self._lines)
        while not self._lines[place - 1].strip() and not self._lines[place - 2].startswith("#"):
            place -= 1
        if place == len(self._lines):  # behind a last line without a line break
            self._lines[-1] += self._end
            self._lines.append("")
        self._lines.insert(place, f"- {text} <!-- compactor:{digest(text)} -->{self._end}")

    def shrink(self, most: int, known: Sequence[str]) -> None:
        """Removes generated lines, those first that come first in ``known``, until ``most`` characters are left."""
        age = {mark: place for place, mark in enumerate(known)}
        size = len(self.text)
        ours = [line for line in self._lines if _is_generated(line)]
        for line in sorted(ours, key=lambda line: age.get(digest(key(line)), -1)):
            if size <= most:
                return
            self._lines.remove(line)
            size -= len(line) + 1

    def _headings(self) -> Iterator[int]:
        """The places of headings of the first two levels, outside of fenced code."""
        fenced = False
        for place, line in enumerate(self._lines):
            if line.lstrip().startswith(("```", "~~~")):
                fenced = not fenced
            elif not fenced and line.startswith(("# ", "## ")):
                yield place


def _is_generated(line: str) -> bool:
    match = _GENERATED.fullmatch(line)
    return match is not None and digest(match["text"]) == match["digest"]


def unmarked(line: str) -> str:
    """A line without the marker that generated lines end in."""
    return _MARKER.sub("", line)


def key(line: str) -> str:
    """What two ways to write the same fact have in common: list marks, case, emphasis and a full stop do not count."""
    text = unicodedata.normalize("NFKC", bare(unmarked(line))).casefold()
    return " ".join(re.sub("[*`\"'“”‘’]", "", text).split()).strip(" .,;:!")


def digest(text: str) -> str:
    """A short digest, by which a text is known again."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def printable(text: str) -> str:
    """A text as a prompt may have it: without control characters, and with a mark for bytes that are no UTF-8."""
    replaced = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char for char in replaced if char in "\n\t" or unicodedata.category(char) != "Cc")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps other threads and processes out that change the same folder. Makes the folder.

    Where the system has no such locks, nobody else is kept out. Raises ``PluginError`` when there can be no lock.
    """
    if find_spec("fcntl") is None:
        yield
        return
    import fcntl

    # Every holder opens the file anew: a lock belongs to the open file, so threads exclude each other too.
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise PluginError(f"the memory {folder} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def read(path: Path) -> str:
    """The text of a file, "" where there is none; bytes that are no UTF-8 come back as they are when written."""
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise PluginError(f"the memory {path} is left alone: it has {size:,} bytes, more than {_LARGEST:,}")
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise PluginError(f"the memory {path} cannot be read: {error.strerror}") from error


def write(path: Path, text: str) -> None:
    """Replaces a file as a whole: whoever reads it sees the old text or the new one. Makes its folder."""
    target = path.resolve()  # a link stays one
    scratch = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode if target.exists() else None
        # Replacing would get past a file's own protection, and a superuser past its folder's.
        if not (mode is None or mode & 0o222) or not target.parent.stat().st_mode & 0o222:
            raise PermissionError(errno.EACCES, "it is read-only")
        try:
            scratch.write_bytes(text.encode("utf-8", "surrogateescape"))
            if mode is not None:
                scratch.chmod(mode & 0o777)
            os.replace(scratch, target)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise PluginError(f"the memory {path} cannot be written: {error.strerror}") from error
