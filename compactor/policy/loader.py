"""Loading a policy: find it, merge it with all that bears on it, check everything, say where each value is from.

Later ones win: model defaults, what the policy extends, the policy, its ``models:`` entries that match, the
environment, the arguments of the call.
"""

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compactor.errors import PolicyError, Problem
from compactor.policy.chain import EXTENDS, read_chain
from compactor.policy.draft import Check, Draft
from compactor.policy.faults import find_faults
from compactor.policy.models import Policy, model_matches
from compactor.policy.overrides import Override, apply_override, as_overrides, resolve_key
from compactor.policy.search import search_places
from compactor.policy.settings import read_settings
from compactor.policy.tree import DEFAULT, Node, Origin, grow
from compactor.policy.wording import Key

_LOG = logging.getLogger(__name__)

SAME_FOR_ALL_MODELS = ("version", "name", "description", "models", EXTENDS)
"""Keys that an entry of ``models:`` cannot set."""


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A valid policy. ``path`` is its file as shown to people, None for one that was given as a mapping; ``files`` are
    the user's own files that it was read from."""

    policy: Policy
    tree: Node
    path: str | None
    files: tuple[Path, ...] = ()

    @property
    def origins(self) -> Mapping[Key, Origin]:
        """Where each value came from, by key; positions stand for the entries of lists."""
        return {key: node.origin for key, node in self.tree.walk() if key}

    def line(self, key: str) -> str:
        """``file:line`` that set a key (dotted; list entries by name or position), or the variable or option."""
        try:
            node = self.tree.find(resolve_key(self.tree, key))
        except LookupError:
            node = None
        return node.origin.line if node else DEFAULT.source


def load_policy(
    policy: str | Path | Mapping[str, Any],
    *,
    model: str | None = None,
    overrides: Sequence[Override] | Mapping[str, Any] = (),
    environ: Mapping[str, str] | None = None,
    checks: Sequence[Check] = (),
) -> LoadedPolicy:
    """Load a policy by name or path, or one given as a mapping (which may extend others).

    ``model`` selects the ``models:`` entries that apply; ``overrides`` win over everything; ``environ`` defaults
    to ``os.environ``. Raises PolicyError with all the mistakes that there are, in the order of the files.
    """
    environ = os.environ if environ is None else environ
    chain = read_chain(policy, search_places("policies", environ))
    settings = read_settings(environ)
    asked = as_overrides(overrides)
    problems = [*chain.problems, *settings.problems, *(problem for given in asked for problem in given.problems)]
    if chain.root is None:
        raise PolicyError(_in_order(problems))
    base = _defaults().merged(chain.root)
    final, unplaced = _overridden(_for_model(base, model), (*settings.overrides, *asked))
    valid, found = _inspect(base, final, checks)
    explained = {(problem.where, problem.key) for problem in problems}
    problems += [*unplaced, *(problem for problem in found if (problem.where, problem.key) not in explained)]
    if problems or valid is None:
        raise PolicyError(_in_order(problems))
    loaded = LoadedPolicy(valid, final, chain.path, chain.files)
    if not valid.boundaries.anchors:
        _LOG.warning("%s: no anchors: the newest user message may be folded", loaded.line("boundaries.anchors"))
    return loaded


def _defaults() -> Node:
    required = {name for name, field in Policy.model_fields.items() if field.is_required()}
    return grow(Policy(version=1, name="defaults").model_dump(exclude=required), DEFAULT)


def _rules(tree: Node) -> Iterator[tuple[int, Node]]:
    rules = tree.child("models")
    for index, rule in enumerate(rules.content if rules and isinstance(rules.content, tuple) else ()):
        if isinstance(rule.content, dict):
            yield index, rule


def _applied(tree: Node, rule: Node) -> Node:
    return Node(tree.merged(rule.without("match", *SAME_FOR_ALL_MODELS)).content, tree.origin)


def _for_model(tree: Node, model: str | None) -> Node:
    result = tree
    for _, rule in _rules(tree):
        match = rule.child("match")
        if model is not None and match and isinstance(match.content, str) and model_matches(match.content, model):
            result = _applied(result, rule)
    return result


def _overridden(tree: Node, overrides: Sequence[Override]) -> tuple[Node, list[Problem]]:
    problems: list[Problem] = []
    for override in overrides:
        try:
            tree = apply_override(tree, override)
        except PolicyError as error:
            problems.extend(error.problems)
    return tree, problems


def _inspect(base: Node, final: Node, checks: Sequence[Check]) -> tuple[Policy | None, list[Problem]]:
    """The policy that ``final`` makes, and what is wrong with the files, with each entry of ``models:`` (whether
    it applies or not), and in the end.

    A mistake is reported once, where it first shows: one that is in the files is not blamed on what overrides them.
    """
    stages: list[tuple[Node, Node, Key]] = [(base, base, ())]  # what to check, where to locate its faults
    stages += [(_applied(base, rule), base, ("models", index)) for index, rule in _rules(base)]
    if final is not base:
        stages.append((final, final, ()))
    policy = None
    problems = list(_misplaced(base))
    seen: set[tuple[Key, str]] = set()
    for tree, located, above in stages:
        valid, faults = find_faults(tree.plain())
        policy = valid if tree is final else policy
        for fault in faults:
            if (fault.key, fault.message) not in seen:
                seen.add((fault.key, fault.message))
                key = (*above, *fault.key)
                problems.append(Draft(located).problem(key, fault.message, fault.hint, at_key=fault.at_key))
        for find in checks:
            problems.extend(find(Draft(tree)))
    return policy, problems


def _misplaced(base: Node) -> Iterator[Problem]:
    for index, rule in _rules(base):
        for name in rule.content:
            if name in SAME_FOR_ALL_MODELS:
                key = ("models", index, name)
                yield Draft(base).problem(key, "cannot differ by model", "leave it out", at_key=True)


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    """Without repetitions; by file, line and column, then those that come from elsewhere."""

    def place(problem: Problem) -> tuple[bool, str, int, int]:
        position = re.fullmatch(r"(.*):(\d+):(\d+)", problem.where)
        if position is None:
            return (True, problem.where, 0, 0)
        return (False, position[1], int(position[2]), int(position[3]))

    return sorted(dict.fromkeys(problems), key=place)
