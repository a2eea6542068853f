"""An entry of the table that says what a provider's refusal means."""

import re
from collections.abc import Set
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from compactor.policy.base import Line, List, PolicyModel, Text, mistake
from compactor.policy.wording import did_you_mean

ErrorKind = Literal[
    "context_overflow",
    "payload_too_large",
    "long_context_tier",
    "output_cap",
    "resource_limit",
    "rate_limit",
    "quota",
    "overloaded",
    "timeout",
    "network",
    "authentication",
    "server_error",
    "unknown",
]
"""What a refusal means. A smaller request cures the first three and no other."""

NUMBERS = ("limit", "prompt", "output", "total")
"""The groups that a pattern may name: numbers of tokens."""

HttpStatus = Annotated[int, Field(ge=400, le=599)]


class ErrorPattern(PolicyModel):
    """A refusal of a provider, in the form of ``policies/shared/errors.yaml``: all its conditions must hold."""

    id: Line = Field(description="Name of the entry, shown where a refusal is explained.")
    kind: ErrorKind = Field(
        description="What the refusal means. Rules `at: error` are for `context_overflow`, `payload_too_large` and "
        "`long_context_tier`; everything else is raised again untouched."
    )
    status: List[HttpStatus] = Field((), description="HTTP status codes, one of which the refusal has.")
    codes: List[Text] = Field(
        (),
        description="Codes or types of the error (`context_length_exceeded`, `ThrottlingException`), one of which it "
        "states; compared as a whole, in any case of letters.",
    )
    classes: List[Text] = Field(
        (), description="Names of exception classes, one of which the exception or one of its bases has."
    )
    pattern: Text | None = Field(
        None,
        description="Regular expression, searched in any case of letters in the provider's message and the body as "
        "JSON, of long ones in the first and the last 2,500 characters. Its groups `limit` (the context window), "
        "`prompt`, `output` and `total` (of both) are read as numbers of tokens: `131072`, `131,072`, `128k`.",
    )

    @field_validator("pattern")
    @classmethod
    def _is_usable(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            expression = re.compile(pattern, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError) as error:
            raise mistake(f"no regular expression: {error}") from None
        for name in expression.groupindex:
            if name not in NUMBERS:
                hint = did_you_mean(name, NUMBERS) or f"the groups are {', '.join(NUMBERS)}"
                raise mistake(f"unknown group {name!r}", hint)
        if expression.search(""):
            raise mistake("the regular expression matches every text")
        return pattern

    @model_validator(mode="after")
    def _has_a_condition(self) -> Self:
        if not (self.status or self.codes or self.classes or self.pattern):
            raise mistake("an entry without a condition matches every error", "give status, codes, classes or pattern")
        return self

    def applies(self, status: int | None, codes: Set[str], classes: Set[str]) -> bool:
        """Whether the conditions beside the pattern hold; ``codes`` are in lower case."""
        return (
            (not self.status or status in self.status)
            and (not self.codes or any(code.casefold() in codes for code in self.codes))
            and (not self.classes or not classes.isdisjoint(self.classes))
        )
