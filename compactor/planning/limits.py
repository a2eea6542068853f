"""The numbers that a policy means for one model's window, in tokens."""

from dataclasses import dataclass

from compactor.policy.models import Policy, amount_tokens
from compactor.tokens.windows import Window


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


def derive_limits(policy: Policy, window: Window) -> Limits:
    """Derives every limit from the window; the reserve comes off before any share is taken.

    A target halves at most into the tail, so that a summary always has room beside it.
    """
    usable = max(window.tokens - policy.window.output_reserve, 1)
    threshold = min(amount_tokens(policy.threshold, usable), usable)
    target = None if policy.target is None else min(amount_tokens(policy.target, usable), usable)
    tail = int(policy.boundaries.tail_budget_ratio * threshold)
    return Limits(window, usable, threshold, target, tail if target is None else min(tail, target // 2))
