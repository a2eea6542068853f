"""What an unquoted YAML scalar means: as YAML 1.2 reads it, or a refusal where YAML 1.1 would disagree."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Surprise:
    """Why a scalar is refused, and how to write what was meant."""

    message: str
    hint: str


_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

_SURPRISES = tuple(
    (re.compile(pattern), f"{{text!r}} is {reading}", hint)
    for pattern, reading, hint in (
        (r"(?i:yes|no|on|off)", "a boolean to some YAML readers", "write true or false, or quote it"),
        (r"[-+]?0[0-9_]+", "an octal number to some YAML readers", "drop the leading zero, or quote it"),
        (r"[-+]?0[xXoObB][0-9a-fA-F_]+", "not a decimal number", "write it in decimal digits, or quote it"),
        (r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9_]*)?", "a base-60 number to some YAML readers", "quote it"),
        (r"[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?", "a number to some YAML readers", "drop the '_', or quote it"),
        (r"(?i:[-+]?\.inf|\.nan)", "not a number that a policy can use", "write a finite number, or quote it"),
    )
)
_LONGEST_SURPRISE = 40  # longer text is prose; no need to try every pattern on it


def resolve(text: str) -> str | int | float | bool | Surprise | None:
    """The value of an unquoted scalar, or the reason to refuse it."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST_SURPRISE:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    for pattern, message, hint in _SURPRISES:
        if pattern.fullmatch(text):
            return Surprise(message.format(text=text), hint)
    return float(text) if _FLOAT.fullmatch(text) else text
