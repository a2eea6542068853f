"""Shell commands in tool-call arguments: the command itself, its program, whether it only looks."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

_KEYS = ("command", "cmd", "script", "bash_command", "shell_command", "commands")
_SHELL = re.compile(r"^(?:/\S*/)?(?:ba|z|da|k)?sh$")
_SEPARATOR = re.compile(r"&&|\|\||;|\n")
_REDIRECTED = re.compile(r">(?<![0-9&]>)>?\s*(?!/dev/null|&|>)\S")
_EDITED = re.compile(r"\bsed\s+(?:-\w+\s+)*-i")
_LONGEST = 2000  # code points of a command that are looked at
_ASSIGNMENT = re.compile(r"^\w+=\S*$")
_SUBCOMMAND = re.compile(r"^[a-z][a-z:-]*$")

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


def command_of(arguments: Mapping[str, object]) -> str:
    """The shell command among a call's arguments, "" where there is none. A list is joined; ``sh -c`` is taken off."""
    for key in _KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and value:
            return _joined([str(word) for word in value])
    return ""


def _joined(words: list[str]) -> str:
    if len(words) == 3 and _SHELL.match(words[0]) and words[1].startswith("-"):
        return words[2].strip()
    return " ".join(words).strip()


def program_of(command: str) -> str:
    """What ``command`` runs, without its flags and files: "git commit", "go test", "pytest". "" for nothing.

    Two runs of the same program are taken for two tries of the same thing.
    """
    for step in reversed(_SEPARATOR.split(command[:_LONGEST])):
        words = _words(step)
        if words and words[0] not in _PREPARING:
            return _program(words)
    return ""


def _program(words: list[str]) -> str:
    program = words[0].rsplit("/", 1)[-1]
    if program.startswith("python") and len(words) > 2 and words[1] == "-m":
        return words[2]
    if program in ("timeout", "sudo", "time", "env") and len(words) > 2:
        rest = words[2:] if words[1][:1].isdigit() else words[1:]
        return _program(rest)
    if program not in _WITH_SUBCOMMAND:
        return program
    named = [
        word
        for flag, word in pairwise(words[:5])
        if _SUBCOMMAND.match(word) and flag not in _WITH_VALUE
    ]
    wanted = 2 if named[:1] in (["run"], ["exec"]) else 1
    return " ".join([program, *named[:wanted]])


def looks_only(command: str) -> bool:
    """Whether ``command`` only reads: every step looks or prepares, and nothing is redirected into a file."""
    command = command[:_LONGEST]
    if (">" in command and _REDIRECTED.search(command)) or ("sed" in command and _EDITED.search(command)):
        return False
    return all(_looks(step) for step in _SEPARATOR.split(command))


def _looks(step: str) -> bool:
    words = _words(step)
    if not words or words[0] in _PREPARING:
        return True
    program = words[0].rsplit("/", 1)[-1]
    return program in _LOOKING or (program == "git" and any(word in _LOOKING_GIT for word in words[1:4]))


def _words(step: str) -> list[str]:
    """The words of a step up to its first pipe, settings of variables left out."""
    words = step.split("|", 1)[0].split()
    while words and "=" in words[0] and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    return words
