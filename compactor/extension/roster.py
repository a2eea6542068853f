"""The plugins of a policy: found, made with their config, and put into a host."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from compactor.errors import PluginError, Problem
from compactor.extension.host import Extension, Host, option_problems
from compactor.extension.loading import find_plugin, installed, is_file
from compactor.policy.draft import Draft
from compactor.policy.models import PluginUse
from compactor.policy.plugins import PluginEntry
from compactor.policy.search import is_path
from compactor.policy.wording import did_you_mean, listed

_ENTRY: TypeAdapter[PluginUse] = TypeAdapter(PluginEntry)


class Roster:
    """Makes hosts for policies; a plugin with the same config is made once.

    ``builtin`` is registered first in every host; plugins whose names are in ``disabled`` are left out.
    """

    def __init__(self, builtin: Extension, disabled: frozenset[str] = frozenset()) -> None:
        self._builtin = builtin
        self._disabled = disabled
        self._made: dict[str, Extension] = {}

    def host(self, draft: Draft) -> Host:
        """The host for a policy's merged data, which is valid. Raises ``PluginError``, or pydantic's error."""
        return Host([self._builtin, *(self._extension(use, folder) for _, use, folder in self._entries(draft))])

    def problems(self, draft: Draft) -> Iterator[Problem]:
        """What is wrong with the plugins that a policy lists, and with what it wants of all plugins."""
        good = [self._builtin]
        for place, use, folder in self._entries(draft):
            key = ("plugins", place)
            try:
                extension = self._extension(use, folder)
                same = next((known for known in good if known.name == extension.name), None)
                if same is not None:
                    message = f"the plugin {extension.name!r} is listed twice"
                    if same.origin != extension.origin:
                        message = f"the name {extension.name!r} of {extension.origin} is taken by {same.origin}"
                    yield draft.problem(key, message)
                    continue
                Host([*good, extension])
                good.append(extension)
            except ValidationError as error:
                model = find_plugin(use.use, folder).config_model
                yield from option_problems(draft, (*key, "config"), model, error)
            except PluginError as error:
                yield draft.problem(key, str(error), _hint(use.use) if "no plugin" in str(error) else "")
        yield from Host(good).problems(draft)

    def _entries(self, draft: Draft) -> Iterator[tuple[int, PluginUse, Path | None]]:
        """The entries that can be read, without the disabled ones; the models tell what is wrong with the others."""
        entries = draft.data.get("plugins")
        for place, entry in enumerate(entries if isinstance(entries, (list, tuple)) else ()):
            try:
                use = _ENTRY.validate_python(entry)
            except ValidationError:
                continue
            if not self._disabled & {use.use, Path(use.use).stem}:
                yield place, use, draft.folder(("plugins", place))

    def _extension(self, use: PluginUse, folder: Path | None) -> Extension:
        source = find_plugin(use.use, folder)
        key = json.dumps([source.name, source.origin, id(source.code), use.model_dump()], default=str, sort_keys=True)
        if key not in self._made:
            self._made[key] = Extension(source.name, source.make(use.config), source.origin, use)
        return self._made[key]


def _hint(name: str) -> str:
    """What may have been meant by the name of a plugin that is not installed."""
    if is_file(name):
        return ""
    if is_path(name):
        return f"a file is named with its suffix: {name}.py"
    names = sorted(installed())
    return did_you_mean(name, names) or f"installed are {listed(names)}"


def disabled_plugins(environ: Mapping[str, str]) -> frozenset[str]:
    """The names in ``$COMPACTOR_DISABLED_PLUGINS``, separated by commas."""
    names: Sequence[Any] = environ.get("COMPACTOR_DISABLED_PLUGINS", "").split(",")
    return frozenset(name.strip() for name in names if name.strip())
