"""``compactor plan``: what a compaction would do to every message, and why; no summarizer is asked."""

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from compactor.cli import options


def plan(
    file: options.File,
    policy: options.PolicyName = options.DEFAULT_POLICY,
    model: options.Model = None,
    context_length: options.ContextLength = None,
    target: options.Target = None,
    sets: options.Sets = None,
    every: Annotated[bool, typer.Option("--all", help="A row for every message, however many there are.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show what a compaction would do to every message, and why.

    The plan is made whether a compaction is due or not. No summarizer is asked and nothing is written.
    """
    from compactor.cli.advice import advice
    from compactor.cli.opened import open_conversation
    from compactor.cli.output import messages, write_json
    from compactor.cli.plan_report import Planned, to_dict
    from compactor.cli.plan_table import print_plan

    # Standard output is for the plan alone, whatever plugins have to say.
    with redirect_stdout(sys.stderr):
        opened = open_conversation(file, options.Choices(policy, model, sets, context_length, target))
        planned = Planned.of(opened)
        made = planned.plan
        hint = None if made.folded or made.pruned_only else advice(opened)
    if as_json:
        write_json({**to_dict(planned), "hint": hint})
    else:
        print_plan(messages(), planned, hint=hint, every=every)
