"""A policy with everything that it names made ready: counter, pruners, summarisers, templates, limits."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from compactor import builtin
from compactor.assembly.frame import frame_static, frame_summary
from compactor.errors import Problem, PromptError
from compactor.extension.functions import Function, as_summarizer
from compactor.extension.host import Extension, Host
from compactor.extension.isolation import Hook
from compactor.extension.protocols import Counter, Format, Pruner, Redactor, Summarizer
from compactor.extension.roster import Roster, disabled_plugins
from compactor.planning.limits import Limits, derive_limits
from compactor.planning.trigger import Rule
from compactor.policy.draft import Draft
from compactor.policy.expressions import VARIABLES as CONDITION_VARIABLES
from compactor.policy.expressions import compile_condition
from compactor.policy.loader import LoadedPolicy, load_policy
from compactor.policy.models import Assembly, Policy, Section, SectionPart, amount_tokens
from compactor.policy.overrides import Override
from compactor.policy.summary import SummaryInput
from compactor.policy.triggers import Trigger
from compactor.redaction import PatternRedactor, read_patterns, shipped_patterns
from compactor.state import CompactionState
from compactor.summarizing.transcript import Call, Turn
from compactor.templates import VARIABLES as TEMPLATE_VARIABLES
from compactor.templates import Templates, render_text
from compactor.tokens.scaled import scale, scaled
from compactor.tokens.windows import Window, context_window

PolicySource = str | Path | Mapping[str, Any]
"""A policy's name, its file, or its content."""

LIFE_CYCLE = ("on_pre_compress", "provide_state", "on_post_compress", "on_compaction_failed")
"""The hooks that are called in the life of a conversation."""

_TEMPLATE_KEYS = {
    ("summary", "first"): "first",
    ("summary", "update"): "update",
    ("summary", "transcript"): "transcript",
    ("assembly", "system_note"): "system_note",
    ("assembly", "frame"): "frame",
    ("assembly", "unavailable"): "unavailable",
}


_SAMPLES: Mapping[str, Any] = {
    "transcript": "[USER]: Hello.",
    "fence": "0123456789ab",
    "sections": (Section(id="goal", title="Goal", parts=(SectionPart(id="done", title="Done"),)),),
    "budget_tokens": 2000,
    "focus": "the tests",
    "previous_summary": "## Goal",
    "memory": "The build needs JDK 21.",
    "turns": (Turn("assistant", "Hello.", (Call("run", "{}"),)), Turn("tool", "done", call_id="c1")),
    "limits": SummaryInput(),
    "count": 1,
}


@dataclass(frozen=True, slots=True)
class PreparedPolicy:
    """A policy at work for one model.

    ``ratio`` is what the counter's figures were scaled by (see ``learned``); ``prune_only``: no summary is to be made.
    """

    loaded: LoadedPolicy
    model: str | None
    limits: Limits
    rules: tuple[Rule, ...]
    counter: Counter
    pruners: tuple[Pruner, ...]
    summarizers: tuple[tuple[str, Summarizer], ...]
    formats: tuple[Format, ...]
    templates: Templates
    redactors: tuple[Redactor, ...]
    hooks: Mapping[str, tuple[Hook, ...]]
    ratio: float = 1.0
    prune_only: bool = False

    @property
    def policy(self) -> Policy:
        return self.loaded.policy

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own files that it was made from: policies and the templates that they name."""
        named = (getattr(getattr(self.policy, part), key) for part, key in _TEMPLATE_KEYS)
        templates = (self.templates.find(name).own for name in named)
        return (*self.loaded.files, *(file for file in templates if file is not None))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know of the policy for this model."""
        return tuple(_warnings(self.policy, self.model, self.limits))

    def for_model(self, model: str | None) -> "PreparedPolicy":
        """The same policy for another model: its window. What ``models:`` says of it is not looked at."""
        own = self.policy.window
        window = context_window(model, configured=own.context_length, unknown=own.unknown_model)
        return replace(self, model=model, limits=derive_limits(self.policy, window))

    def learned(self, state: CompactionState) -> "PreparedPolicy":
        """The same, corrected by what a conversation has learnt about the model: its window, how its tokens count."""
        known = state.about(self.model)
        ready = self
        if known.window is not None and known.window != self.limits.window.tokens:
            window = Window(known.window, "learnt from the provider's refusals")
            ready = replace(ready, limits=derive_limits(self.policy, window))
        if known.ratio != 1:
            ready = replace(ready, counter=scaled(self.counter, known.ratio), ratio=known.ratio)
        return ready

    def under(self, rule: Rule | None) -> "PreparedPolicy":
        """The same, with what a trigger rule changes about the compaction that it asks for."""
        if rule is None:
            return self
        trigger = rule.trigger
        limits = self.limits
        if trigger.target is not None:
            limits = derive_limits(self.policy, limits.window, target=trigger.target)
        pruners = (*rule.pruners, *self.pruners)
        return replace(self, limits=limits, pruners=pruners, prune_only=trigger.prune_only)

    def scaled(self, tokens: int) -> int:
        """Tokens as the policy's counter counts, scaled as ``counter`` scales them."""
        return scale(tokens, self.ratio)

    def unscaled(self, tokens: int) -> int:
        """The inverse of ``scaled``."""
        return round(tokens / self.ratio)


def prepare(
    source: PolicySource,
    *,
    model: str | None = None,
    overrides: Sequence[Override] | Mapping[str, Any] = (),
    summarizer: Summarizer | Function | None = None,
    environ: Mapping[str, str] | None = None,
) -> PreparedPolicy:
    """Loads a policy and makes everything ready that it names; ``summarizer`` takes the place of its chain.

    Raises ``PolicyError`` with every mistake that there is, templates and the options of pruners included.
    """
    environ = os.environ if environ is None else environ
    roster = Roster(Extension(builtin.NAME, builtin, "built in"), disabled_plugins(environ))

    @cache  # a template is compiled once, however often it is looked at
    def templates_of(folder: Path | None) -> Templates:
        return Templates(folder, environ)

    loaded = load_policy(
        source,
        model=model,
        overrides=overrides,
        environ=environ,
        checks=[roster.problems, lambda draft: template_problems(draft, templates_of), title_problems],
    )
    loaded = _anchored(loaded)
    policy = loaded.policy
    host = roster.host(Draft(loaded.tree))
    window = context_window(model, configured=policy.window.context_length, unknown=policy.window.unknown_model)
    limits = derive_limits(policy, window)
    own_patterns = read_patterns(policy.redaction.patterns)
    own = getattr(summarizer, "__name__", type(summarizer).__name__)
    return PreparedPolicy(
        loaded=loaded,
        model=model,
        limits=limits,
        rules=tuple(_rule(trigger, host) for trigger in policy.triggers),
        counter=host.counter(policy.counter, model),
        pruners=host.pruners(policy.pruning),
        summarizers=host.summarizers(policy) if summarizer is None else ((own, as_summarizer(summarizer)),),
        formats=host.formats(),
        templates=templates_of(None),
        redactors=(PatternRedactor((*shipped_patterns(), *own_patterns)), *host.redactors(policy)),
        hooks={name: host.hooks(name) for name in LIFE_CYCLE},
    )


def _rule(trigger: Trigger, host: Host) -> Rule:
    condition = None if trigger.when is None else compile_condition(trigger.when, CONDITION_VARIABLES[trigger.at])
    return Rule(trigger, condition, host.pruners(trigger.prune))


def template_problems(draft: Draft, templates_of: Callable[[Path | None], Templates]) -> Iterator[Problem]:
    """What is wrong with the templates that a policy names: each is looked at, and rendered once for a try."""
    data = draft.data
    for key, kind in _TEMPLATE_KEYS.items():
        part = data.get(key[0])
        name = part.get(key[1]) if isinstance(part, dict) else None
        if not isinstance(name, str):
            continue
        templates = templates_of(draft.folder(key))
        try:
            templates.check(name, TEMPLATE_VARIABLES[kind])
            try_out(templates, name, kind)
        except PromptError as error:
            yield draft.problem(key, str(error))


def title_problems(draft: Draft) -> Iterator[Problem]:
    """What is wrong with the title of sessions, which is a template itself."""
    session = draft.data.get("session")
    title = session.get("title") if isinstance(session, dict) else None
    if isinstance(title, str):
        try:
            render_text(title, {"base": "Fix the build", "n": 2})
        except PromptError as error:
            yield draft.problem(("session", "title"), str(error), "known are base and n")


def try_out(templates: Templates, name: str, kind: str) -> None:
    """Renders a template with made-up values. Raises ``PromptError`` when it fails or leaves the summary out."""
    if kind == "frame":
        frame_summary(templates, Assembly(frame=name), "-", count=1, anchored=False)
    elif kind == "unavailable":
        frame_static(templates, Assembly(unavailable=name), "-", turns=1, count=1, anchored=False)
        frame_static(templates, Assembly(unavailable=name), None, turns=1, count=1, anchored=False)
    else:
        known = TEMPLATE_VARIABLES[kind]
        templates.render(name, {variable: _SAMPLES[variable] for variable in known})


def _anchored(loaded: LoadedPolicy) -> LoadedPolicy:
    """The policy with the paths of its templates in full: each is relative to the file that names it."""
    draft = Draft(loaded.tree)
    parts: dict[str, dict[str, str]] = {}
    for (part, key), _ in _TEMPLATE_KEYS.items():
        name = getattr(getattr(loaded.policy, part), key)
        if name.startswith("."):
            folder = draft.folder((part, key)) or Path()
            parts.setdefault(part, {})[key] = str((folder / name).resolve())
    copies = {part: getattr(loaded.policy, part).model_copy(update=names) for part, names in parts.items()}
    return replace(loaded, policy=loaded.policy.model_copy(update=copies)) if copies else loaded


def _warnings(policy: Policy, model: str | None, limits: Limits) -> Iterator[str]:
    if not limits.window.known:
        size = policy.window.unknown_model
        named = f"the window of model {model!r} is not known" if model else "no model was named"
        yield f"{named}: {size:,} tokens assumed (window.unknown_model); set window.context_length to be exact"
    asked = amount_tokens(policy.threshold, limits.usable)
    if asked > limits.threshold:
        yield (
            f"the threshold ({asked:,} tokens) lies beyond the usable window of {limits.usable:,}; "
            f"{limits.threshold:,} is used"
        )
    if limits.target is not None and limits.target >= limits.threshold:
        yield (
            f"the target ({limits.target:,} tokens) is not below the threshold ({limits.threshold:,}): "
            "what was compacted may be due again at once"
        )
    if not policy.boundaries.anchors:
        yield "the policy has no anchors: the newest user message may be folded into the summary"
