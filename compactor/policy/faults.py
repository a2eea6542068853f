"""What is wrong with a policy's data: pydantic's errors and bad conditions, as faults that a person understands."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from compactor.errors import PolicyError
from compactor.policy.base import PATTERN_MEANINGS
from compactor.policy.expressions import VARIABLES, compile_condition
from compactor.policy.fields import all_keys, fields_at
from compactor.policy.models import Policy
from compactor.policy.wording import Key, did_you_mean, dotted, shown


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake, not yet located. ``at_key``: it is the key that is wrong, not its value."""

    key: Key
    message: str
    hint: str = ""
    at_key: bool = False


_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "too_short": "at least {min_length} entry",
    "literal_error": "{expected}",
}
_QUOTED = re.compile(r"'([^']*)'")


def find_faults(data: dict[str, Any]) -> tuple[Policy | None, tuple[Fault, ...]]:
    """The policy that the data makes, or every fault that keeps it from being one."""
    faults = list(_condition_faults(data))
    policy = None
    try:
        policy = Policy.model_validate(data)
    except ValidationError as error:
        faults.extend(fault for details in error.errors(include_url=False) for fault in _explained(details))
    return (None if faults else policy), tuple(faults)


def _explained(error: ErrorDetails) -> Iterator[Fault]:
    key: Key = error["loc"]
    context = error.get("ctx", {})
    if key and key[-1] == "[key]":
        yield _unknown_key(key[:-1], _QUOTED.findall(context.get("expected", "")))
    elif error["type"] == "extra_forbidden":
        yield _unknown_key(key, fields_at(key[:-1]))
    elif error["type"] == "missing":
        yield Fault(key, "the key is missing", "write 'version: 1'" if key == ("version",) else "")
    elif error["type"] == "mistake":
        for place in context["at"]:
            yield Fault((*key, *place), context["message"], context["hint"])
    else:
        yield _unexpected(key, error)


def _unexpected(key: Key, error: ErrorDetails) -> Fault:
    kind, found, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "string_pattern_mismatch":
        expected = PATTERN_MEANINGS[context["pattern"]]
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**context)
    else:
        return Fault(key, error["msg"])
    hint = did_you_mean(str(found), _QUOTED.findall(expected)) if kind == "literal_error" else ""
    return Fault(key, f"expected {expected}, got {shown(found)}", hint)


def _unknown_key(key: Key, siblings: Iterable[str]) -> Fault:
    name = str(key[-1])
    hint = did_you_mean(name, siblings)
    if not hint:
        elsewhere = [dotted(place) for place, _ in all_keys() if place[-1] == name]
        hint = f"did you mean {elsewhere[0]!r}?" if elsewhere else ""
    return Fault(key, "unknown key", hint, at_key=True)


def _condition_faults(data: dict[str, Any]) -> Iterator[Fault]:
    triggers = data.get("triggers")
    for index, entry in enumerate(triggers if isinstance(triggers, list) else ()):
        trigger = entry if isinstance(entry, dict) else {}
        when, known = trigger.get("when"), VARIABLES.get(str(trigger.get("at")))
        if isinstance(when, str) and when.strip() and known:  # what is wrong with anything else, the models say
            try:
                compile_condition(when, known)
            except PolicyError as error:
                yield from (Fault(("triggers", index, "when"), found.message, found.hint) for found in error.problems)
