"""``compactor check``: whether a compaction is due, by which rule, and if not, why not; nothing is compacted."""

import sys
from contextlib import redirect_stdout
from typing import Annotated, Literal

import typer

from compactor.cli import options


def check(
    file: options.File,
    policy: options.PolicyName = options.DEFAULT_POLICY,
    model: options.Model = None,
    context_length: options.ContextLength = None,
    target: options.Target = None,
    sets: options.Sets = None,
    at: Annotated[
        Literal["auto", "turn_start", "tool_results"],
        typer.Option("--at", help="The call that comes next; auto: tool_results where the newest message is one."),
    ] = "auto",
    usage: Annotated[
        int | None,
        typer.Option("--usage", metavar="N", min=1, help="Prompt tokens that the provider reported for the last call."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show whether a compaction is due, by which rule, and if not, why not.

    Every rule of the policy is shown, with the numbers behind its condition. Nothing is compacted or written.
    Exit code 0: due or not; 2: bad input, options or policy.
    """
    from compactor.cli.check_report import Checked, to_dict
    from compactor.cli.check_table import print_check
    from compactor.cli.opened import open_conversation
    from compactor.cli.output import messages, write_json

    # Standard output is for the verdict alone, whatever plugins have to say.
    with redirect_stdout(sys.stderr):
        opened = open_conversation(file, options.Choices(policy, model, sets, context_length, target))
        checked = Checked.of(opened, None if at == "auto" else at, usage)
    if as_json:
        write_json(to_dict(checked))
    else:
        print_check(messages(), checked, file)
