"""The shipped policies: complete, valid, documented; the schema and the docs are up to date."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from compactor.policy import docs, schema
from compactor.policy.fields import all_keys
from compactor.policy.models import Policy, amount_tokens
from compactor.policy.wording import Key

from .conftest import Load, Refused, Write

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
SHIPPED = ("hermes", "default")


def shipped(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / "policies" / f"{name}.yaml").read_text(encoding="utf-8"))
    return data


def keys_of(data: Any, above: Key = ()) -> set[Key]:
    """All keys of plain data, without positions in lists."""
    if isinstance(data, dict):
        below = (keys_of(value, (*above, name)) for name, value in data.items())
        return {(*above, name) for name in data}.union(*below)
    if isinstance(data, list):
        return set().union(*(keys_of(entry, above) for entry in data))
    return set()


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_policies_load(load: Load, name: str) -> None:
    loaded = load(name)
    assert loaded.policy.name == name
    assert loaded.policy.description
    assert loaded.path == f"shipped:{name}.yaml"


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_policies_fit_the_schema(name: str) -> None:
    jsonschema.Draft202012Validator(schema.json_schema()).validate(shipped(name))


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"threshold": 5},
        {"threshold": True},
        {"version": 2},
        {"extends": 5},
        {"models": [{"threshold": 0.5}]},
        {"models": [{"match": "a", "name": "b"}]},
        {"models": [{"match": "a", "boundaries": {"protect_frist_n": 1}}]},
        {"summary": {"cooldown": {"tuesday": 1}}},
    ],
)
def test_the_schema_refuses(change: dict[str, Any]) -> None:
    assert not jsonschema.Draft202012Validator(schema.json_schema()).is_valid({**shipped("hermes"), **change})


@pytest.mark.parametrize(
    "policy",
    [
        {"extends": "hermes"},
        {"version": 1, "name": "a"},
        {"version": 1, "name": "a", "models": [{"match": "a", "boundaries": {"protect_first_n": 1}, "threshold": 0.1}]},
    ],
)
def test_the_schema_accepts(policy: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema.json_schema()).validate(policy)


def test_the_schema_file_is_fresh() -> None:
    written = (ROOT / "compactor" / "policy" / "schema.json").read_text(encoding="utf-8")
    assert written == schema.render(), "run: python -m compactor.policy.schema > compactor/policy/schema.json"


def test_the_docs_are_fresh() -> None:
    assert docs.updated(PAGE) == PAGE, "run: python -m compactor.policy.docs docs/policy.md"


def test_the_docs_need_their_markers() -> None:
    with pytest.raises(ValueError, match="markers"):
        docs.updated("# Policies")


def test_the_mistakes_in_the_docs_are_real(write: Write, refused: Refused, environ: dict[str, str]) -> None:
    example = re.search(r"This policy\n\n```yaml\n(.*?)```\n\nis refused with\n\n```\n(.*?)\n```", PAGE, re.DOTALL)
    assert example is not None
    policy, output = example.groups()
    write("").write_text(policy, encoding="utf-8")
    environ["XDG_CONFIG_HOME"] = "/home/me/.config"
    assert refused() == output.splitlines()


def test_the_line_in_the_docs_is_real(load: Load) -> None:
    example = re.search(r'loaded\.line\("(.*?)"\) +# "(.*?)"', PAGE)
    assert example is not None
    assert load("default").line(example[1]) == example[2]


def test_hermes_spells_out_every_key_and_no_other() -> None:
    known = {key for key, _ in all_keys()}
    # What only entries of lists have that are empty here.
    only_where_models_differ = {("models", "match")}
    lists = (("plugins",), ("redaction", "patterns"), ("errors",), ("triggers", "prune"))
    of_entries = {key for key in known if any(key[: len(above)] == above and key != above for above in lists)}
    options = {key for key in keys_of(shipped("hermes")) if key[0] == "pruning" and key[1:] not in ((), ("use",))}
    cooldowns = {("summary", "cooldown", "default")}
    # What changes a compaction by one rule is not Hermes' own: it is explained in comments.
    of_rules = {("triggers", name) for name in ("target", "prune", "prune_only", "background")}
    assert keys_of(shipped("hermes")) - options - cooldowns == known - only_where_models_differ - of_entries - of_rules
    comments = re.findall(r"^ *# +(\w+): ", (ROOT / "policies" / "hermes.yaml").read_text("utf-8"), re.MULTILINE)
    assert {name for _, name in of_rules} <= set(comments)


def test_the_defaults_are_those_of_hermes(load: Load) -> None:
    hermes = load("hermes").policy
    own = {"name", "description", "triggers", "pruning", "summary"}
    plain = Policy(version=1, name="plain")
    assert hermes.model_dump(exclude=own) == plain.model_dump(exclude=own)
    own = {"model", "sections"}
    assert hermes.summary.model_dump(exclude=own) == plain.summary.model_dump(exclude=own)


def test_the_headings_are_those_of_the_reference(load: Load) -> None:
    sections = load("hermes").policy.summary.sections
    assert [(section.id, section.title) for section in sections] == [
        ("goal", "Goal"),
        ("constraints", "Constraints & Preferences"),
        ("progress", "Progress"),
        ("decisions", "Key Decisions"),
        ("files", "Relevant Files"),
        ("next_steps", "Next Steps"),
        ("critical", "Critical Context"),
        ("tools", "Tools & Patterns"),
    ]
    assert [part.title for part in sections[2].parts] == ["Done", "In Progress", "Blocked"]


def test_default_names_no_model_and_needs_none(load: Load) -> None:
    policy = load("default").policy
    assert policy.summary.model is None
    assert policy.summary.summarizers == ("litellm", "extractive")
    assert {trigger.name: trigger.when for trigger in policy.triggers if trigger.at != "error"} == {
        "tokens": "tokens >= threshold_tokens",
        "large_body": "bytes >= 4000000 or images >= 50",
    }


@pytest.mark.parametrize("name", SHIPPED)
def test_the_first_line_names_the_schema(name: str) -> None:
    lines = (ROOT / "policies" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# yaml-language-server: $schema=../compactor/policy/schema.json"


@pytest.mark.parametrize(("amount", "tokens"), [(0.5, 64000), (0.333, 42624), (5000, 5000)])
def test_amounts_in_tokens(amount: int | float, tokens: int) -> None:
    assert amount_tokens(amount, 128000) == tokens
