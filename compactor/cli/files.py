"""Reading the input, and writing files that are new."""

import sys
from pathlib import Path

import typer

from compactor.cli.failures import Refusal

STANDARD = "-"
"""What stands for standard input and standard output."""


def read_input(name: str) -> bytes:
    """The bytes of a file or of standard input. Raises ``Refusal``."""
    if name == STANDARD:
        return _standard_input()
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise Refusal(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise Refusal(f"{name}: this is a directory, not a conversation") from None
    except (OSError, ValueError) as error:
        raise Refusal(f"{name}: cannot be read: {reason(error)}") from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise Refusal("standard input is closed: there is nothing to read")
    try:
        return typer.get_binary_stream("stdin").read()
    except OSError as error:
        raise Refusal(f"standard input cannot be read: {reason(error)}") from None


def write_new(path: Path, text: str) -> None:
    """A new file with its folders. Raises ``Refusal`` where there is one already."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise Refusal(f"{path}: exists already, and is not overwritten") from None
    except OSError as error:
        raise Refusal(f"{path}: cannot be written: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Why a file cannot be used, in the words of the system."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
