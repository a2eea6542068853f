"""Whether a compaction is due: the policy's trigger rules over the numbers of the conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compactor.planning.limits import Limits
from compactor.policy.expressions import Condition
from compactor.policy.models import Policy


@dataclass(frozen=True, slots=True)
class Rule:
    """A trigger rule with its condition compiled."""

    name: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a compaction is due, which rule says so, and the numbers that it looked at."""

    due: bool
    rule: str | None
    reason: str
    variables: Mapping[str, int] = field(default_factory=dict)


def decide(policy: Policy, rules: Sequence[Rule], variables: Mapping[str, int]) -> Decision:
    """The first rule that is true wins."""
    if not policy.enabled:
        return Decision(False, None, "the policy is not enabled (enabled: false)", variables)
    for rule in rules:
        if rule.condition(variables):
            return Decision(True, rule.name, f"trigger {rule.name!r}: {rule.condition.source}", variables)
    tokens, threshold = variables["tokens"], variables["threshold_tokens"]
    if tokens < threshold:
        return Decision(False, None, f"{tokens:,} tokens, under the threshold of {threshold:,}", variables)
    conditions = "; ".join(f"{rule.name}: {rule.condition.source}" for rule in rules) or "the policy has none"
    return Decision(False, None, f"no trigger is true ({conditions})", variables)


def trigger_variables(
    policy: Policy, limits: Limits, *, tokens: int, message_count: int, compaction_count: int
) -> dict[str, int]:
    """What a ``when:`` expression can ask for (``policy.expressions.VARIABLES`` says what each means)."""
    return {
        "tokens": tokens,
        "message_count": message_count,
        "threshold_tokens": limits.threshold,
        "context_length": limits.usable,
        "protect_first_n": policy.boundaries.protect_first_n,
        "protect_last_n": policy.boundaries.protect_last_n,
        "compaction_count": compaction_count,
    }
