"""``compactor prompt``: look at prompt templates, render one for a conversation, copy one to change it."""

from typing import Annotated

import typer

from compactor.cli import options

app = typer.Typer(help="Look at prompt templates, render one, copy one to change it.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The template, such as hermes/first.j2.", show_default=False)]


@app.command("list")
def list_prompts() -> None:
    """List the templates that a policy can name."""
    from compactor.cli.output import Column, messages
    from compactor.templates import Templates

    rows = [(template.name, template.path) for template in Templates().all()]
    messages().table((Column("name"), Column("path")), rows)


@app.command("show")
def show(name: Name) -> None:
    """Print a template as it is."""
    from compactor.cli.output import write_text
    from compactor.templates import Templates

    write_text(Templates().find(name).source)


@app.command("render")
def render(
    file: options.File,
    update: Annotated[
        bool, typer.Option("--update", help="The prompt that updates a summary, though there is none yet.")
    ] = False,
    policy: options.PolicyName = options.DEFAULT_POLICY,
    model: options.Model = None,
    context_length: options.ContextLength = None,
    target: options.Target = None,
    sets: options.Sets = None,
    focus: options.Focus = None,
) -> None:
    """Print the prompt that a summarizer would be given for a conversation."""
    from compactor.cli.opened import open_conversation
    from compactor.cli.output import write_text
    from compactor.cli.rendering import render_prompt

    opened = open_conversation(file, options.Choices(policy, model, sets, context_length, target))
    write_text(render_prompt(opened, update=update, focus=focus))


@app.command("copy")
def copy(
    name: Name,
    directory: Annotated[str, typer.Option("--dir", metavar="DIR", help="Where to put it.")] = "prompts",
) -> None:
    """Copy a shipped template, to change it."""
    from compactor.cli.output import messages
    from compactor.cli.starting import copy_prompt

    for line in copy_prompt(name, directory):
        messages().line(line)
