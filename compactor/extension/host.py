"""The host: registers extensions and gives out what they provide. The one module that talks to pluggy."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pluggy
from pydantic import BaseModel, ValidationError

from compactor.errors import PluginError, Problem
from compactor.extension import hookspecs
from compactor.extension.hookspecs import CounterFactory, FormatFactory, SummarizerFactory
from compactor.extension.protocols import Counter, Format, Pruner, Summarizer
from compactor.policy.draft import Draft
from compactor.policy.models import Policy
from compactor.policy.wording import did_you_mean, listed


class Host:
    """Everything that the registered extensions provide, by the names that policies use."""

    def __init__(self, extensions: Iterable[tuple[str, object]]) -> None:
        """``extensions`` are names and the objects with the hook implementations; earlier ones come first."""
        manager = pluggy.PluginManager(hookspecs.PROJECT)
        manager.add_hookspecs(hookspecs)
        for name, extension in extensions:
            manager.register(extension, name)
        self._counters: Mapping[str, CounterFactory] = _collected(manager.hook.register_counters)
        self._pruners: Mapping[str, type[BaseModel]] = _collected(manager.hook.register_pruners)
        self._summarizers: Mapping[str, SummarizerFactory] = _collected(manager.hook.register_summarizers)
        self._formats: Mapping[str, FormatFactory] = _collected(manager.hook.register_formats)

    def counter(self, name: str, model: str | None) -> Counter:
        """The counter of that name for a model."""
        return self._counters[name](model)

    def formats(self) -> tuple[Format, ...]:
        """Every format, in the order in which they are tried."""
        return tuple(make() for make in self._formats.values())

    def pruners(self, policy: Policy) -> tuple[Pruner, ...]:
        """The pruners of a policy, with their options."""
        made = []
        for entry in policy.pruning:
            pruner = self._pruners[entry.use].model_validate(entry.options)
            if not isinstance(pruner, Pruner):
                raise PluginError(f"pruner {entry.use!r} has no method 'prune'")
            made.append(pruner)
        return tuple(made)

    def summarizers(self, policy: Policy) -> tuple[tuple[str, Summarizer], ...]:
        """The policy's chain of summarisers: names and summarisers, in the order in which they are asked."""
        return tuple((name, self._summarizers[name](policy.summary)) for name in policy.summary.summarizers)

    def problems(self, draft: Draft) -> Iterator[Problem]:
        """What a policy asks for that no extension provides, and options that a pruner does not take."""
        data = draft.data
        counter = data.get("counter")
        if isinstance(counter, str) and counter not in self._counters:
            yield _unknown(draft, ("counter",), "counter", counter, self._counters)
        chain = _list(_mapping(data.get("summary")).get("summarizers"))
        for place, name in enumerate(chain):
            if isinstance(name, str) and name not in self._summarizers:
                yield _unknown(draft, ("summary", "summarizers", place), "summarizer", name, self._summarizers)
        for place, entry in enumerate(_list(data.get("pruning"))):
            name = _mapping(entry).get("use")
            if isinstance(name, str) and name not in self._pruners:
                yield _unknown(draft, ("pruning", place, "use"), "pruner", name, self._pruners)
            elif isinstance(name, str):
                yield from _option_problems(draft, place, self._pruners[name], entry)


def _collected(hook: Any) -> dict[str, Any]:
    """What all implementations of a ``register_*`` hook return, in the order of registration."""
    found: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for implementation in hook.get_hookimpls():
        for name, made in implementation.function().items():
            if name in found:
                raise PluginError(
                    f"{hook.name}: the name {name!r} is provided by {origin[name]!r} and by "
                    f"{implementation.plugin_name!r}; leave one of the two out"
                )
            found[name] = made
            origin[name] = implementation.plugin_name
    return found


def _option_problems(draft: Draft, place: int, pruner: type[BaseModel], entry: Mapping[str, Any]) -> Iterator[Problem]:
    options = {key: value for key, value in entry.items() if key != "use"}
    try:
        pruner.model_validate(options)
    except ValidationError as error:
        for found in error.errors():
            key = ("pruning", place, *found["loc"])
            if found["type"] == "extra_forbidden":
                known = list(pruner.model_fields)
                hint = did_you_mean(str(found["loc"][-1]), known) or f"options are {listed(known)}"
                yield draft.problem(key, "unknown option", hint, at_key=True)
            else:
                yield draft.problem(key, found["msg"][:1].lower() + found["msg"][1:])


def _unknown(draft: Draft, key: tuple[str | int, ...], kind: str, name: str, known: Iterable[str]) -> Problem:
    return draft.problem(key, f"unknown {kind} {name!r}; there are {listed(known)}", did_you_mean(name, known))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()
