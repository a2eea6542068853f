"""The text of a summary message: the policy's frame around the summary, sealed with the envelope line."""

from typing import Any

from compactor.errors import PromptError
from compactor.messages.envelope import Kind, seal
from compactor.policy.models import Assembly
from compactor.templates import Templates

_PLACE = "\x00summary\x00"


def frame_summary(
    templates: Templates,
    assembly: Assembly,
    summary: str,
    *,
    count: int,
    anchored: bool,
    state: str | None = None,
    recall: str | None = None,
) -> str:
    """The message around a summary, ``state`` restated behind it; ``recall`` is the name of the tool that brings back
    what was folded.

    Raises ``PromptError`` for a frame that leaves the summary out.
    """
    variables = {"count": count, "anchored": anchored, "state": state, "recall": recall}
    return _sealed(templates, assembly.frame, summary, variables, kind="summary")


def frame_static(
    templates: Templates,
    assembly: Assembly,
    carried: str | None,
    *,
    turns: int,
    count: int,
    anchored: bool,
    state: str | None = None,
    recall: str | None = None,
) -> str:
    """The note for turns that went unsummarised; ``carried`` is the summary that existed before."""
    variables = {"turns": turns, "count": count, "anchored": anchored, "state": state, "recall": recall}
    return _sealed(templates, assembly.unavailable, carried, variables, kind="static")


def _sealed(templates: Templates, name: str, summary: str | None, variables: dict[str, Any], *, kind: Kind) -> str:
    """Renders with a mark in the summary's place: no filter changes the summary, and its place is known."""
    rendered = templates.render(name, {**variables, "summary": _PLACE if summary else None})
    if not summary:
        return seal(rendered, "", "", kind=kind, count=variables["count"])
    before, found, after = rendered.partition(_PLACE)
    if not found or _PLACE in after:
        raise PromptError(f"template {name!r} has to contain {{{{ summary }}}} exactly once")
    return seal(before, summary.strip(), after, kind=kind, count=variables["count"])
