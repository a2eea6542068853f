"""The ``triggers`` of a policy: when to compact, and what is different about a compaction that a rule asks for."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from compactor.policy.base import Amount, ByName, Line, List, PolicyModel, Text, mistake

Moment = Literal["turn_start", "tool_results", "before_call", "error", "manual"]
"""When a rule is asked."""

Overflow = Literal["context_overflow", "payload_too_large", "long_context_tier"]
"""The kinds of refusal that a smaller request cures; ``policies/shared/errors.yaml`` tells them from all others."""

AUTOMATIC: frozenset[Moment] = frozenset(("turn_start", "tool_results", "before_call"))
"""The moments before a model call."""


class Use(PolicyModel):
    """A step by name, with options that belong to whoever implements it."""

    model_config = ConfigDict(extra="allow")

    use: Text = Field(description="Name of the pruner; every other key of the entry is one of its options.")

    @property
    def options(self) -> dict[str, Any]:
        """The options as written, not validated."""
        return dict(self.model_extra or {})


class WindowLimit(PolicyModel):
    """A bound for the window."""

    at_most: Annotated[int, Field(ge=1)] = Field(description="Tokens; the window becomes this large if it was larger.")


class Trigger(PolicyModel):
    """A rule that says when to compact, and how where it differs from the rest of the policy."""

    name: Line = Field(description="Unique name, shown where a compaction is explained.")
    at: Moment = Field(
        description="When the rule is asked: `turn_start` before the first model call of a turn, `tool_results` before "
        "a call that sends tool results, `before_call` before any call; `error` when the provider refused a request; "
        "`manual` when the caller forces a compaction."
    )
    when: Text | None = Field(
        None,
        description="An expression over the variables listed below: comparisons, arithmetic, `and`, `or`, `not`, "
        "`in`. True compacts. At `error` and `manual` it may be left out, which is true.",
    )
    error: Overflow | None = Field(
        None, description="At `error`: the kind of refusal that the rule is for (`errors` below)."
    )
    window: Literal["keep", "stated_or_next_tier"] | WindowLimit = Field(
        "keep",
        description="At `error`: what becomes of the window and of all that is derived from it. `stated_or_next_tier`: "
        "the limit that the error states, else the next of `window.probe_tiers`; `{at_most: N}`: at most N tokens.",
    )
    target: Amount | None = Field(
        None, description="What the result of this rule may cost, in place of the policy's `target`."
    )
    prune: List[Annotated[Use, ByName()]] = Field(
        (), description="Pruning steps for this rule, before those of the policy: a name, or an entry as in `pruning`."
    )
    prune_only: bool = Field(False, description="`true`: this rule prunes and never asks for a summary.")
    background: bool = Field(
        False,
        description="`true`: the summary is made while the agent goes on, and takes effect at a later call. Such rules "
        "are asked after all others.",
    )

    @model_validator(mode="after")
    def _fits_the_moment(self) -> Self:
        at_error = self.at == "error"
        elsewhere = [name for name, given in (("error", self.error), ("window", self.window != "keep")) if given]
        if elsewhere and not at_error:
            raise mistake("only a rule at 'error' has this key", at=tuple((name,) for name in elsewhere))
        if at_error and self.error is None:
            raise mistake("a rule at 'error' needs the kind of 'error'", "such as error: context_overflow")
        if self.when is None and self.at in AUTOMATIC:
            raise mistake("the key 'when' is missing", "such as when: tokens >= threshold_tokens")
        if self.background and self.at not in AUTOMATIC:
            raise mistake(f"nothing can go on in the background at '{self.at}'", at=(("background",),))
        if self.prune_only and self.background:
            raise mistake("pruning alone needs no background", at=(("background",),))
        return self
