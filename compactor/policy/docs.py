"""The reference of all keys in ``docs/policy.md``, written from the models.

Run as a module with the path of the page, it brings the page up to date.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from compactor.policy import expressions, settings
from compactor.policy.base import PATTERN_MEANINGS, PolicyModel
from compactor.policy.fields import is_list, model_of
from compactor.policy.models import Policy

BEGIN = "<!-- written by compactor.policy.docs: do not edit below -->"
END = "<!-- end of the written part -->"


def reference() -> str:
    """All keys with type, default and meaning, the variables of conditions and those of the environment."""
    return "\n".join((*_section(Policy, "", "Top level"), *_conditions(), *_environment()))


def updated(page: str) -> str:
    """The page with the reference between its markers replaced. Raises ValueError if it has no markers."""
    head, begin, rest = page.partition(BEGIN)
    _, end, foot = rest.partition(END)
    if not (begin and end):
        raise ValueError("the page lacks the markers of the written part")
    return f"{head}{BEGIN}\n\n{reference()}\n{END}{foot}"


def _section(model: type[PolicyModel], key: str, title: str) -> Iterator[str]:
    """A table of a model's keys, then a section for each key that has keys of its own."""
    schema = model.model_json_schema()
    rows = []
    for name, field in model.model_fields.items():
        shape = "see below" if model_of(field.annotation) else _type(schema["properties"][name])
        rows.append((f"`{name}`", shape, _default(field), field.description or ""))
    yield f"### {title}\n\n{model.__doc__}\n"
    yield _table(("key", "type", "default", "meaning"), rows)
    for name, field in model.model_fields.items():
        if below := model_of(field.annotation):
            path = f"{key}.{name}" if key else name
            entries = is_list(field.annotation)
            yield from _section(below, f"{path}[]" if entries else path, f"`{path}`" + (", each entry" * entries))


def _type(schema: Mapping[str, Any]) -> str:
    """The kind of value that a key's JSON schema asks for, in words."""
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{word}`" for word in schema.get("enum", [schema.get("const")]))
    words = {"integer": "whole number", "boolean": "`true` or `false`", "null": "`null`"}
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {_type(schema['items'])}"
    if kind == "object":
        return "mapping"
    if kind == "string":
        return PATTERN_MEANINGS.get(schema.get("pattern", ""), "text").partition(" that ")[0].partition(" (")[0]
    return " ".join(filter(None, (words.get(kind, kind), _limits(schema))))


def _limits(schema: Mapping[str, Any]) -> str:
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
    return " and ".join(f"{sign} {schema[name]:g}" for name, sign in signs.items() if name in schema)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.default, PolicyModel):
        return ""
    return f"`{json.dumps(field.default, ensure_ascii=False)}`"


def _conditions() -> Iterator[str]:
    everywhere = expressions.VARIABLES["before_call"]
    for title, variables in {"": everywhere, ", at `error` only": expressions.ONLY_AT_ERROR}.items():
        yield f"### Variables of `when:`{title}\n"
        yield _table(("variable", "meaning"), ((f"`{name}`", meaning) for name, meaning in variables.items()))


def _environment() -> Iterator[str]:
    yield "### Environment variables\n"
    rows = [(f"`{name}`", meaning) for name, meaning in settings.VARIABLES.items()]
    example = settings.variable("boundaries", "protect_first_n")
    rows.append((f"`{settings.POLICY_PREFIX}<KEY>`", f"Any key of the policy, such as `{example}=5`."))
    yield _table(("variable", "meaning"), rows)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(updated(target.read_text(encoding="utf-8")), encoding="utf-8")
