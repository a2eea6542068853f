"""What there is to say about plugins: one row each for the list, a page for a single one."""

import inspect
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from compactor.errors import PluginError
from compactor.extension import hookspecs
from compactor.extension.host import hook_names, implemented
from compactor.extension.loading import PluginSource, find_plugin, installed, is_file
from compactor.extension.roster import disabled_plugins
from compactor.policy.draft import Draft
from compactor.policy.loader import load_policy
from compactor.policy.models import PluginUse
from compactor.policy.search import is_path
from compactor.policy.wording import did_you_mean, listed

Setting = tuple[str, str, str, str]
"""Key, type, default and description."""


@dataclass(frozen=True, slots=True)
class Page:
    """A plugin for people: ``text`` is its docstring; hooks with their purpose; settings as rows of a table.

    ``pruners`` are those that it registers, by name, with their options. ``used`` is what the policy says of it, None
    where no policy was asked for.
    """

    name: str
    origin: str
    text: tuple[str, ...]
    hooks: tuple[tuple[str, str], ...]
    settings: tuple[Setting, ...]
    pruners: tuple[tuple[str, tuple[Setting, ...]], ...] = ()
    used: str | None = None


def rows_of(policy: str) -> Iterator[tuple[str, str, str, str]]:
    """Name, origin, hooks, and place in the policy's list, of every installed plugin and of the policy's files.

    Raises ``PolicyError`` for a policy that cannot be loaded.
    """
    loaded = load_policy(policy)
    used = [use.use for use in loaded.policy.plugins]
    off = disabled_plugins(os.environ)
    for name in (*sorted(installed()), *(name for name in used if is_file(name))):
        place = used.index(name) if name in used else None
        folder = None if place is None else Draft(loaded.tree).folder(("plugins", place))
        listed_as = "" if place is None else f"yes ({place + 1})"
        state = "disabled" if off & {name, Path(name).stem} else listed_as
        try:
            source = find_plugin(name, folder)
        except PluginError as error:
            yield name, str(error), "", state
        else:
            yield source.name, source.origin, ", ".join(implemented(source.code)) or "(none)", state


def page_of(name: str, policy: str | None = None) -> Page:
    """The page of an installed plugin or of a file, relative to the working directory.

    With a policy, it may also be the name of one of the policy's files. Raises ``PluginError`` and ``PolicyError``.
    """
    use, folder = (None, None) if policy is None else _use(name, policy)
    try:
        source = find_plugin(name if use is None else use.use, Path() if use is None else folder)
    except PluginError as error:
        names = sorted(installed())
        hint = "" if is_file(name) else did_you_mean(name, names) or f"installed are {listed(names)}"
        if is_path(name) and not is_file(name):
            hint = f"a file is named with its suffix: {name}.py"
        missing = hint and name not in names
        raise PluginError(f"{error} ({hint})" if missing else str(error)) from None
    model = source.config_model
    known = hook_names()
    return Page(
        name=source.name,
        origin=source.origin,
        text=_text(source),
        hooks=tuple((hook, _purpose(hook) if hook in known else "no such hook") for hook in implemented(source.code)),
        settings=_settings(model),
        pruners=tuple(_pruners(source, {} if use is None else use.config)),
        used=None if policy is None else _said(use),
    )


def _use(name: str, policy: str) -> tuple[PluginUse | None, Path | None]:
    """The policy's entry of this name or file, and the folder that its file is relative to; None where it has none."""
    loaded = load_policy(policy)
    for place, use in enumerate(loaded.policy.plugins):
        if name in (use.use, Path(use.use).stem):
            return use, Draft(loaded.tree).folder(("plugins", place))
    return None, None


def _said(use: PluginUse | None) -> str:
    if use is None:
        return "not listed"
    return ", ".join(f"{key}: {value}" for key, value in use.model_dump(mode="json", exclude={"use"}).items())


def _pruners(source: PluginSource, config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Setting, ...]]]:
    """The pruners that a plugin registers; none where it cannot be made without a policy."""
    if "register_pruners" not in implemented(source.code):
        return
    try:
        found = dict(cast("Any", source.make(config)).register_pruners())
        yield from ((str(name), _settings(model)) for name, model in found.items())
    except Exception:  # a plugin may do anything here; what is wrong with it is told by ``plugins check``
        return


def _settings(model: type[BaseModel] | None) -> tuple[Setting, ...]:
    return () if model is None else tuple(_setting(key, field) for key, field in model.model_fields.items())


def _text(source: PluginSource) -> tuple[str, ...]:
    """The docstring of the class or else of its module."""
    text = inspect.getdoc(source.code) if not isinstance(source.code, type) else source.code.__doc__
    text = text or getattr(inspect.getmodule(source.code), "__doc__", None)
    return tuple(inspect.cleandoc(text).replace("``", "'").splitlines()) if text else ("(no description)",)


def _purpose(hook: str) -> str:
    return str(inspect.getdoc(getattr(hookspecs, hook))).splitlines()[0].replace("``", "'")


def _setting(key: str, field: FieldInfo) -> Setting:
    return key, _type(field.annotation), _default(field), (field.description or "").replace("``", "'")


def _type(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "(required)"
    try:
        value = field.get_default(call_default_factory=True, validated_data={})
    except Exception:  # a factory of the plugin's may do anything
        return "(computed)"
    if isinstance(value, Path):
        return str(value)
    return repr(value.model_dump() if isinstance(value, BaseModel) else value)
