"""``compactor compress``: compacts a conversation, reports, and saves the result where it is told to."""

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from compactor.cli import options
from compactor.cli.failures import Refusal

if TYPE_CHECKING:
    from compactor.cli.destination import Destination
    from compactor.cli.opened import Opened
    from compactor.result import CompactionResult

UNSUCCESSFUL = frozenset({"cannot_fit", "failed"})
"""Outcomes that leave nothing to send: exit code 1, and nothing is written."""


def compress(
    file: options.File,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Where to write; - is standard output.")
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace FILE.")] = False,
    policy: options.PolicyName = options.DEFAULT_POLICY,
    model: options.Model = None,
    summary_model: options.SummaryModel = None,
    summarizer: options.Summarizers = None,
    context_length: options.ContextLength = None,
    target: options.Target = None,
    sets: options.Sets = None,
    force: Annotated[bool, typer.Option("--force", help="Compact even where no trigger is true.")] = False,
    focus: options.Focus = None,
    show_summary: Annotated[
        bool, typer.Option("--show-summary", help="Print the summary and the restated state in the report.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Compact a conversation.

    The report goes to standard error, with --json to standard output instead. Without -o or --in-place nothing is
    written. Exit code 0: compacted, or no need to; 1: it cannot fit, failed or could not be saved, and nothing is
    written; 2: bad input, options or policy.
    """
    from compactor.cli.destination import Destination
    from compactor.cli.files import STANDARD
    from compactor.cli.opened import open_conversation
    from compactor.cli.output import check_standard_output

    destination = Destination.chosen(file, output, in_place=in_place)
    if as_json:
        if destination.name == STANDARD:
            raise Refusal(f"--json and -o {output} both write to standard output: choose one")
        check_standard_output()
    choices = options.Choices(policy, model, sets, context_length, target, summary_model, summarizer)
    # Standard output is for the result alone, whatever plugins and a summarizer's libraries have to say.
    with redirect_stdout(sys.stderr):
        opened = open_conversation(file, choices)
        document = opened.document
        result = opened.compactor.compact(
            document.messages, system=document.system, tools=document.tools, focus=focus, force=force
        )
    written = _save(result, opened, destination)
    _report(result, opened, destination if written else None, force, show_summary, as_json)
    raise typer.Exit(1 if result.outcome in UNSUCCESSFUL else 0)


def _save(result: "CompactionResult", opened: "Opened", destination: "Destination") -> bool:
    """Writes the conversation if there is one to write: the result, or the very bytes of the input."""
    if destination.name is None or result.outcome in UNSUCCESSFUL:
        return False
    if result.changed:
        destination.write(opened.document.dumps(result.messages, result.system).encode("utf-8"), opened.data)
        return True
    if destination.in_place:
        return False
    destination.write(opened.data, opened.data)
    return True


def _report(
    result: "CompactionResult",
    opened: "Opened",
    written: "Destination | None",
    force: bool,
    show_summary: bool,
    as_json: bool,
) -> None:
    from compactor.cli.advice import advice
    from compactor.cli.output import errors, write_json
    from compactor.cli.report import print_report, print_summary
    from compactor.cli.restated import restated

    name = None if written is None else written.name
    stuck = force and not result.changed and result.report.folded == 0
    hint = advice(opened) if stuck else None
    misnamed = None if written is None else written.misnamed(opened.document.container)
    notices = [] if misnamed is None else [misnamed]
    state = restated(result, opened)
    if as_json:
        told = result.to_dict()
        extra = {"summary": result.summary, "state": state} if show_summary else {}
        write_json({**told, "warnings": [*told["warnings"], *notices], "hint": hint, "output": name, **extra})
    else:
        output = errors()
        print_report(output, result, opened, written=name, hint=hint, notices=notices, state=state)
        if show_summary:
            print_summary(output, result, state)
