"""The policy as frozen values: every key that a policy file may have, its meaning and its default."""

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator

from compactor.policy.base import (
    Amount,
    ContextLength,
    Count,
    Line,
    List,
    PolicyModel,
    Share,
    Text,
    amount_tokens,
    mistake,
)
from compactor.policy.errors import ErrorPattern
from compactor.policy.plugins import PluginEntry, PluginUse, Redaction
from compactor.policy.summary import Section, SectionPart, Summary
from compactor.policy.triggers import Trigger, Use

__all__ = [
    "Amount",
    "Assembly",
    "Boundaries",
    "ModelRule",
    "PluginUse",
    "Policy",
    "Redaction",
    "Section",
    "SectionPart",
    "Session",
    "Summary",
    "Trigger",
    "Use",
    "Window",
    "amount_tokens",
    "model_matches",
]


class Window(PolicyModel):
    """How much the model can read."""

    context_length: ContextLength = Field(
        "auto", description="The model's window in tokens; `auto` looks it up by the model's name."
    )
    unknown_model: Annotated[int, Field(ge=1)] = Field(
        128000, description="Tokens assumed by `auto` for a model that nobody knows."
    )
    output_reserve: Count = Field(
        0,
        description="Tokens taken off the window, before any share of it is computed, to leave room for the answer. "
        "At most half the window. Bigger: compacts earlier.",
    )
    probe_tiers: List[Annotated[int, Field(ge=1)]] = Field(
        (1000000, 512000, 256000, 200000, 128000, 64000, 32000, 16000, 8000),
        description="Windows in tokens to step down to, from the largest, when a provider refuses a request as too "
        "long and does not say how much it takes.",
    )

    @field_validator("probe_tiers")
    @classmethod
    def _falling(cls, tiers: tuple[int, ...]) -> tuple[int, ...]:
        if list(tiers) != sorted(set(tiers), reverse=True):
            raise mistake("the tiers have to fall, each smaller than the one before")
        return tiers


class Boundaries(PolicyModel):
    """What stays as it is at both ends of the conversation."""

    protect_first_n: Count = Field(
        3, description="Messages kept at the start, system prompt counted. Bigger: more of the origins is verbatim."
    )
    head_decays: bool = Field(
        False,
        description="`true`: after the first compaction only the system prompt stays protected at the start, so old "
        "requests fold into the summary in time.",
    )
    protect_last_n: Count = Field(
        20, description="Messages at the end that pruning spares where there is no token budget for the tail."
    )
    tail_budget_ratio: Share = Field(
        0.20,
        description="Share of the threshold's tokens kept verbatim at the end. Bigger: more recent detail, less gain.",
    )
    tail_soft_ceiling: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        1.5, description="Times the tail's budget that it may grow to, rather than cut a large message off."
    )
    tail_min_messages: Annotated[int, Field(ge=1)] = Field(
        3,
        description="A message over the budget ends the tail only where it would be at least this many-th from the "
        "end; the ones nearer to the end are kept whatever they cost.",
    )
    shrink_to_fit: bool = Field(
        False,
        description="`true`: where what stays does not fit the window, tool results among it are cut to their ends, "
        "oldest first; else nothing can be done.",
    )
    anchors: List[Literal["last_user"]] = Field(
        ("last_user",),
        description="Messages kept verbatim wherever they are: `last_user` is the newest real user message.",
    )


class Assembly(PolicyModel):
    """How head, summary and tail become a conversation again."""

    system_note: Text = Field(
        "hermes/system_note.j2", description="Template of the note added once to the system prompt."
    )
    frame: Text = Field("hermes/frame.j2", description="Template of the summary message, around the summary.")
    unavailable: Text = Field(
        "hermes/unavailable.j2", description="Template of the static note, for when there is no summary."
    )
    orphan_calls: Literal["stub", "drop"] = Field(
        "stub",
        description="A tool call that arrives without its result gets the text `stub` as result, or is removed.",
    )
    stub: Text = Field(
        "[Result from earlier conversation — see context summary above]",
        description="The text that stands for a missing tool result.",
    )


class Session(PolicyModel):
    """The life of a conversation: where it is kept, and how its sessions follow each other."""

    store: Text | None = Field(
        None,
        description="Where sessions are kept: `default` (a file in the user's data folder), a file, or a database "
        "(`postgresql+psycopg://user@host/name`). `null`: in memory, unless the program names a store.",
    )
    lineage: Literal["rotate", "in_place"] = Field(
        "rotate",
        description="What a compaction is to a kept session. `rotate`: its end; a new session begins, with a link to "
        "it. `in_place`: the session goes on, and its old turns are archived.",
    )
    title: Text = Field(
        "{{ base }} #{{ n }}",
        description="Title of the sessions that follow one with a title: `base` is that of the first, `n` the number.",
    )

    logs: bool = Field(
        True,
        description="`true`: what was said in a kept session is also written to `session_<id>.json` when a compaction "
        "ends it, in the folder `sessions` beside the store.",
    )
    warn_after: Annotated[int, Field(ge=1)] = Field(
        2, description="From this compaction of a conversation on, each one warns that accuracy may degrade."
    )
    max_ineffective: Annotated[int, Field(ge=1)] = Field(
        2,
        description="Compactions in a row that gained less than `min_gain`, as the next measured request tells, after "
        "which none is made automatically until something changes.",
    )


class ModelRule(PolicyModel):
    """What differs for some models: any keys of the policy but `version`, `name`, `description` and `models`."""

    model_config = ConfigDict(extra="allow")

    match: Text = Field(
        description="Pattern of the model's name, with or without its provider (`anthropic/`): `*` stands for any "
        "text, `?` for one character, nothing else is special; case does not matter."
    )

    @property
    def overrides(self) -> dict[str, Any]:
        """The keys that differ, as written; partial, as in a policy that extends."""
        return dict(self.model_extra or {})

    def matches(self, model: str) -> bool:
        """Whether the rule is for this model, named in full or without its provider."""
        return model_matches(self.match, model)


class Policy(PolicyModel):
    """When a conversation is compacted, and how."""

    version: Literal[1] = Field(description="Version of this format; always 1.")
    name: Line = Field(description="Name of the policy. A YAML file without one is not listed as a policy.")
    description: str = Field("", description="One line for people who choose among policies.")
    enabled: bool = Field(
        True,
        description="`false`: never compacts before a call; rules at `error` and forced compactions still work.",
    )
    window: Window = Field(Window(), description="How much the model can read.")
    counter: Text = Field(
        "rough",
        description="How tokens are counted: `rough` (four characters a token), `tiktoken` (exact for OpenAI's "
        "models), or one that a plugin provides.",
    )
    threshold: Amount = Field(
        0.50,
        description="Where compaction becomes due: a share of the window (between 0 and 1), or a whole number of "
        "tokens (above 1000). Bigger: compacts later, and a larger tail stays verbatim.",
    )
    target: Amount | None = Field(
        None,
        description="What the result may cost: a share of the window or tokens, as for `threshold`; tail and summary "
        "shrink to meet it. `null`: whatever comes out.",
    )
    min_gain: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.05,
        description="Share of the tokens that a compaction must save; one that saves less is not made.",
    )
    triggers: List[Trigger] = Field((), description="When to compact; the first rule that is true wins. Empty: never.")
    max_attempts: Annotated[int, Field(ge=1)] = Field(
        3, description="Compactions for one request that the provider keeps refusing."
    )
    errors: List[ErrorPattern] = Field(
        (), description="What refusals of providers mean, beside the shipped table, which is asked after these."
    )
    boundaries: Boundaries = Field(Boundaries(), description="What stays as it is at both ends.")
    pruning: List[Use] = Field((), description="Steps that shrink messages without a model, in this order.")
    stop_after_pruning: bool = Field(
        False,
        description="`true`: no summary when pruning alone reaches the target (the threshold, where there is none).",
    )
    summary: Summary = Field(Summary(), description="Who summarises, from what, and into which sections.")
    assembly: Assembly = Field(Assembly(), description="How the parts become a conversation again.")
    session: Session = Field(Session(), description="The life of a conversation.")
    redaction: Redaction = Field(Redaction(), description="What never leaves the conversation.")
    plugins: List[PluginEntry] = Field((), description="What is loaded, in the order in which it is called.")
    models: List[ModelRule] = Field((), description="Keys that differ by model; later entries win.")

    @field_validator("triggers", "pruning")
    @classmethod
    def _unique_names(cls, entries: tuple[Trigger | Use, ...]) -> tuple[Trigger | Use, ...]:
        key = "use" if any(isinstance(entry, Use) for entry in entries) else "name"
        names = [getattr(entry, key) for entry in entries]
        if repeated := tuple((index, key) for index, name in enumerate(names) if name in names[:index]):
            raise mistake("another entry has the same name", at=repeated)
        return entries


def model_matches(pattern: str, model: str) -> bool:
    """Whether a ``match`` pattern fits a model's name, in full or without its provider."""
    # Not fnmatch: it reads the brackets of a name like `claude[1m]` as a set of characters.
    wild = {"*": ".*", "?": "."}
    expression = "".join(wild.get(character) or re.escape(character) for character in pattern)
    names = (model, model.rpartition("/")[2])
    return any(re.fullmatch(expression, name, re.IGNORECASE | re.DOTALL) for name in names)
