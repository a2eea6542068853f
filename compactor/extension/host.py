"""The host: registers plugins and gives out what they provide. The one module that talks to pluggy."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pluggy
from pydantic import BaseModel, ValidationError

from compactor.errors import CompactorError, PluginError, Problem
from compactor.extension import hookspecs
from compactor.extension.functions import as_summarizer
from compactor.extension.guards import GuardedCounter, GuardedPruner, GuardedRedactor, GuardedSummarizer
from compactor.extension.hookspecs import CounterFactory, FormatFactory, RedactorFactory, SummarizerFactory
from compactor.extension.isolation import Hook, described
from compactor.extension.protocols import Counter, Format, Pruner, Redactor, Summarizer
from compactor.policy.draft import Draft
from compactor.policy.models import PluginUse, Policy, Use
from compactor.policy.wording import Key, did_you_mean, listed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Extension:
    """A plugin that is to be registered: ``code`` has the hooks, ``use`` is the policy's entry, None for built in ones.

    ``origin`` says where it comes from, for people.
    """

    name: str
    code: object
    origin: str
    use: PluginUse | None = None

    def __str__(self) -> str:
        return f"plugin {self.name!r} ({self.origin})"


def hook_names() -> tuple[str, ...]:
    """All hooks that a plugin may implement."""
    return tuple(name for name in vars(hookspecs) if name.startswith(("register_", "on_", "provide_")))


def implemented(code: object) -> tuple[str, ...]:
    """The names of what is marked as a hook in a module, a class or an object, known hooks or not."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    return tuple(name for name in dir(code) if manager.parse_hookimpl_opts(code, name) is not None)


class Host:
    """Everything that the registered plugins provide, by the names that policies use."""

    def __init__(self, extensions: Iterable[Extension]) -> None:
        """The order is the one in which hooks are called.

        Raises ``PluginError`` for a hook that does not exist or has other arguments, and for a name that two provide.
        """
        self._extensions = {extension.name: extension for extension in extensions}
        self._owners: dict[tuple[str, str], Extension] = {}
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        for extension in self._extensions.values():
            self._register(extension)
        hook = self._manager.hook
        self._counters: Mapping[str, CounterFactory] = self._collected(hook.register_counters)
        self._pruners: Mapping[str, type[BaseModel]] = self._collected(hook.register_pruners)
        self._summarizers: Mapping[str, SummarizerFactory] = self._collected(hook.register_summarizers)
        self._formats: Mapping[str, FormatFactory] = self._collected(hook.register_formats)
        self._redactors: Mapping[str, RedactorFactory] = self._collected(hook.register_redactors)

    def hooks(self, name: str) -> tuple[Hook, ...]:
        """The implementations of a life-cycle hook, in the order of the policy's list."""
        found = []
        for implementation in getattr(self._manager.hook, name).get_hookimpls():
            plugin = implementation.plugin_name
            use = self._extensions[plugin].use or PluginUse(use=plugin)
            found.append(Hook(plugin, name, implementation.function, use.deadline, use.max_tokens, use.required))
        return tuple(found)

    def redactors(self, policy: Policy) -> tuple[Redactor, ...]:
        """The redactors of plugins that a policy names."""
        return tuple(
            GuardedRedactor(name, _made(f"redactor {name!r}", self._redactors[name], Redactor))
            for name in policy.redaction.redactors
        )

    def counter(self, name: str, model: str | None) -> Counter:
        """The counter of that name for a model."""
        made = _made(f"counter {name!r}", lambda: self._counters[name](model), Counter)
        return made if self._is_builtin("register_counters", name) else GuardedCounter(name, made)

    def formats(self) -> tuple[Format, ...]:
        """Every format, in the order in which they are tried."""
        return tuple(_made(f"format {name!r}", make, Format) for name, make in self._formats.items())

    def pruners(self, entries: Iterable[Use]) -> tuple[Pruner, ...]:
        """The pruners of these entries of a policy, with their options."""
        made: list[Pruner] = []
        for entry in entries:
            pruner = self._pruners[entry.use].model_validate(entry.options)
            if not isinstance(pruner, Pruner):
                raise PluginError(f"pruner {entry.use!r} has no method 'prune'")
            builtin = self._is_builtin("register_pruners", entry.use)
            made.append(pruner if builtin else GuardedPruner(entry.use, pruner))
        return tuple(made)

    def summarizers(self, policy: Policy) -> tuple[tuple[str, Summarizer], ...]:
        """The policy's chain of summarisers: names and summarisers, in the order in which they are asked."""

        def made(name: str) -> Summarizer:
            what = f"summarizer {name!r}"
            summarizer = as_summarizer(_made(what, lambda: self._summarizers[name](policy.summary), object))
            if self._is_builtin("register_summarizers", name):
                return summarizer
            return GuardedSummarizer(name, summarizer, policy.summary.timeout)

        return tuple((name, made(name)) for name in policy.summary.summarizers)

    def _is_builtin(self, hook: str, name: str) -> bool:
        """Whether it is the core itself that provides this name: what is ours needs no guard."""
        owner = self._owners.get((hook, name))
        return owner is not None and owner.use is None

    def _register(self, extension: Extension) -> None:
        known = hook_names()
        found = implemented(extension.code)
        for name in found:
            if name not in known:
                hint = did_you_mean(name, known)
                raise PluginError(f"{extension}: there is no hook {name!r}{hint and f' ({hint})'}")
        if not found:
            raise PluginError(
                f"{extension} implements no hook; mark its functions with "
                f"@compactor.hookimpl, there are {listed(known)}"
            )
        try:
            self._manager.register(extension.code, extension.name)
        except pluggy.PluginValidationError as error:
            reason = str(error).strip().splitlines()
            raise PluginError(f"{extension}: {'; '.join(reason)}") from error
        except ValueError as error:
            raise PluginError(f"{extension} is the same code as another plugin of the policy") from error
        for name in found:
            hook = getattr(self._manager.hook, name)
            for implementation in hook.get_hookimpls():
                # pluggy would call a function with fewer arguments; it is called with the event here.
                if implementation.plugin_name == extension.name and implementation.argnames != hook.spec.argnames:
                    right = f"{name}({', '.join(hook.spec.argnames)})"
                    raise PluginError(f"{extension}: {name} has the wrong arguments: it has to be {right}")

    def _collected(self, hook: Any) -> dict[str, Any]:
        """What all implementations of a ``register_*`` hook return, in the order of registration."""
        found: dict[str, Any] = {}
        for implementation in hook.get_hookimpls():
            extension = self._extensions[implementation.plugin_name]
            for name, made in self._registered(extension, implementation.function).items():
                if name in found:
                    first = self._owners[hook.name, name]
                    raise PluginError(
                        f"{hook.name}: the name {name!r} is provided by {first.name!r} ({first.origin}) and by "
                        f"{extension.name!r} ({extension.origin}); leave one of the two out"
                    )
                found[name] = made
                self._owners[hook.name, name] = extension
        return found

    @staticmethod
    def _registered(extension: Extension, function: Callable[[], Any]) -> Mapping[str, Any]:
        try:
            made = function()
            if not isinstance(made, Mapping):
                raise TypeError(f"it registers {described(made)}, not a mapping of names")
            made = dict(made)
            for name, thing in made.items():
                if not isinstance(name, str) or not callable(thing):
                    raise TypeError(f"it registers {described(name)}: {described(thing)}, which makes nothing")
                if function.__name__ == "register_pruners" and not _is_model(thing):
                    raise TypeError(f"it registers {name!r} as a pruner, which is no pydantic model with 'prune'")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise PluginError(f"{extension}: {type(error).__name__}: {described(error)}") from error
        return made

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
        yield from self._pruning_problems(draft, ("pruning",), data.get("pruning"))
        for place, trigger in enumerate(_list(data.get("triggers"))):
            yield from self._pruning_problems(draft, ("triggers", place, "prune"), _mapping(trigger).get("prune"))
        for place, name in enumerate(_list(_mapping(data.get("redaction")).get("redactors"))):
            if isinstance(name, str) and name not in self._redactors:
                yield _unknown(draft, ("redaction", "redactors", place), "redactor", name, self._redactors)

    def _pruning_problems(self, draft: Draft, key: Key, entries: Any) -> Iterator[Problem]:
        for place, entry in enumerate(_list(entries)):
            by_name = isinstance(entry, str)
            name = entry if by_name else _mapping(entry).get("use")
            if isinstance(name, str) and name not in self._pruners:
                at = (*key, place) if by_name else (*key, place, "use")
                yield _unknown(draft, at, "pruner", name, self._pruners)
            elif isinstance(name, str):
                options = {option: value for option, value in _mapping(entry).items() if option != "use"}
                try:
                    self._pruners[name].model_validate(options)
                except ValidationError as error:
                    yield from option_problems(draft, (*key, place), self._pruners[name], error)


def _is_model(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseModel) and hasattr(thing, "prune")


def _made(what: str, make: Callable[[], T], kind: type[Any]) -> T:
    try:
        made = make()
    except (CompactorError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginError(f"{what} cannot be made: {type(error).__name__}: {described(error)}") from error
    if not isinstance(made, kind):
        raise PluginError(f"{what} is {described(made)}, which is none")
    return made


def option_problems(
    draft: Draft, key: tuple[str | int, ...], model: type[BaseModel] | None, error: ValidationError
) -> Iterator[Problem]:
    """What is wrong with the options under ``key``, of which an extension's ``model`` made the error."""
    for found in error.errors():
        at = (*key, *found["loc"])
        if found["type"] == "extra_forbidden":
            known = list(model.model_fields) if model is not None and len(found["loc"]) == 1 else []
            hint = did_you_mean(str(found["loc"][-1]), known) or (f"options are {listed(known)}" if known else "")
            yield draft.problem(at, "unknown option", hint, at_key=True)
        else:
            yield draft.problem(at, found["msg"][:1].lower() + found["msg"][1:])


def _unknown(draft: Draft, key: tuple[str | int, ...], kind: str, name: str, known: Iterable[str]) -> Problem:
    return draft.problem(key, f"unknown {kind} {name!r}; there are {listed(known)}", did_you_mean(name, known))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()
