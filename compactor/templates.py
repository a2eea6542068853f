"""Prompt templates: sandboxed Jinja, found along a search path, checked before they are used.

What a template renders is data, never a template: text from a conversation stays literal, whatever it contains.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactor.errors import PromptError
from compactor.policy.search import Found, Place, search_places, shown_path
from compactor.policy.wording import did_you_mean

if TYPE_CHECKING:
    from jinja2 import BaseLoader
    from jinja2.sandbox import SandboxedEnvironment

MAX_OUTPUT = 50_000_000
"""Characters that a template may render before it is stopped: no prompt is that long, but a wrong loop is."""

_SECTIONS = "the policy's sections; each has id, title, first, update, parts"
_PROMPT: Mapping[str, str] = {
    "transcript": "the folded turns, as the transcript template rendered them",
    "fence": "a short word that occurs in none of the quoted texts; put it into the tags around them",
    "sections": _SECTIONS,
    "budget_tokens": "the size to aim at, in tokens",
    "focus": "what the caller asked to keep in mind, or None",
    "memory": "what memory plugins remember, or None",
}
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "first": _PROMPT,
    "update": {**_PROMPT, "previous_summary": "the summary to be updated"},
    "transcript": {
        "turns": "the folded messages; each has role, text, calls (name, arguments) and call_id",
        "limits": "the policy's summary.input: tool_result and tool_arguments, for the filter `shorten`",
    },
    "system_note": {"count": "which compaction of the conversation this is, from 1"},
    "frame": {
        "summary": "the summary",
        "count": "which compaction of the conversation this is, from 1",
        "anchored": "true when a user request that stands after the summary was worked on before it",
        "state": "what state plugins restate (a to-do list, open files), or None",
        "recall": "the name of the tool that finds again what was folded, or None",
    },
    "unavailable": {
        "turns": "how many messages went unsummarised",
        "summary": "the summary that existed before, or None",
        "count": "which compaction of the conversation this is, from 1",
        "anchored": "true when a user request that stands after the note was worked on before it",
        "state": "what state plugins restate (a to-do list, open files), or None",
        "recall": "the name of the tool that finds again what was removed, or None",
    },
}
"""The variables of each kind of template, by the policy key that names it."""


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A template; ``path`` is the file as shown to people, ``own`` the file where it is the user's own."""

    name: str
    path: str
    source: str
    own: Path | None = None


class Templates:
    """The templates that a policy may name.

    A name that starts with ``.`` or ``/`` is a path, relative to ``base`` (the policy's folder). Others are
    looked for in ``$COMPACTOR_PROMPT_PATH``, ``./prompts``, the user's config folder, and among the shipped ones;
    ``builtin/`` in front of a name means the shipped one.
    """

    def __init__(self, base: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._base = base or Path()
        self._places = search_places("prompts", os.environ if environ is None else environ)

    def find(self, name: str) -> TemplateFile:
        """The file behind a name. Raises ``PromptError`` that lists every place looked at."""
        found = self._found(name)
        if found is None:
            hint = did_you_mean(name, [template.name for template in self.all()])
            looked = shown_path(self._base / name) if _is_path(name) else ", ".join(self.places)
            raise PromptError(f"template {name!r} not found; looked in {looked}{hint and f' ({hint})'}")
        try:
            return TemplateFile(name, found.label, found.path.read_text("utf-8"), found.own)
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"{found.label}: cannot be read: {error}") from None

    @property
    def places(self) -> tuple[str, ...]:
        """Where templates are looked for by name, in order, as shown to people."""
        return tuple(place.label for place in self._places)

    def all(self) -> tuple[TemplateFile, ...]:
        """Every template on the search path, those in front hiding those behind; parts (``_x.j2``) left out."""
        names = {name for place in self._places for name in _names(place)}
        return tuple(self.find(name) for name in sorted(names))

    def check(self, name: str, known: Mapping[str, str]) -> None:
        """Raises ``PromptError`` for a template that is missing, does not parse, or uses an unknown variable."""
        names, checked = [name], set()
        while names:
            template = self.find(names.pop())
            if template.path in checked:
                continue
            checked.add(template.path)
            contents = _inspect(template.source)
            if contents.error:
                raise PromptError(f"{template.path}:{contents.error}")
            for variable, line in contents.variables:
                if variable not in known:
                    near = did_you_mean(variable, known)
                    raise PromptError(
                        f"{template.path}:{line}: unknown variable {variable!r}"
                        f"{near and f' ({near})'}; this template may use {', '.join(sorted(known))}"
                    )
            names.extend(contents.templates)

    def render(self, name: str, variables: Mapping[str, Any]) -> str:
        """The text of a template. Raises ``PromptError`` when it fails or grows past ``MAX_OUTPUT``."""
        pieces: list[str] = []
        size = 0
        try:
            for piece in self._jinja.get_template(name).generate(variables):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_OUTPUT:
                    raise PromptError(f"template {name!r} rendered more than {MAX_OUTPUT:,} characters")
        except PromptError:
            raise
        except Exception as error:  # whatever an expression of a user's template may raise
            raise PromptError(f"template {name!r}: {type(error).__name__}: {error}") from error
        return "".join(pieces)

    def _found(self, name: str) -> Found | None:
        if _is_path(name):
            path = self._base / name
            return Found(path, shown_path(path)) if path.is_file() else None
        shipped_only = name.startswith("builtin/")
        places = self._places[-1:] if shipped_only else self._places
        wanted = name.removeprefix("builtin/")
        return next((found for place in places if (found := place.file(wanted))), None)

    @cached_property
    def _jinja(self) -> "SandboxedEnvironment":
        from jinja2 import FunctionLoader

        def load(name: str) -> tuple[str, str, None]:
            template = self.find(name)
            return template.source, template.path, None

        return _environment(FunctionLoader(load))


def render_text(source: str, variables: Mapping[str, Any]) -> str:
    """A template that stands in the policy itself. Raises ``PromptError``."""
    try:
        return _environment(None).from_string(source).render(variables)
    except Exception as error:
        raise PromptError(f"template {source!r}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Contents:
    """What a template refers to: variables with the line they stand in, other templates; or why it is none."""

    variables: tuple[tuple[str, int], ...] = ()
    templates: tuple[str, ...] = ()
    error: str = ""


@lru_cache(maxsize=256)
def _inspect(source: str) -> _Contents:
    from jinja2 import TemplateSyntaxError, meta, nodes

    try:
        tree = _environment(None).parse(source)
        undeclared = meta.find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        return _Contents(error=f"{error.lineno}: {error.message}")
    names = [(node.name, node.lineno) for node in tree.find_all(nodes.Name) if node.name in undeclared]
    return _Contents(tuple(names), tuple(name for name in meta.find_referenced_templates(tree) if name))


def _environment(loader: "BaseLoader | None") -> "SandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["shorten"] = shorten
    return environment


def _is_path(name: str) -> bool:
    return name.startswith((".", "/"))


def _names(place: Place) -> Iterator[str]:
    """The templates below a place, by their names: files in it and in its folders."""
    if not place.exists:
        return
    for entry in place.directory.iterdir():
        inner = entry.iterdir() if entry.is_dir() else ()
        yield from (f"{entry.name}/{file.name}" for file in inner if _is_template(file.name))
        if _is_template(entry.name):
            yield entry.name


def _is_template(name: str) -> bool:
    return name.endswith(".j2") and not name.startswith("_")


def shorten(text: str, limits: Any, marker: str) -> str:
    """Template filter: a text over ``limits.limit`` characters keeps its head, the marker and its tail.

    ``limits`` is an entry of the policy's ``summary.input``. Cuts fall on code points.
    """
    if len(text) <= limits.limit:
        return text
    tail = getattr(limits, "tail", 0)
    return text[: limits.head] + marker + (text[-tail:] if tail else "")
