"""Reading the input and writing the output: all or nothing, never over the input by accident."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import typer

from compactor.cli.failures import Refusal
from compactor.cli.output import write_bytes

STANDARD = "-"
"""What stands for standard input and standard output."""


def read_input(name: str) -> bytes:
    """The bytes of a file or of standard input. Raises ``Refusal``."""
    if name == STANDARD:
        return typer.get_binary_stream("stdin").read()
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise Refusal(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise Refusal(f"{name}: this is a directory, not a conversation") from None
    except (OSError, ValueError) as error:
        raise Refusal(f"{name}: cannot be read: {_reason(error)}") from None


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a conversation goes: a file, standard output (``-``), or nowhere (None)."""

    name: str | None
    in_place: bool = False

    @classmethod
    def chosen(cls, source: str, output: str | None, *, in_place: bool) -> "Destination":
        """The one that the options ask for, known to be writable as far as that can be known beforehand.

        Raises ``Refusal``.
        """
        if not in_place:
            if output is not None and output != STANDARD:
                if _same_file(source, output):
                    raise Refusal(f"{output}: this is the input; --in-place replaces it")
                _check_writable(output)
            return cls(output)
        if output is not None:
            raise Refusal("--in-place and -o exclude each other: choose one")
        if source == STANDARD:
            raise Refusal("--in-place needs a file: standard input cannot be replaced")
        if Path(source).exists():
            if not Path(source).is_file():
                raise Refusal(f"{source}: --in-place needs a file")
            _check_writable(source)
        return cls(source, in_place=True)

    def write(self, data: bytes) -> None:
        """Writes everything or nothing: a file is written beside its place and then renamed. Raises ``Refusal``."""
        if self.name is None:
            return
        if self.name == STANDARD:
            write_bytes(data)
            return
        # Renaming onto a link would replace the link, so its target is what is replaced.
        target = Path(os.path.realpath(self.name))
        try:
            if target.exists() and not target.is_file():
                target.write_bytes(data)  # a device or a pipe
            else:
                _replace(target, data)
        except OSError as error:
            raise Refusal(f"{self.name}: cannot be written: {_reason(error)}") from None


def write_new(path: Path, text: str) -> None:
    """A new file with its folders. Raises ``Refusal`` where there is one already."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise Refusal(f"{path}: exists already, and is not overwritten") from None
    except OSError as error:
        raise Refusal(f"{path}: cannot be written: {_reason(error)}") from None


def _same_file(one: str, other: str) -> bool:
    try:
        return one != STANDARD and os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _check_writable(name: str) -> None:
    target = Path(os.path.realpath(name))
    if target.is_dir():
        raise Refusal(f"{name}: this is a directory; name a file in it")
    if not target.parent.is_dir():
        raise Refusal(f"{name}: there is no folder {target.parent}")
    # Renaming would get round a file's own protection, and for root every file is writable.
    if target.exists() and not (target.stat().st_mode & 0o222 and os.access(target, os.W_OK)):
        raise Refusal(f"{name}: the file is read-only")
    if (target.is_file() or not target.exists()) and not os.access(target.parent, os.W_OK):
        raise Refusal(f"{name}: the folder {target.parent} is read-only")


def _replace(target: Path, data: bytes) -> None:
    """Puts a complete file in the place of ``target``, with the mode that it had."""
    draft = target.with_name(f".compactor-{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
