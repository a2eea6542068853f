"""Where a conversation is written to: all or nothing, and never over the input by accident."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from compactor.cli.failures import Refusal, Unwritten
from compactor.cli.files import STANDARD, reason
from compactor.cli.output import check_standard_output, write_bytes
from compactor.messages.formats.document import Container

_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
"""Names that many systems have for the standard streams, whatever these are connected to."""


_LINES = (".jsonl", ".ndjson")
"""What names of files end in that promise one JSON value a line."""

_WHOLE = (".json",)
"""What names of files end in that promise one JSON value."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a conversation goes: a file, standard output (``-``), or nowhere (None)."""

    name: str | None
    in_place: bool = False

    @classmethod
    def chosen(cls, source: str, output: str | None, *, in_place: bool) -> "Destination":
        """The one that the options ask for, known to be writable as far as that can be known beforehand.

        Raises ``Refusal``, and ``Unwritten`` where standard output is closed.
        """
        if in_place:
            if output is not None:
                raise Refusal("--in-place and -o exclude each other: choose one")
            _check_replaceable(source)
            return cls(source, in_place=True)
        if output is None:
            return cls(None)
        if output != STANDARD:
            _check_not_input(source, output)
        if output == STANDARD or _descriptor(output) == 1:
            check_standard_output()
            return cls(STANDARD)
        _check_writable(output)
        return cls(output)

    def misnamed(self, container: Container) -> str | None:
        """What to say where the name promises another container than the input's, which is kept; else None."""
        if self.name is None or self.in_place:
            return None
        lines = container == "lines"
        if not self.name.lower().endswith(_WHOLE if lines else _LINES):
            return None
        held = "JSONL, a message a line," if lines else f"a JSON {container}"
        return f"{self.name} holds {held} as the input does: the container is kept, whatever the name says"

    def write(self, data: bytes, came: bytes) -> None:
        """Writes everything or nothing: a file is written beside its place and then renamed.

        ``came`` is the input as it was read: nothing else is replaced in place, so what was added to the file
        since then is not lost. Raises ``Unwritten``.
        """
        if self.name is None:
            return
        if self.name == STANDARD:
            write_bytes(data)
            return
        try:
            number = _descriptor(self.name)
            if number is not None:
                with os.fdopen(os.dup(number), "wb") as stream:
                    stream.write(data)
            elif _is_special(self.name):
                Path(self.name).write_bytes(data)
            else:
                self._replace(data, came)
        except OSError as error:
            raise Unwritten(f"{self.name}: cannot be written: {reason(error)}") from None

    def _replace(self, data: bytes, came: bytes) -> None:
        # Renaming onto a link would replace the link, so its target is what is replaced.
        target = Path(os.path.realpath(str(self.name)))
        with _draft(target, data) as draft:
            if self.in_place and not _holds(target, came):
                raise Unwritten(f"{self.name} changed while it was being compacted; nothing was written, run it again")
            draft.replace(target)


@contextmanager
def _draft(target: Path, data: bytes) -> Iterator[Path]:
    """A complete file beside ``target`` with the mode that it has; it is gone afterwards, unless it was renamed."""
    draft = target.with_name(f".compactor-{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _holds(target: Path, data: bytes) -> bool:
    try:
        return target.read_bytes() == data
    except FileNotFoundError:
        return False


def _check_replaceable(source: str) -> None:
    if source == STANDARD:
        raise Refusal("--in-place needs a file: standard input cannot be replaced")
    path = Path(source)
    if not path.exists():
        return  # which reading it tells
    if not path.is_file():
        raise Refusal(f"{source}: --in-place needs a file")
    _check_writable(source)
    names = path.stat().st_nlink
    if names > 1:
        raise Refusal(
            f"{source}: the file has {names} names (hard links), and --in-place would replace it under this one only;"
            " write to another file with -o"
        )


def _check_not_input(source: str, output: str) -> None:
    try:
        if source == STANDARD:
            same = Path(output).is_file() and os.path.samestat(os.fstat(0), os.stat(output))
        else:
            same = os.path.samefile(source, output)
    except (OSError, ValueError):
        return
    if same:
        named = " if it is named as FILE" if source == STANDARD else ""
        raise Refusal(f"{output}: this is the input; --in-place replaces it{named}")


def _check_writable(name: str) -> None:
    number = _descriptor(name)
    if number is not None:
        try:
            os.write(number, b"")
        except OSError as error:
            raise Refusal(f"{name}: cannot be written: {reason(error)}") from None
        return
    if _is_special(name):
        if not os.access(name, os.W_OK):
            raise Refusal(f"{name}: may not be written to")
        return
    target = Path(os.path.realpath(name))
    if target.is_dir():
        raise Refusal(f"{name}: this is a directory; name a file in it")
    if not target.parent.is_dir():
        raise Refusal(f"{name}: there is no folder {target.parent}")
    # Renaming would get round a file's own protection, and for root every file is writable.
    if target.exists() and not (target.stat().st_mode & 0o222 and os.access(target, os.W_OK)):
        raise Refusal(f"{name}: the file is read-only")
    if not os.access(target.parent, os.W_OK):
        raise Refusal(f"{name}: the folder {target.parent} is read-only")


def _descriptor(name: str) -> int | None:
    """The number of the open descriptor that a path stands for; it is written to as it is, and not opened anew."""
    path = os.path.normpath(name)
    found = re.fullmatch(rf"(?:/dev/fd|/proc/(?:self|{os.getpid()})/fd)/(\d{{1,9}})", path)
    return int(found[1]) if found else _STREAMS.get(path)


def _is_special(name: str) -> bool:
    """Whether a path leads to a pipe or a device, which are written to and not replaced."""
    path = Path(name)
    return path.exists() and not path.is_file() and not path.is_dir()
