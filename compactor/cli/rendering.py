"""The prompt of a summary for a conversation, as a summarizer would get it."""

from compactor.cli.advice import advice
from compactor.cli.failures import Refusal
from compactor.cli.opened import Opened
from compactor.cli.output import errors
from compactor.summarizing.transcript import write_prompt

PLACEHOLDER = "(the previous summary stands here)"
"""What stands for the summary of a conversation that has none, where the prompt of an update is asked for."""


def render_prompt(opened: Opened, *, update: bool, focus: str | None) -> str:
    """The prompt. A conversation with an earlier summary always gets that of an update.

    Raises ``Refusal`` where nothing would be folded, so that there is no prompt.
    """
    plan = opened.plan()
    if not plan.folded:
        why = "pruning alone is enough" if plan.pruned_only else advice(opened)
        raise Refusal(f"nothing would be folded, so no summarizer would be asked; {why}")
    if update and plan.previous is None:
        note = "the conversation holds no summary yet: a placeholder stands for it"
        errors().line(note, label="note: ", style="cyan")
    text = write_prompt(
        opened.compactor.policy,
        opened.ready.templates,
        plan.folded,
        previous=plan.previous or (PLACEHOLDER if update else None),
        budget_tokens=plan.summary_tokens,
        focus=focus,
    )
    return text if text.endswith("\n") else text + "\n"
