"""A policy and what it extends, read from their files and merged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from compactor.errors import PolicyError, Problem
from compactor.policy.search import Found, Place, candidates, is_path, policy_names, shown_path
from compactor.policy.source import Document, read_yaml
from compactor.policy.tree import Node, Origin, grow
from compactor.policy.wording import did_you_mean, shown

EXTENDS = "extends"
"""The key that names a policy's parent; the one key of a file that is not part of the policy itself."""

MAPPING = "<policy>"
"""What a policy that was given as a mapping is called in messages."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A policy merged over its ancestors. ``root`` is None where the policy itself could not be read; ``files`` are
    those of the user, without the shipped ones."""

    root: Node | None
    path: str | None
    problems: tuple[Problem, ...]
    files: tuple[Path, ...] = ()


def read_chain(policy: str | Path | Mapping[str, Any], places: tuple[Place, ...]) -> Chain:
    """Read a policy and all that it extends.

    Raises PolicyError if there is no such policy; everything else that is wrong comes back as problems.
    """
    if isinstance(policy, Mapping):
        return _merged(grow(policy, Origin(MAPPING)), None, places)
    found = _by_path(policy) if isinstance(policy, Path) or is_path(policy) else _by_name(policy, places)
    document = _read(found)
    if document.root is None:
        return Chain(None, found.label, document.problems)
    chain = _merged(document.root, found, places)
    return Chain(chain.root, found.label, (*document.problems, *chain.problems), chain.files)


def _merged(root: Node, found: Found | None, places: tuple[Place, ...]) -> Chain:
    layers = [root]
    files = [found] if found else []
    problems: list[Problem] = []
    while parent := layers[-1].child(EXTENDS):
        try:
            files.append(_parent(parent, files, places))
        except _NoParent as error:
            problems.append(Problem(parent.origin.value, EXTENDS, error.message, error.hint))
            break
        document = _read(files[-1])
        problems.extend(document.problems)
        if document.root is None:
            break
        layers.append(document.root)
    oldest_first = [layer.without(EXTENDS) for layer in reversed(layers)]
    own = tuple(file.own for file in files if file.own is not None)
    return Chain(reduce(Node.merged, oldest_first), found.label if found else None, tuple(problems), own)


class _NoParent(Exception):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def _parent(extends: Node, files: list[Found], places: tuple[Place, ...]) -> Found:
    name = extends.content
    if not isinstance(name, str) or not name.strip():
        raise _NoParent(f"expected the name or path of one policy, got {shown(name)}")
    parent = _parent_by_path(name, files) if is_path(name) else _parent_by_name(name, files, places)
    if any(parent.same_as(file) for file in files):
        raise _NoParent("goes round in a circle: " + " -> ".join(file.label for file in (*files, parent)))
    return parent


def _parent_by_path(name: str, files: list[Found]) -> Found:
    child = files[-1].path if files else None
    path = (child.parent if isinstance(child, Path) else Path()) / Path(name).expanduser()
    if not path.is_file():
        raise _NoParent(f"there is no file {shown_path(path)}", "a path is relative to the file that extends")
    return Found(path, shown_path(path))


def _parent_by_name(name: str, files: list[Found], places: tuple[Place, ...]) -> Found:
    options = list(candidates(name, places))
    # A policy may extend the one that it shadows: look only further down the search path than the file itself.
    own = [index for index, option in enumerate(options) if files and option.same_as(files[-1])]
    options = options[own[-1] + 1 :] if own else options
    if options:
        return options[0]
    if own:
        raise _NoParent("the policy extends itself", f"there is no other {name!r} further down the search path")
    raise _NoParent(*_nowhere(name, places))


def _by_path(name: str | Path) -> Found:
    path = Path(name).expanduser()
    if not path.is_file():
        raise PolicyError([Problem(shown_path(path), "", "there is no such file")])
    return Found(path, shown_path(path))


def _by_name(name: str, places: tuple[Place, ...]) -> Found:
    found = next(candidates(name, places), None)
    if found is None:
        raise PolicyError([Problem(name, "", *_nowhere(name, places))])
    return found


def _nowhere(name: str, places: tuple[Place, ...]) -> tuple[str, str]:
    looked = ", ".join(place.label if place.exists else f"{place.label} (does not exist)" for place in places)
    return f"there is no policy {name!r}; looked in {looked}", did_you_mean(name, policy_names(places))


def _read(found: Found) -> Document:
    try:
        text = found.path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return Document(None, (Problem(found.label, "", f"the file cannot be read: {error}"),))
    return read_yaml(text, found.label)
