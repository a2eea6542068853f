"""The ``summary`` part of a policy: who summarises, from what, into which sections."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from compactor.policy.base import Count, Identifier, Line, List, Options, PolicyModel, Seconds, Text, mistake
from compactor.policy.wording import Key

FailureKind = Literal["default", "missing_key", "timeout", "rate_limit", "network", "bad_reply", "error"]
"""What a cooldown can be set for: the kinds of ``SummarizerFailed``, and ``default`` for those not named."""

_SECRET_OPTION = re.compile(r"(^|[_-])(api)?(key|token|secret|password|credentials?|authorization)$", re.IGNORECASE)


class SectionPart(PolicyModel):
    """A heading of the summary, one level down."""

    id: Identifier = Field(
        description="Identifier (lowercase letters, digits, `_`), unique among all sections and parts. The offline "
        "summarizer fills a section by its id."
    )
    title: Line = Field(description="The heading, without `#`. One source for prompts, checker and parser.")
    first: str = Field("", description="What belongs under the heading; the hint in the prompt of a first summary.")
    update: str = Field("", description="How to carry the section on; the hint in the prompt of an update.")


class Section(SectionPart):
    """A heading of the summary, with the parts below it."""

    parts: List[SectionPart] = Field((), description="Headings one level down.")


class SummaryBudget(PolicyModel):
    """How long a summary may be."""

    ratio: Annotated[float, Field(gt=0, le=1)] = Field(
        0.20,
        description="Share of the folded turns' tokens that the summary aims at; an update has the previous "
        "summary's own tokens on top. Bigger: longer summaries.",
    )
    min_tokens: Annotated[int, Field(ge=1)] = Field(
        2000, description="Tokens that a summary may always have, however little is folded."
    )
    max_tokens: Annotated[int, Field(ge=1)] = Field(
        12000, description="Tokens that a summary never aims beyond, however much is folded."
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_tokens > self.max_tokens:
            raise mistake(f"min_tokens ({self.min_tokens}) is more than max_tokens ({self.max_tokens})")
        return self


class ToolResultLimits(PolicyModel):
    """How much of a long tool result the summariser sees."""

    limit: Count = Field(6000, description="Characters; a longer result is shown as its head and tail only.")
    head: Count = Field(4000, description="Characters shown from the start of a result above the limit.")
    tail: Count = Field(1500, description="Characters shown from the end of a result above the limit.")

    @model_validator(mode="after")
    def _within_limit(self) -> Self:
        if self.head + self.tail > self.limit:
            raise mistake(f"head ({self.head}) + tail ({self.tail}) is more than limit ({self.limit})")
        return self


class ToolArgumentLimits(PolicyModel):
    """How much of a tool call's long arguments the summariser sees."""

    limit: Count = Field(1500, description="Characters; longer arguments are shown as their head only.")
    head: Count = Field(1200, description="Characters shown from the start of arguments above the limit.")

    @model_validator(mode="after")
    def _within_limit(self) -> Self:
        if self.head > self.limit:
            raise mistake(f"head ({self.head}) is more than limit ({self.limit})")
        return self


class SummaryInput(PolicyModel):
    """How the folded turns are shown to the summariser."""

    tool_result: ToolResultLimits = Field(ToolResultLimits(), description="Cuts for long tool results.")
    tool_arguments: ToolArgumentLimits = Field(ToolArgumentLimits(), description="Cuts for long call arguments.")


class Summary(PolicyModel):
    """Who summarises the folded turns, from what, and into which sections."""

    summarizers: Annotated[List[Text], Field(min_length=1)] = Field(
        ("litellm",), description="Names of summarizers, tried in this order until one returns a summary."
    )
    on_failure: Literal["static", "abort"] = Field(
        "static",
        description="When none returns one. `static`: a note that turns went unsummarised takes their place; "
        "`abort`: the conversation is handed back as it came.",
    )
    model: Text | None = Field(
        None,
        description="Model of the litellm summarizer; cheap and fast is right. `null`: it declines and nothing "
        "leaves the machine.",
    )
    fallback_models: List[Text] = Field((), description="Models tried in this order when `model` fails.")
    options: Options = Field(
        {},
        description="Passed on to the model call (`api_base`, `temperature` ...). API keys are refused: they come "
        "from the environment only.",
    )
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        120, description="Seconds that one model call may take before it counts as failed."
    )
    budget: SummaryBudget = Field(SummaryBudget(), description="Length that the summary aims at.")
    first: Text = Field("hermes/first.j2", description="Template of the prompt for a first summary.")
    update: Text = Field("hermes/update.j2", description="Template of the prompt that updates a previous summary.")
    transcript: Text = Field("hermes/transcript.j2", description="Template that writes out the folded turns.")
    view: Literal["pruned", "original"] = Field(
        "pruned",
        description="What the summarizer sees of messages that pruning has changed: the `pruned` text, or the "
        "`original` (better summaries, longer prompts).",
    )
    sections: List[Section] = Field(
        (), description="Headings of the summary, in order; replaces the whole list of the parent."
    )
    input: SummaryInput = Field(SummaryInput(), description="Cuts for long items among the folded turns.")
    cooldown: dict[FailureKind, Seconds] = Field(
        {"default": 600},
        description="Seconds without a new attempt after a failure, by kind of failure: `missing_key`, `timeout`, "
        "`rate_limit`, `network`, `bad_reply`, `error`; `default` for kinds not named. 0: try every time.",
    )

    def cooldown_after(self, kind: str) -> float:
        """Seconds without a new attempt after a failure of this kind (``SummarizerFailed.kind``)."""
        return next((seconds for name, seconds in self.cooldown.items() if name == kind), self.cooldown["default"])

    @field_validator("options")
    @classmethod
    def _no_secrets(cls, options: Options) -> Options:
        if secrets := tuple(_secret_options(options)):
            raise mistake("secrets do not belong in a policy", "they come from the environment only", at=secrets)
        return options

    @field_validator("sections")
    @classmethod
    def _unique_ids(cls, sections: tuple[Section, ...]) -> tuple[Section, ...]:
        seen: set[str] = set()
        repeated: list[Key] = []
        for key, name in _section_ids(sections):
            if name in seen:
                repeated.append(key)
            seen.add(name)
        if repeated:
            raise mistake("the id is taken by another section", at=tuple(repeated))
        return sections

    @field_validator("cooldown")
    @classmethod
    def _has_default(cls, cooldown: dict[FailureKind, float]) -> dict[FailureKind, float]:
        if "default" not in cooldown:
            raise mistake("the key 'default' is missing", "add 'default: 600'")
        return cooldown


def _secret_options(value: Any, key: Key = ()) -> Iterator[Key]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if _SECRET_OPTION.search(name):
                yield (*key, name)
            yield from _secret_options(inner, (*key, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _secret_options(inner, (*key, index))


def _section_ids(sections: tuple[Section, ...]) -> Iterator[tuple[Key, str]]:
    for index, section in enumerate(sections):
        yield (index, "id"), section.id
        for position, part in enumerate(section.parts):
            yield (index, "parts", position, "id"), part.id
