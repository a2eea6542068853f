"""The command ``compactor``: all its groups, as one Typer application."""

import logging
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from compactor.cli import check, compress, plan, plugins, policy, prompt, session
from compactor.cli.failures import Commands

# Markup, completion and pretty exceptions would double the time to the first line of help (DESIGN section 6).
app = typer.Typer(
    cls=Commands,
    help="Compacts conversations of LLM agents, as a policy says.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("compress")(compress.compress)
app.command("check")(check.check)
app.command("plan")(plan.plan)
app.add_typer(policy.app, name="policy")
app.add_typer(plugins.app, name="plugins")
app.add_typer(prompt.app, name="prompt")
app.add_typer(session.app, name="session")


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"compactor {version('context-compactor')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Compacts conversations of LLM agents, as a policy says."""


def start() -> None:
    """Runs the command; never returns."""
    # What the log would say is in the report; without a handler Python prints it as well.
    logging.getLogger("compactor").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character gets a question mark
    app()
