"""The installed package holds everything that it reads at run time, and the metadata that users rely on."""

import tomllib
from importlib.metadata import entry_points, metadata
from importlib.resources import files
from pathlib import Path

import pytest

import compactor

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))

MAPPED = {"compactor.shipped.plugins", "compactor.shipped.policies", "compactor.shipped.prompts"}
"""Packages whose folders stand at the top of the repository."""

SHIPPED = [
    ("compactor", "py.typed"),
    ("compactor.policy", "schema.json"),
    ("compactor.shipped.plugins", "__init__.py"),
    ("compactor.shipped.policies", "default.yaml"),
    ("compactor.shipped.policies", "hermes.yaml"),
    ("compactor.shipped.prompts", "hermes/_sections.j2"),
    ("compactor.shipped.prompts", "hermes/first.j2"),
    ("compactor.shipped.prompts", "hermes/update.j2"),
    ("compactor.shipped.prompts", "hermes/transcript.j2"),
    ("compactor.shipped.prompts", "hermes/frame.j2"),
    ("compactor.shipped.prompts", "hermes/system_note.j2"),
    ("compactor.shipped.prompts", "hermes/unavailable.j2"),
]


@pytest.mark.parametrize(("package", "name"), SHIPPED)
def test_a_file_is_installed(package: str, name: str) -> None:
    assert files(package).joinpath(name).is_file()


def test_the_command_is_declared() -> None:
    (command,) = entry_points(group="console_scripts", name="compactor")
    assert command.dist is not None
    assert command.dist.name == "context-compactor"
    assert callable(command.load())


def test_the_metadata_names_the_python_that_is_needed() -> None:
    assert metadata("context-compactor")["Requires-Python"] == ">=3.11"


def test_every_package_is_listed() -> None:
    root = Path(compactor.__file__).parent
    found = {".".join(file.parent.relative_to(root.parent).parts) for file in root.rglob("*.py")}
    assert found | MAPPED == set(PROJECT["tool"]["setuptools"]["packages"])
