"""``compactor plugins``: see what is installed, look at one, try those of a policy, start one."""

from typing import Annotated

import typer

from compactor.cli import options
from compactor.cli.exits import FAILED

app = typer.Typer(help="See plugins, try those of a policy, start one of your own.", no_args_is_help=True)


@app.command("list")
def list_plugins(policy: options.PolicyName = options.DEFAULT_POLICY) -> None:
    """List the installed plugins and the files that the policy names."""
    from compactor.cli.output import Column, messages
    from compactor.cli.plugin_pages import rows_of

    columns = (Column("name", whole=True), Column("origin"), Column("hooks"), Column("in the policy"))
    messages().table(columns, rows_of(policy))


@app.command("show")
def show_plugin(
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="An installed plugin, or a .py file.", show_default=False)
    ],
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="NAME|FILE", help="Look among this policy's files too; print what it sets."),
    ] = None,
) -> None:
    """Print what a plugin says of itself, its hooks and its config."""
    from compactor.cli.output import Column, messages
    from compactor.cli.plugin_pages import page_of

    page = page_of(name, policy)
    output = messages()
    output.line(f"{page.name} ({page.origin})", style="bold")
    for line in page.text:
        output.line(line)
    output.line("")
    output.table((Column("hook", whole=True), Column("what it is for")), page.hooks)
    output.line("")
    columns = (Column("type"), Column("default"), Column("description"))
    if page.settings:
        output.table((Column("config", whole=True), *columns), page.settings)
    else:
        output.line("It takes no config.")
    for pruner, settings in page.pruners:
        output.line("")
        if settings:
            output.table((Column(f"option of the pruner {pruner}", whole=True), *columns), settings)
        else:
            output.line(f"The pruner {pruner} takes no options.")
    if page.used is not None:
        output.line("")
        output.line(f"in the policy {policy}: {page.used}")


@app.command("check")
def check(policy: options.PolicyName = options.DEFAULT_POLICY, model: options.Model = None) -> None:
    """Load the policy's plugins and call each hook with a small sample session.

    They are really called, in a temporary folder: what a plugin writes to a relative path is gone afterwards. No model
    is asked. Exit code 1 if a plugin fails, 2 if the policy or a plugin cannot be loaded.
    """
    from compactor.cli.output import Column, errors, messages
    from compactor.cli.plugin_trial import try_plugins

    trials = try_plugins(policy, model)
    output = messages()
    if not trials:
        output.line(f"the policy {policy!r} has no plugins to check")
        return
    columns = (
        Column("plugin", whole=True),
        Column("hook", whole=True),
        Column("result"),
        Column("seconds", right=True),
        Column("tokens", right=True),
    )
    output.table(columns, [trial.row for trial in trials])
    note = "hooks ran in a temporary folder; a plugin with an absolute path has written there"
    errors().line(note, label="note: ", style="cyan")
    if any(trial.failed for trial in trials):
        raise typer.Exit(FAILED)


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new plugin.", show_default=False)],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="memory, state, summarizer or pruner.", show_default=False)
    ],
    directory: Annotated[str, typer.Option("--dir", metavar="DIR", help="Where to put it.")] = ".",
) -> None:
    """Start a plugin of your own, with a test."""
    from compactor.cli.output import messages
    from compactor.cli.plugin_starting import new_plugin

    for line in new_plugin(name, kind, directory):
        messages().line(line)
