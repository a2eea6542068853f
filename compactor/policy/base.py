"""The kinds of value that policies are made of, and how a validator says what is wrong with one."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from compactor.policy.wording import Key, shown

SMALLEST_WHOLE_AMOUNT = 1001
"""Whole numbers up to 1000 are refused as an amount: they are far more often a mistaken percentage than tokens."""


class PolicyModel(BaseModel):
    """Base of every part of a policy: no unknown keys, no conversions, no changes afterwards."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def mistake(message: str, hint: str = "", *, at: tuple[Key, ...] = ((),)) -> PydanticCustomError:
    """The error that a validator raises: what is wrong, what would be right, and at which keys.

    The keys are relative to the validated value: the check of a whole list can point at some of its entries.
    """
    return PydanticCustomError("mistake", "{message}", {"message": message, "hint": hint, "at": at})


def _amount(value: Any) -> int | float:
    is_share = isinstance(value, float) and 0 < value < 1
    is_tokens = isinstance(value, int) and not isinstance(value, bool) and value >= SMALLEST_WHOLE_AMOUNT
    if not (is_share or is_tokens):
        raise mistake(
            f"expected a share of the window or a number of tokens, got {shown(value)}",
            "a share is between 0 and 1, such as 0.5; tokens are a whole number above 1000, such as 60000",
        )
    return value  # type: ignore[no-any-return]


def _context_length(value: Any) -> int | str:
    is_tokens = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if not is_tokens and value != "auto":
        raise mistake(f"expected a number of tokens or 'auto', got {shown(value)}", "such as 200000")
    return value  # type: ignore[no-any-return]


def amount_tokens(amount: int | float, window: int) -> int:
    """An amount in tokens: a share is taken of ``window`` (tokens, rounded down), a whole number is itself."""
    return int(amount * window) if isinstance(amount, float) else amount


T = TypeVar("T")

List = Annotated[tuple[T, ...], Field(strict=False)]
"""A list in YAML, a tuple in Python: only the container is converted, its items stay strict."""

Amount = Annotated[
    int | float,
    PlainValidator(_amount),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                {"type": "integer", "minimum": SMALLEST_WHOLE_AMOUNT},
            ]
        }
    ),
]
"""A share of the window (a float between 0 and 1) or a number of tokens (a whole number above 1000)."""

ContextLength = Annotated[
    int | Literal["auto"],
    PlainValidator(_context_length),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "auto"}]}),
]
"""A window in tokens, or ``auto``."""

Share = Annotated[float, Field(gt=0, lt=1)]
"""A ratio between 0 and 1, both excluded."""

Count = Annotated[int, Field(ge=0)]
"""A whole number from 0."""

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A span of time."""

_NOT_BLANK = r"\S"
_ONE_LINE = r"^[^\r\n]*[^\s][^\r\n]*$"
_IDENTIFIER = r"^[a-z][a-z0-9_]*$"

PATTERN_MEANINGS = {
    _NOT_BLANK: "text that is not blank",
    _ONE_LINE: "one line of text that is not blank",
    _IDENTIFIER: "an identifier (a lowercase letter, then lowercase letters, digits and '_')",
}
"""What a string was expected to be, by the pattern that it does not match."""

Text = Annotated[str, StringConstraints(pattern=_NOT_BLANK)]
"""A string that is not blank."""

Line = Annotated[str, StringConstraints(pattern=_ONE_LINE)]
"""A string of one line that is not blank."""

Identifier = Annotated[str, StringConstraints(pattern=_IDENTIFIER)]
"""A lowercase name."""

Options = dict[str, JsonValue]
"""Settings that somebody else validates."""


class ByName:
    """Marks an entry of a list for which its bare name may stand: ``use`` and nothing else."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def spelled_out(value: Any) -> Any:
            return {"use": value} if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(spelled_out, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "pattern": _NOT_BLANK}, handler(schema)]}
