"""How the command ends when something is wrong: one clear message and the exit code."""

from typing import Any

import typer
from typer.core import TyperGroup

from compactor.errors import CompactorError, PolicyError

BAD_INPUT = 2
INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""


class Refusal(CompactorError):
    """What was asked for on the command line cannot be done; the text says why."""


class Commands(TyperGroup):
    """The root of all commands: turns what a user can cause into a message and an exit code.

    Mistakes of ours are not caught: they show their traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CompactorError as error:
            show(error)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


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
