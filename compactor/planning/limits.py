"""The numbers that a policy means for one model's window, in tokens."""

from dataclasses import dataclass

from compactor.policy.models import Amount, Policy, amount_tokens
from compactor.tokens.windows import Window

LATEST = 0.95
"""Share of the usable window where compaction becomes due at the latest, for a threshold in tokens beyond it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """All in tokens.

    ``usable`` is the window less the reserve for output, the most that a request may cost; ``threshold`` is where
    compaction becomes due; ``target`` what a result should cost at most, None where any size will do; ``tail``
    the budget of what stays verbatim at the end.
    """

    window: Window
    usable: int
    threshold: int
    target: int | None
    tail: int


def derive_limits(policy: Policy, window: Window, *, target: Amount | None = None) -> Limits:
    """Derives every limit from the window; the reserve comes off before any share is taken.

    ``target`` takes the place of the policy's own. A reserve takes at most half the window, and a target halves at
    most into the tail, so that a summary always has room beside it.
    """
    usable = max(window.tokens - min(policy.window.output_reserve, window.tokens // 2), 1)
    threshold = amount_tokens(policy.threshold, usable)
    threshold = max(threshold if threshold < usable else int(usable * LATEST), 1)
    asked = policy.target if target is None else target
    goal = None if asked is None else min(amount_tokens(asked, usable), usable)
    tail = int(policy.boundaries.tail_budget_ratio * threshold)
    return Limits(window, usable, threshold, goal, tail if goal is None else min(tail, goal // 2))
