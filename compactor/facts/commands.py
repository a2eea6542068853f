"""Shell commands in tool-call arguments: the command itself, its program, whether it only looks."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from compactor.facts.paths import is_path

_KEYS = ("command", "cmd", "script", "bash_command", "shell_command", "commands")
_SHELL = re.compile(r"^(?:/\S*/)?(?:ba|z|da|k)?sh$")
_SEPARATOR = re.compile(r"&&|\|\||;|\n")
_ASSIGNMENT = re.compile(r"^\w+=\S*$")
_SUBCOMMAND = re.compile(r"^[a-z][a-z:-]*$")
_REDIRECTED = re.compile(r">(?<![0-9&]>)>?\s*(?!/dev/null|&|>)\S")
_EDITED = re.compile(r"\bsed\s+(?:-\w+\s+)*-i")
_CHECKING = re.compile(
    r"\b(?:test|tests|pytest|unittest|jest|vitest|mocha|rspec|phpunit|tox|nox|check|lint|ruff|mypy|pyright|flake8|pylint"
    r"|eslint|tsc|clippy|vet|build|make|mvn|gradle|verify)\b|lint"
)
_LONGEST = 2000  # code points of a command that are looked at

# Steps of a command line that prepare the one that matters.
_PREPARING = frozenset({"cd", "export", "echo", "source", ".", "set", "sleep", "true", "mkdir", "pushd", "popd"})
_LOOKING = frozenset(
    {"ls", "cat", "head", "tail", "grep", "egrep", "rg", "ag", "find", "fd", "sed", "awk", "wc", "pwd", "tree", "stat"}
    | {"file", "which", "nl", "jq", "less", "more", "du", "df", "env", "type", "diff", "cut", "sort"}
)
_LOOKING_GIT = frozenset(
    {"status", "log", "diff", "show", "blame", "branch", "rev-parse", "ls-files", "grep", "remote"}
)
_WITH_SUBCOMMAND = frozenset(
    {"git", "go", "npm", "npx", "pnpm", "yarn", "uv", "cargo", "docker", "make", "poetry", "mise", "just", "task"}
    | {"kubectl", "pip", "pip3", "gh", "hatch", "tox", "nox", "dotnet", "mvn", "gradle", "bundle"}
)
_WITH_VALUE = frozenset({"-C", "-c", "--prefix", "--cwd", "--directory"})  # flags whose value is no subcommand


class Command(NamedTuple):
    """What a command line does.

    ``program`` is what it runs without flags and files ("git commit", "go test", "pytest"; "" for nothing): two
    runs of the same are taken for two tries of one thing; of several that is the last one that checks, else the last.
    ``looks`` says that it only reads: every step looks or
    prepares, and nothing is redirected into a file; ``paths`` are the files that such a command names.
    """

    program: str
    looks: bool
    paths: tuple[str, ...] = ()


def command_of(arguments: Mapping[str, object]) -> str:
    """The shell command among a call's arguments, "" where there is none. A list is joined; ``sh -c`` is taken off."""
    for key in _KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            if value := value.strip():
                return value
        elif isinstance(value, (list, tuple)) and value:
            return _joined([str(word) for word in value])
    return ""


def _joined(words: list[str]) -> str:
    if len(words) == 3 and _SHELL.match(words[0]) and words[1].startswith("-"):
        return words[2].strip()
    return " ".join(words).strip()


def read_command(command: str) -> Command:
    """What ``command`` does, told from its first ``_LONGEST`` code points."""
    command = command[:_LONGEST]
    steps = [words for step in _SEPARATOR.split(command) if (words := _words(step))]
    acting = [words for words in steps if words[0] not in _PREPARING]
    program = _aim([_program(words) for words in acting])
    if not all(map(_looks, acting)) or _writes(command):
        return Command(program, False)
    return Command(program, True, _paths(acting))


def _aim(programs: list[str]) -> str:
    """What a line of commands is for: the last that checks, for setting aside and tidying up stand around it."""
    if len(programs) > 1:
        return next((program for program in reversed(programs) if checks(program)), programs[-1])
    return programs[0] if programs else ""


def checks(program: str) -> bool:
    """Whether ``program`` (that of a ``Command``) tests, checks or builds, so that what it prints is a verdict."""
    return _CHECKING.search(program) is not None


def _words(step: str) -> list[str]:
    """The words of a step up to its first pipe, settings of variables left out."""
    words = step.split("|", 1)[0].split()
    while words and "=" in words[0] and _ASSIGNMENT.match(words[0]):
        del words[0]
    return words


def _program(words: list[str]) -> str:
    program = words[0].rsplit("/", 1)[-1]
    if program in _WITH_SUBCOMMAND:
        named = [word for flag, word in pairwise(words[:5]) if _SUBCOMMAND.match(word) and flag not in _WITH_VALUE]
        wanted = 2 if named[:1] in (["run"], ["exec"]) else 1
        return " ".join([program, *named[:wanted]])
    if program.startswith("python") and len(words) > 2 and words[1] == "-m":
        return words[2]
    if program in ("timeout", "sudo", "time", "env") and len(words) > 2:
        return _program(words[2:] if words[1][:1].isdigit() else words[1:])
    return program


def _looks(words: list[str]) -> bool:
    program = words[0].rsplit("/", 1)[-1]
    return program in _LOOKING or (program == "git" and any(word in _LOOKING_GIT for word in words[1:4]))


def _writes(command: str) -> bool:
    """Whether a command of looking programs writes nevertheless."""
    redirected = ">" in command and _REDIRECTED.search(command)
    return bool(redirected or ("sed" in command and _EDITED.search(command)))


def _paths(steps: list[list[str]], most: int = 4) -> tuple[str, ...]:
    """The files that the words of ``steps`` name, in order, each once, at most ``most``."""
    found: dict[str, None] = {}
    for words in steps:
        for word in words[1:40]:
            if ("/" in word or "." in word) and word[0] != "-" and is_path(word := word.strip("\"'();,")):
                found[word] = None
    return tuple(found)[:most]
