"""Actions: what a tool call did, told from its name and arguments."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from compactor.facts.commands import command_of, read_command
from compactor.facts.paths import names_file, patched, path_argument
from compactor.facts.prose import clip
from compactor.facts.todos import todos

_EDITOR_VERBS = {
    "view": "read",
    "create": "created",
    "str_replace": "edited",
    "insert": "edited",
    "undo_edit": "edited",
}
_FILE_VERBS = (
    (re.compile(r"delete|remove|unlink", re.I), "deleted"),
    (re.compile(r"write|create|save", re.I), "wrote"),
    (re.compile(r"edit|replace|patch|update|insert|modif|append", re.I), "edited"),
)
# Names of tools that change something; all others are taken to look only.
_EFFECT = re.compile(
    r"(?:^|_)(?:add|apply|assign|book|buy|cancel|close|commit|copy|create|delete|deploy|edit|exchange|execute|insert"
    r"|install|merge|modify|move|open|order|patch|pay|post|publish|push|put|remove|rename|replace|reply|return|run"
    r"|save|send|set|start|stop|submit|transfer|update|upload|write)(?:$|_)"
    r"|^(?:Edit|Write|MultiEdit|NotebookEdit|Bash)"
    r"|(?:Create|Update|Write|Edit|Delete|Send|Cancel|Submit)(?:$|[A-Z])"
)
_LOOKING = re.compile(
    r"(?:get|list|find|search|read|fetch|look_?up|view|show|check|describe|query|browse)(?:_|[A-Z]|$)"
)
_FILE_TOOL = re.compile(r"file(?!s)|^Read$", re.I)  # names of tools that read no directories
_BOOKKEEPING = re.compile(r"todo|task|plan", re.I)  # an agent's own lists change nothing but the list
_NEW_TEXT = (
    *("new_string", "new_str", "content", "contents", "file_text"),
    *("new_text", "text", "diff", "patch", "new_source"),
)
_PATCH = 12_000  # code points of a patch that are read for what it adds
_ADDED = re.compile(r"^\+(?!\+\+)(.*)$", re.M)


class Action(NamedTuple):
    """What a call did. ``text`` says it on one line; ``subject`` is the program, path or tool that two tries share.

    ``effect`` is False for calls that only look; ``files`` are ``(path, what was done)``; ``written`` is the text
    that the call put into a file; ``todos`` are ``(item, status)`` of the list that it set.
    """

    text: str
    subject: str
    effect: bool
    files: tuple[tuple[str, str], ...] = ()
    written: str = ""
    todos: tuple[tuple[str, str], ...] = ()


def read_arguments(raw: object) -> Mapping[str, object]:
    """A call's arguments as a mapping; empty for anything that is not a JSON object (or one already)."""
    if not isinstance(raw, str):
        return {str(key): value for key, value in raw.items()} if isinstance(raw, Mapping) else {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def action_of(name: str, raw: object) -> Action:
    """What the call of the tool ``name`` with the arguments ``raw`` did, or tried to do."""
    arguments = read_arguments(raw)
    command = command_of(arguments)
    path = path_argument(arguments)
    text = raw if isinstance(raw, str) else ""
    if path and (command in _EDITOR_VERBS or not command):
        return _file_action(name, path, _EDITOR_VERBS.get(command, ""), arguments)
    if "*** " in text or not text:
        texts = (value for value in (command, *arguments.values(), text) if isinstance(value, str))
        patch = next((value for value in texts if "*** " in value), "")
        files = tuple(patched(patch))
        if files:
            return _patch_action(files, patch)
    if command:
        return _command_action(name, command)
    effect = bool(_EFFECT.search(name)) and not (_BOOKKEEPING.search(name) or _LOOKING.match(name))
    return Action(f"{name}({_brief(arguments, text)})", name, effect, todos=tuple(todos(arguments)))


def _file_action(name: str, path: str, verb: str, arguments: Mapping[str, object]) -> Action:
    verb = verb or next((verb for pattern, verb in _FILE_VERBS if pattern.search(name)), "read")
    if verb == "read":
        other = {key: value for key, value in arguments.items() if value not in (path, "view", "read")}
        detail = f" ({_brief(other, '')})" if other else ""
        files = ((path, "read"),) if names_file(path) or _FILE_TOOL.search(name) else ()
        return Action(f"read {path}{detail}", path, False, files)
    written = next((value for key in _NEW_TEXT if isinstance(value := arguments.get(key), str) and value.strip()), "")
    note = f": {clip(written, 260)}" if written else ""
    return Action(f"{verb} {path}{note}", path, True, ((path, verb),), written)


def _command_action(name: str, command: str) -> Action:
    text, (program, looks, paths) = f"`{clip(command, 300)}`", read_command(command)
    # A command that shows one file is a read of that file.
    subject = paths[0] if len(paths) == 1 else program or name
    return Action(text, subject, not looks, tuple((path, "read") for path in paths))


def _patch_action(files: tuple[tuple[str, str], ...], patch: str) -> Action:
    written = "\n".join(match.group(1) for match in _ADDED.finditer(patch[:_PATCH]))
    names = ", ".join(f"{verb} {path}" for path, verb in files[:6])
    note = f": {clip(written, 260)}" if written.strip() else ""
    return Action(f"{names}{note}", files[0][0], True, files, written)


def _brief(arguments: Mapping[str, object], text: str) -> str:
    """The arguments on one short line."""
    if not arguments:
        return clip(text, 160) if text.strip() not in ("", "{}", "null") else ""
    shown: list[str] = []
    size = 0
    for key, value in arguments.items():
        if value is not None and value != "" and size < 300:
            shown.append(f"{key}={clip(_told(value), 120)}")
            size += len(shown[-1])
    return clip(", ".join(shown), 300)


def _told(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=lambda _: "…")
    except (TypeError, ValueError, RecursionError):
        return "…"
