"""The options that commands share, each declared once, and the policy that they ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from compactor.engine import Compactor
    from compactor.policy.overrides import Override

DEFAULT_POLICY = "default"

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="The conversation, JSON or JSONL; - reads standard input.", show_default=False),
]
PolicyName = Annotated[str, typer.Option("--policy", metavar="NAME|FILE", help="The policy.")]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The agent's model: its window, its encoding, its policy entries."),
]
ContextLength = Annotated[
    str | None, typer.Option("--context-length", metavar="N", help="The model's window in tokens.")
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="T", help="What the result may cost: a share (0.25) or tokens.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY.PATH=VALUE", help="Any key of the policy, such as threshold=0.6; repeatable."),
]
SummaryModel = Annotated[
    str | None, typer.Option("--summary-model", metavar="NAME", help="The model that writes the summary.")
]
Summarizers = Annotated[
    list[str] | None,
    typer.Option("--summarizer", metavar="NAME", help="Who summarizes; repeatable, asked in the order given."),
]
Focus = Annotated[str | None, typer.Option("--focus", metavar="TEXT", help="What the summary has to keep above all.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]


@dataclass(frozen=True, slots=True)
class Choices:
    """The policy that the options ask for. A mistake in a value is reported under the option's name."""

    policy: str = DEFAULT_POLICY
    model: str | None = None
    sets: Sequence[str] | None = None
    context_length: str | None = None
    target: str | None = None
    summary_model: str | None = None
    summarizers: Sequence[str] | None = None

    def overrides(self) -> "list[Override]":
        """The options as values for keys of the policy; an option of its own wins over ``--set``."""
        from compactor.errors import Problem
        from compactor.policy.overrides import Override, parse_override, parse_set
        from compactor.policy.tree import Origin, grow

        def read(key: str, text: str, option: str) -> Override:
            if not text.strip():  # a variable of the shell that is not set, hardly a wish for null
                return Override(key, None, (Problem(option, key, "expected a value, got nothing"),))
            return parse_override(key, text, option)

        def as_it_is(key: str, value: Any, option: str) -> Override:
            return Override(key, grow(value, Origin(option)))

        asked = [parse_set(text) for text in self.sets or ()]
        if self.context_length is not None:
            asked.append(read("window.context_length", self.context_length, "--context-length"))
        if self.target is not None:
            asked.append(read("target", self.target, "--target"))
        if self.summary_model is not None:
            asked.append(as_it_is("summary.model", self.summary_model, "--summary-model"))
        if self.summarizers:
            asked.append(as_it_is("summary.summarizers", list(self.summarizers), "--summarizer"))
        return asked

    def compactor(self, *more: "Override") -> "Compactor":
        """A compactor under that policy, ``more`` overriding it. Raises ``PolicyError``."""
        from compactor.engine import Compactor

        return Compactor(self.policy, model=self.model, overrides=[*self.overrides(), *more])
