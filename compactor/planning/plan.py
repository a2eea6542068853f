"""What a compaction would do to every message, with the numbers that led there. Pure: nothing is called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compactor.extension.protocols import Counter, Edit, Pruner, PruningContext
from compactor.messages.earlier import Earlier, is_real_user
from compactor.messages.groups import partition
from compactor.messages.message import Message
from compactor.planning.boundaries import head_end, leading_system, tail_start
from compactor.planning.limits import Limits
from compactor.planning.squeeze import squeezed
from compactor.planning.trigger import Decision
from compactor.policy.models import Policy

_LEAST_SUMMARY = 20
"""The part of the window, one of so many, that a summary finds at least where its policy wants no less."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A compaction before it happens.

    ``head``, ``between`` (system messages and anchors of the middle) and ``tail`` are kept, in this order, as
    pruning left them; ``folded`` is what the summary replaces, as the summariser is to see it. ``edits`` are the
    pruned messages by their index in the input. ``earlier`` is what earlier compactions left. ``pruned_only``
    says that nothing is folded because pruning is enough, or all that is asked for: then every message is in
    ``tail``. ``tokens`` is the whole request before.
    """

    decision: Decision
    limits: Limits
    tokens: int
    head: tuple[Message, ...]
    between: tuple[Message, ...]
    tail: tuple[Message, ...]
    folded: tuple[Message, ...] = ()
    summary_tokens: int = 0
    edits: Mapping[int | None, Edit] = field(default_factory=dict)
    earlier: Earlier | None = None
    pruned_only: bool = False

    @property
    def anchored(self) -> bool:
        """Whether a request stands after the summary though it is older than what that covers."""
        return any(not message.is_system for message in self.between)

    @property
    def previous(self) -> str | None:
        """The earlier summary that the new one builds on."""
        return self.earlier.summary if self.earlier else None


@dataclass(frozen=True, slots=True)
class Task:
    """A conversation that is to be planned for, and everything that its plan depends on.

    ``messages`` are without earlier summaries; ``tokens`` is the whole request as ``counter`` counts it;
    ``overhead`` what the frame around a summary and the note in the system prompt cost; ``count`` is how often the
    conversation was compacted so far; ``prune_only``: nothing is to be folded.
    """

    decision: Decision
    messages: tuple[Message, ...]
    tools: Sequence[Mapping[str, Any]]
    earlier: Earlier | None
    policy: Policy
    limits: Limits
    counter: Counter
    pruners: Sequence[Pruner]
    tokens: int
    overhead: int
    count: int
    prune_only: bool = False


def make_plan(task: Task) -> Plan:
    """Prunes, then chooses the boundaries, then sets the summary's budget (REFERENCE sections 4 to 6)."""
    edits = prune(task)
    pruned = _edited(task.messages, edits)
    by_index = {task.messages[place].index: edit for place, edit in edits.items()}
    nothing = Plan(task.decision, task.limits, task.tokens, (), (), pruned, edits=by_index, earlier=task.earlier)
    if task.prune_only or (task.policy.stop_after_pruning and edits and _is_enough(pruned, task)):
        return replace(nothing, pruned_only=True)
    anchor = _anchor(pruned, task.policy)
    head, start, scale = _cuts(pruned, anchor, task)
    kept = [place for place in range(head, start) if pruned[place].is_system or place == anchor]
    seen = task.messages if task.policy.summary.view == "original" else pruned
    plan = replace(
        nothing,
        head=pruned[:head],
        between=tuple(pruned[place] for place in kept),
        tail=pruned[start:],
        folded=tuple(seen[place] for place in range(head, start) if place not in kept),
    )
    if task.policy.boundaries.shrink_to_fit:
        plan = _fitting(plan, task)
    return replace(plan, summary_tokens=_summary_tokens(plan, scale, task))


def prune(task: Task) -> dict[int, Edit]:
    """What the policy's pruners, one after the other, make of the messages: position -> the last edit."""
    context = PruningContext(task.counter, task.limits.tail, task.policy.boundaries.protect_last_n)
    edits: dict[int, Edit] = {}
    for pruner in task.pruners:
        edits |= {edit.index: edit for edit in pruner.prune(_edited(task.messages, edits), context)}
    return edits


def _edited(messages: tuple[Message, ...], edits: Mapping[int, Edit]) -> tuple[Message, ...]:
    if not edits:
        return messages
    return tuple(
        message.with_parts(edits[place].parts) if place in edits else message for place, message in enumerate(messages)
    )


def _fitting(plan: Plan, task: Task) -> Plan:
    """The plan, tool results that stay made smaller where what stays leaves no room for the least of summaries."""
    kept = (*plan.head, *plan.between, *plan.tail)
    if plan.folded:
        room = task.overhead + _least_summary(task)
    else:  # then an earlier summary stays as it is
        room = task.overhead + task.counter.text(plan.previous or "") if plan.earlier else 0
    excess = task.counter.request(kept, task.tools) + room - plan.limits.usable
    edits = dict(squeezed(kept, excess, task.counter))
    if not edits:
        return plan
    kept = _edited(kept, edits)
    head, between = len(plan.head), len(plan.head) + len(plan.between)
    by_index = {kept[place].index: edit for place, edit in edits.items()}
    return replace(
        plan,
        head=kept[:head],
        between=kept[head:between],
        tail=kept[between:],
        edits={**plan.edits, **by_index},
    )


def _is_enough(pruned: Sequence[Message], task: Task) -> bool:
    goal = task.limits.threshold if task.limits.target is None else task.limits.target
    return task.counter.request(pruned, task.tools) <= goal


def _cuts(messages: Sequence[Message], anchor: int | None, task: Task) -> tuple[int, int, float]:
    """Where the head ends, where the tail starts, and the scale that the target put on tail and summary."""
    rules = task.policy.boundaries
    groups = partition(messages)
    decayed = rules.head_decays and task.count > 0
    protected = leading_system(messages) if decayed else rules.protect_first_n
    head = head_end(messages, groups, protected, task.earlier.position if task.earlier else len(messages))
    weights = [task.counter.message(message) for message in messages]
    scale = _scale(messages, head, anchor, task)
    budget = task.limits.tail * scale
    strict = task.limits.target is not None
    for ceiling in (budget * rules.tail_soft_ceiling, budget):
        start = tail_start(weights, groups, head, ceiling, rules.tail_min_messages, strict=strict)
        if start > head:
            break  # else everything is under the soft ceiling: cut at the plain budget, or nothing ever folds
    return head, start, scale


def _scale(messages: Sequence[Message], head: int, anchor: int | None, task: Task) -> float:
    """How far tail and summary have to shrink to meet the target beside what is kept anyway; 1 without a target.

    Where what is kept anyway leaves nothing, a twentieth of each is still asked for: the result may miss its
    target, and says so, but it is not left without a tail.
    """
    if task.limits.target is None:
        return 1.0
    fixed = [message for place, message in enumerate(messages) if place < head or place == anchor or message.is_system]
    free = task.limits.target - task.counter.request(fixed, task.tools) - task.overhead
    budget = task.policy.summary.budget
    wanted = task.limits.tail * task.policy.boundaries.tail_soft_ceiling
    wanted += min(max(int(task.tokens * budget.ratio), budget.min_tokens), budget.max_tokens)
    return min(1.0, max(free / wanted, 0.05)) if wanted else 1.0


def _summary_tokens(plan: Plan, scale: float, task: Task) -> int:
    """The summary's budget: a share of what is folded, within its bounds; less where window or target leave less.

    What a previous summary cost is added in full: it is condensed already, and would wear away with every update.
    """
    budget = task.policy.summary.budget
    share = int(task.counter.request(plan.folded) * budget.ratio) + task.counter.text(plan.previous or "")
    tokens = min(max(share, budget.min_tokens), budget.max_tokens)
    kept = task.counter.request((*plan.head, *plan.between, *plan.tail), task.tools) + task.overhead
    tokens = max(min(tokens, plan.limits.usable - kept), 1)
    if plan.limits.target is None:
        return tokens
    return min(tokens, max(plan.limits.target - kept, int(tokens * scale), _least_summary(task)))


def _least_summary(task: Task) -> int:
    """Tokens that a summary finds at least, whatever stays beside it."""
    return min(task.policy.summary.budget.min_tokens, max(task.limits.usable // _LEAST_SUMMARY, 1))


def _anchor(messages: Sequence[Message], policy: Policy) -> int | None:
    if "last_user" not in policy.boundaries.anchors:
        return None
    return next((place for place in range(len(messages) - 1, -1, -1) if is_real_user(messages[place])), None)
