"""How the command ends when something is wrong: one clear message and the exit code."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from compactor.cli.exits import BAD_INPUT, FAILED, INTERRUPTED
from compactor.errors import CompactorError, PolicyError


class Refusal(CompactorError):
    """What was asked for on the command line cannot be done; the text says why."""


class Unwritten(CompactorError):
    """What was made cannot be put where it was asked for; the text says why."""


class Commands(TyperGroup):
    """The root of all commands: turns what a user can cause into a message and an exit code.

    Mistakes of ours are not caught: they show their traceback.
    """

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        with _told():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _told():
            return super().invoke(ctx)


@contextmanager
def _told() -> Iterator[None]:
    """Says what is wrong, and ends with the exit code that it has."""
    try:
        yield
    except Unwritten as error:
        show(error)
        raise typer.Exit(FAILED) from None
    except CompactorError as error:
        show(error)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        # What files can cause is told where they are used, and names them: this is a standard stream. A reader of
        # it that has gone away is no error, which Typer sees to.
        if error.filename is not None or error.errno == errno.EPIPE:
            raise
        _forget_standard_output()
        with suppress(OSError):
            show(Unwritten(f"standard output cannot be written: {error.strerror or error}"))
        raise typer.Exit(FAILED) from None


def _forget_standard_output() -> None:
    """Keeps Python from trying once more, at its end, to write what it could not write."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(error: CompactorError) -> None:
    """Says on standard error what is wrong; all of it, a problem a line, where there are several."""
    from compactor.cli.output import errors

    console = errors()
    problems = [str(problem) for problem in error.problems] if isinstance(error, PolicyError) else [str(error)]
    if len(problems) == 1:
        console.line(problems[0], label="error: ", style="bold red")
        return
    console.line(f"{len(problems)} problems", label="error: ", style="bold red")
    for problem in problems:
        console.line(problem)
