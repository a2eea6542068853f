"""The public surface: what the docs list is what there is."""

import re
from pathlib import Path

import compactor
from compactor.builtin import register_pruners
from compactor.templates import VARIABLES

ROOT = Path(__file__).parent.parent


def test_the_documented_names_are_the_public_ones() -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    documented = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(documented) == sorted(compactor.__all__)


def test_every_public_name_is_there_and_documented() -> None:
    for name in compactor.__all__:
        assert getattr(compactor, name).__doc__, name


def test_every_variable_of_every_template_is_documented() -> None:
    text = (ROOT / "docs" / "prompts.md").read_text("utf-8")
    for kind, variables in VARIABLES.items():
        table = re.search(rf"### `\w+\.{kind}`\n(.*?)(\n### |\n## |\Z)", text, re.DOTALL)
        assert table is not None, kind
        rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table[1], re.MULTILINE))
        assert rows == dict(variables)


def test_the_options_of_the_shipped_pruners_are_documented() -> None:
    text = (ROOT / "docs" / "policy.md").read_text("utf-8")
    table = text.partition("## The pruners")[2].partition("## All keys")[0]
    pages = dict(re.findall(r"^`(clear_\w+)` (.*?)(?=^`clear_|\Z)", table, re.MULTILINE | re.DOTALL))
    assert set(pages) == set(register_pruners())
    for name, model in register_pruners().items():
        documented = dict(re.findall(r"^\| `([\w.]+)` \| `(.*?)` \|", pages[name], re.MULTILINE))
        options = model().model_dump()
        outside = options.pop("outside", {})
        flat = {**options, **{f"outside.{option}": value for option, value in outside.items()}}
        assert documented == {option: str(value) for option, value in flat.items()}
