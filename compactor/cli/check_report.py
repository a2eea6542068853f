"""A check as it is told: the decision, every rule with what its condition says and why; and all of it as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compactor.cli.opened import Opened
from compactor.engine import CallMoment
from compactor.errors import PolicyError
from compactor.planning.trigger import Decision, Rule, asked_at
from compactor.tokens.usage import Usage


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rule and what its condition says.

    ``asked``: it is for the moment of the check. ``true`` is None where it is not, and where the condition cannot be
    computed, for the reason of ``failure``. ``where`` is the ``file:line`` that defines it.
    """

    rule: Rule
    where: str
    asked: bool
    true: bool | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A decision with what is needed to tell it.

    ``named``: the moment was asked for, not read off the conversation. ``usage`` is the figure of ``--usage``.
    ``verdicts`` stand in the order in which the rules are asked; those of other moments come last.
    """

    opened: Opened
    at: CallMoment
    named: bool
    usage: int | None
    decision: Decision
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, opened: Opened, at: CallMoment | None, usage: int | None) -> "Checked":
        """Checks a conversation, at a moment that is read off it where none is given. Raises ``PluginError``."""
        moment: CallMoment = at or ("tool_results" if opened.conversation.given[-1].is_result else "turn_start")
        decision = _decision(opened, moment, usage)
        return cls(opened, moment, at is not None, usage, decision, tuple(_verdicts(opened, decision, moment)))

    @property
    def enabled(self) -> bool:
        """Whether the policy has its rules asked before a call."""
        return self.opened.compactor.policy.enabled

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know about the policy and the figures."""
        warnings = self.opened.ready.warnings
        if self.usage is None or self.decision.variables["reported_tokens"]:
            return warnings
        answered = any(message.role == "assistant" for message in self.opened.conversation.given)
        compacted = "the conversation was compacted, and nothing tells whether that was before the call or after it"
        why = compacted if answered else "the conversation holds no answer, so there was no call yet"
        return (*warnings, f"--usage {self.usage} does not count: {why}")

    @property
    def due_without(self) -> bool:
        """Whether a compaction is due for those who know neither ``--at`` nor ``--usage``."""
        if self.at == "turn_start" and self.usage is None:
            return self.decision.due
        return _decision(self.opened, "turn_start", None).due


def _decision(opened: Opened, at: CallMoment, usage: int | None) -> Decision:
    document = opened.document
    return opened.compactor.check(
        document.messages,
        system=document.system,
        tools=document.tools,
        usage=None if usage is None else Usage(usage),
        at=at,
    )


def _verdicts(opened: Opened, decision: Decision, at: CallMoment) -> Iterator[Verdict]:
    rules = opened.ready.rules
    asked = list(asked_at(rules, at))
    names = {rule.name for rule in asked}
    where = _lines(opened)
    for rule in asked:
        try:
            true = rule.condition is None or rule.condition(decision.variables)
        except PolicyError as error:
            yield Verdict(rule, where[rule.name], asked=True, failure=error.problems[0].message)
        else:
            yield Verdict(rule, where[rule.name], asked=True, true=true)
    yield from (Verdict(rule, where[rule.name], asked=False) for rule in rules if rule.name not in names)


def _lines(opened: Opened) -> dict[str, str]:
    """Where every rule is defined, and its condition too where that was set elsewhere."""
    origins = opened.ready.loaded.origins
    lines = {}
    for place, rule in enumerate(opened.ready.rules):
        key = ("triggers", place)
        defined = origins[key]
        condition = origins.get((*key, "when"), defined)
        lines[rule.name] = defined.line if condition.source == defined.source else f"{defined.line}; {condition.line}"
    return lines


def to_dict(checked: Checked) -> dict[str, Any]:
    """The check as plain data for JSON."""
    ready, decision = checked.opened.ready, checked.decision
    return {
        "due": decision.due,
        "rule": decision.rule,
        "reason": decision.reason,
        "background": decision.background,
        "at": checked.at,
        "policy": ready.policy.name,
        "model": ready.model,
        "counter": ready.policy.counter,
        "window": ready.limits.window.tokens,
        "window_source": ready.limits.window.source,
        "warnings": list(checked.warnings),
        "rules": [_rule_dict(verdict, enabled=checked.enabled) for verdict in checked.verdicts],
        "variables": dict(decision.variables),
    }


def _rule_dict(verdict: Verdict, *, enabled: bool) -> dict[str, Any]:
    trigger = verdict.rule.trigger
    return {
        "name": trigger.name,
        "at": trigger.at,
        "error": trigger.error,
        "when": trigger.when,
        "background": trigger.background,
        "asked": verdict.asked and enabled,
        "true": verdict.true,
        "failure": verdict.failure,
        "where": verdict.where,
    }
