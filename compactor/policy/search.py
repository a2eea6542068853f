"""Where policies and prompts are looked for, and what is found there."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from compactor.policy.source import read_yaml

SUFFIXES = (".yaml", ".yml")
"""What a policy's file name ends in."""


@dataclass(frozen=True, slots=True)
class Place:
    """A directory that is looked into, and how it is called in messages; ``shipped``: it comes with Compactor."""

    directory: Traversable
    label: str
    shipped: bool = False

    def file(self, name: str) -> "Found | None":
        """The file of that name, if there is one."""
        path = self.directory.joinpath(name)
        label = f"{self.label}:{name}" if self.shipped else shown_path(path)
        return Found(path, label, self.shipped) if path.is_file() else None

    def names(self) -> list[str]:
        """The names of the files directly in the directory, sorted; empty where there is no directory."""
        return sorted(entry.name for entry in self.directory.iterdir() if entry.is_file()) if self.exists else []

    @property
    def exists(self) -> bool:
        """Whether there is such a directory."""
        return self.directory.is_dir()


@dataclass(frozen=True, slots=True)
class Found:
    """A file, and how it is called in messages: relative to the working directory where it lies below it."""

    path: Traversable
    label: str
    shipped: bool = False

    @property
    def own(self) -> Path | None:
        """The file where it is the user's own and on disk, for those who watch it."""
        return self.path if isinstance(self.path, Path) and not self.shipped else None

    def same_as(self, other: "Found") -> bool:
        """Whether both are the same file, however they are called."""
        if isinstance(self.path, Path) and isinstance(other.path, Path):
            return self.path.resolve() == other.path.resolve()
        return str(self.path) == str(other.path)


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """A policy that can be used by name. ``path`` is the file as shown to people."""

    name: str
    description: str
    path: str


def search_places(kind: Literal["policies", "prompts"], environ: Mapping[str, str]) -> tuple[Place, ...]:
    """The directories for policies or prompts, first looked into first; not all of them need to exist."""
    variable = {"policies": "COMPACTOR_POLICY_PATH", "prompts": "COMPACTOR_PROMPT_PATH"}[kind]
    asked = [Path(entry) for entry in environ.get(variable, "").split(os.pathsep) if entry]
    directories = [*asked, Path(kind), user_directory(environ) / kind]
    places = [Place(directory, shown_path(directory)) for directory in directories]
    return (*places, Place(files(f"compactor.shipped.{kind}"), "shipped", shipped=True))


def user_directory(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The directory of the user's own policies and prompts, by the custom of the platform."""
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    if platform == "win32":
        base = Path(environ["APPDATA"]) if environ.get("APPDATA") else home / "AppData" / "Roaming"
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(environ["XDG_CONFIG_HOME"]) if environ.get("XDG_CONFIG_HOME") else home / ".config"
    return base / "compactor"


def shown_path(path: Traversable) -> str:
    """A path for people: relative to the working directory where it lies below it."""
    if not isinstance(path, Path):
        return str(path)
    absolute = Path(os.path.abspath(path))
    here = Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else absolute.as_posix()


def is_path(name: str) -> bool:
    """Whether a policy is given as a path rather than by its name."""
    return name.endswith(SUFFIXES) or "/" in name or os.sep in name


def policy_names(places: tuple[Place, ...]) -> set[str]:
    """The names by which policies could be found in these places."""
    parts = (os.path.splitext(file) for place in places for file in place.names())
    return {stem for stem, suffix in parts if suffix in SUFFIXES}


def candidates(name: str, places: tuple[Place, ...]) -> Iterator[Found]:
    """The files that a policy of this name could be, in the order of the places."""
    for place in places:
        for suffix in SUFFIXES:
            if found := place.file(name + suffix):
                yield found


def find_policies(environ: Mapping[str, str] | None = None) -> tuple[PolicyEntry, ...]:
    """Every policy that can be used by name: files with a top-level ``name:``, the first one of each file name.

    A file that cannot be read is listed too, its description says why. ``environ`` defaults to ``os.environ``.
    """
    places = search_places("policies", os.environ if environ is None else environ)
    entries: dict[str, PolicyEntry] = {}
    for place in places:
        for file_name in place.names():
            stem, suffix = os.path.splitext(file_name)
            found = place.file(file_name)
            if suffix in SUFFIXES and stem not in entries and found and (entry := _entry(stem, found)):
                entries[stem] = entry
    return tuple(sorted(entries.values(), key=lambda entry: entry.name))


def _entry(name: str, found: Found) -> PolicyEntry | None:
    try:
        document = read_yaml(found.path.read_text(encoding="utf-8-sig"), found.label)
    except (OSError, UnicodeDecodeError) as error:
        return PolicyEntry(name, f"cannot be read: {error}", found.label)
    if document.root is None:
        return PolicyEntry(name, f"cannot be read: {document.problems[0].message}", found.label)
    if document.root.child("name") is None:
        return None
    description = document.root.child("description")
    return PolicyEntry(name, str(description.content) if description else "", found.label)
