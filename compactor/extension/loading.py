"""Loading the plugins that a policy lists: entry points by name, local files by path. Nothing else is loaded."""

import hashlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ValidationError

from compactor.errors import PluginError

GROUP = "compactor.plugins"
"""The group of entry points that installed plugins stand in."""

PLUGIN_CLASS = "Plugin"
"""The class that a plugin's module may have instead of hooks of its own: made with its ``Config``."""


@dataclass(frozen=True, slots=True)
class PluginSource:
    """Where a plugin's code is: ``origin`` is its distribution or file, for people."""

    name: str
    origin: str
    code: Any

    @property
    def config_model(self) -> type[BaseModel] | None:
        """The pydantic model of its ``config``: a class ``Config`` in the plugin's class or module."""
        model = getattr(self.code, "Config", None)
        return model if isinstance(model, type) and issubclass(model, BaseModel) else None

    def make(self, config: Mapping[str, Any]) -> object:
        """The object with the hooks. Raises ``pydantic.ValidationError`` for a wrong config, else ``PluginError``."""
        model = self.config_model
        if model is None and config:
            raise PluginError(f"plugin {self.name!r} takes no config")
        try:
            values = () if model is None else (model.model_validate(config),)
            return self.code(*values) if isinstance(self.code, type) else self.code
        except ValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(f"plugin {self.name!r} cannot be made: {type(error).__name__}: {error}") from error


def installed() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Every installed plugin by name; more than one entry point is a clash that ``find_plugin`` refuses."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUP):
        if point not in found.get(point.name, ()):
            found[point.name] = (*found.get(point.name, ()), point)
    return found


def find_plugin(name: str, folder: Path | None) -> PluginSource:
    """The plugin that a policy means: a path ending in ``.py`` relative to ``folder``, or an installed one's name.

    ``folder`` is that of the policy's file, None for a policy that is not on disk, which may name no files.
    Raises ``PluginError``.
    """
    return _from_file(name, folder) if is_file(name) else _from_entry_point(name)


def is_file(name: str) -> bool:
    """Whether a plugin is named by its file."""
    return name.endswith(".py")


def _from_entry_point(name: str) -> PluginSource:
    points = installed().get(name, ())
    if not points:
        raise PluginError(f"no plugin {name!r} is installed")
    if len(points) > 1:
        origins = " and ".join(sorted(_origin(point) for point in points))
        raise PluginError(f"the name {name!r} is taken by two plugins, of {origins}; uninstall one of them")
    try:
        code = points[0].load()
    except (Exception, SystemExit) as error:
        raise PluginError(f"plugin {name!r} of {_origin(points[0])} cannot be imported: {error!r}") from error
    return PluginSource(name, _origin(points[0]), _with_class(code))


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _from_file(name: str, folder: Path | None) -> PluginSource:
    if folder is None:
        raise PluginError(f"{name!r} is a file, but the policy is not one: only a policy on disk may name plugin files")
    path = (folder / name).resolve()
    if not path.is_file():
        raise PluginError(f"there is no file {folder / name}")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise PluginError(f"{folder / name} cannot be read: {error.strerror}") from error
    return PluginSource(path.stem, str(folder / name), _with_class(_module(path, source)))


@cache
def _module(path: Path, source: bytes) -> ModuleType:
    """The module of a file, run once for each content of it: two edits may have the same time."""
    name = f"compactor_local_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise PluginError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pydantic look up a class's module when they read its annotations
    try:
        # Not by the loader: it would take code that was compiled before, and knows an edit by its time and size.
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise PluginError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    return module


def _with_class(code: Any) -> Any:
    """A module's class ``Plugin``, where it has one; the thing itself otherwise."""
    return getattr(code, PLUGIN_CLASS, code) if isinstance(code, ModuleType) else code
