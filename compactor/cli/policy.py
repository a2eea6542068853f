"""``compactor policy``: look at policies, check them, compare them, start one."""

from typing import Annotated

import typer

from compactor.cli import options
from compactor.cli.exits import BAD_INPUT
from compactor.cli.failures import show
from compactor.errors import PolicyError

app = typer.Typer(help="Look at policies, check them, compare them, start one.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="The policy.", show_default=False)]


@app.command("list")
def list_policies() -> None:
    """List the policies that can be used by name."""
    from compactor.cli.output import Column, messages
    from compactor.cli.policy_values import described
    from compactor.policy.search import find_policies

    rows = [(entry.name, described(entry), entry.path) for entry in find_policies()]
    messages().table((Column("name", whole=True), Column("description"), Column("path")), rows)


@app.command("show")
def show_policy(
    name: Name,
    origins: Annotated[bool, typer.Option("--origins", help="Say where each value comes from.")] = False,
    model: options.Model = None,
    sets: options.Sets = None,
) -> None:
    """Print a policy with all that it extends, and what applies to the model."""
    from compactor.cli.origins import print_origins
    from compactor.cli.output import messages, write_text
    from compactor.cli.policy_values import as_yaml, values_of
    from compactor.policy.loader import load_policy

    choices = options.Choices(name, model, sets)
    loaded = load_policy(name, model=model, overrides=choices.overrides())
    if origins:
        print_origins(messages(), values_of(loaded))
    else:
        write_text(as_yaml(loaded.policy))


@app.command("validate")
def validate(
    names: Annotated[list[str], typer.Argument(metavar="NAME|FILE...", help="Policies.", show_default=False)],
    model: options.Model = None,
) -> None:
    """Check policies with everything that they name; exit code 2 if anything is wrong."""
    from compactor.cli.output import messages
    from compactor.prepared import prepare

    wrong = False
    for name in names:
        try:
            loaded = prepare(name, model=model).loaded
        except PolicyError as error:
            wrong = True
            show(error)
        else:
            messages().line(f"{loaded.policy.name} ({loaded.path})", label="ok: ", style="green")
    if wrong:
        raise typer.Exit(BAD_INPUT)


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of policy files, for editors."""
    from compactor.cli.output import write_text
    from compactor.policy.schema import render

    write_text(render())


@app.command("diff")
def diff(one: Name, other: Name, model: options.Model = None) -> None:
    """List the keys whose values differ between two policies."""
    from compactor.cli.output import Column, messages
    from compactor.cli.policy_values import differences
    from compactor.policy.loader import load_policy

    loaded = [load_policy(name, model=model) for name in (one, other)]
    rows = differences(*loaded)
    if rows:
        messages().table((Column("key", whole=True), Column(one), Column(other)), rows)
    else:
        messages().line(f"{one} and {other} do not differ")


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new policy.", show_default=False)],
    extends: Annotated[
        str, typer.Option("--extends", metavar="NAME|FILE", help="The policy that it changes.")
    ] = options.DEFAULT_POLICY,
    directory: Annotated[str, typer.Option("--dir", metavar="DIR", help="Where to put it.")] = "policies",
) -> None:
    """Start a policy of your own that extends another one."""
    from compactor.cli.output import messages
    from compactor.cli.starting import new_policy

    for line in new_policy(name, extends, directory):
        messages().line(line)
