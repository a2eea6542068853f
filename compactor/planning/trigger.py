"""Whether a compaction is due: the policy's trigger rules over the numbers of the conversation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compactor.errors import PolicyError
from compactor.extension.protocols import Pruner
from compactor.messages.body import BodySize
from compactor.planning.limits import Limits
from compactor.policy.expressions import Condition
from compactor.policy.models import Policy
from compactor.policy.triggers import AUTOMATIC, Moment, Trigger

_OF_THE_BODY = frozenset(("bytes", "media_bytes", "images"))

FORCED = "forced"
"""What stands for the trigger's name in a compaction that the caller forced and that no rule is for."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A trigger rule with its condition compiled (None: always true) and its pruners made."""

    trigger: Trigger
    condition: Condition | None = None
    pruners: tuple[Pruner, ...] = ()

    @property
    def name(self) -> str:
        return self.trigger.name

    @property
    def names(self) -> frozenset[str]:
        """The variables that the condition asks for."""
        return self.condition.names if self.condition else frozenset()

    @property
    def shown(self) -> str:
        """The rule for people: its name and what it asks."""
        return f"{self.name!r}: {self.condition.source if self.condition else 'always'}"

    @property
    def weighs_bytes(self) -> bool:
        """Whether it is the body's bytes, not tokens, that a compaction by this rule has to save."""
        return self.trigger.error == "payload_too_large" or bool(self.names & _OF_THE_BODY)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a compaction is due, which rule says so, and the numbers that it looked at.

    ``by`` is the rule itself: what it changes about the compaction. None where nothing is due, and where the caller
    forced it and no rule of the policy is for that.
    """

    due: bool
    rule: str | None
    reason: str
    variables: Mapping[str, int] = field(default_factory=dict)
    by: Rule | None = field(default=None, repr=False)

    @property
    def only_prunes(self) -> bool:
        """Whether another rule has to be asked where this one changes nothing."""
        return self.by is not None and self.by.trigger.prune_only

    @property
    def background(self) -> bool:
        """Whether the agent can go on in the meantime."""
        return self.by is not None and self.by.trigger.background


@dataclass(frozen=True, slots=True)
class Numbers:
    """What is known of a conversation before a compaction; the variables of conditions, in tokens where not named.

    ``tokens`` is the best figure for the whole request, ``estimated`` what the counter says, ``reported`` what the
    provider said of the last request (0: nothing that still holds), ``new`` what was added since the last compaction.
    ``body`` is None where no rule asks for it.
    """

    tokens: int
    estimated: int
    reported: int
    new: int
    messages: int
    compactions: int
    body: BodySize | None = None


def asked_at(rules: Sequence[Rule], moment: Moment, error: str | None = None) -> Iterator[Rule]:
    """The rules for a moment in the order in which they are asked: those for the background come last."""
    moments = {moment, "before_call"} if moment in AUTOMATIC else {moment}
    fitting = [rule for rule in rules if rule.trigger.at in moments and rule.trigger.error == error]
    yield from sorted(fitting, key=lambda rule: rule.trigger.background)


def wants_body(rules: Iterable[Rule]) -> bool:
    """Whether some rule asks for the size of the request's body, which costs more than the other numbers."""
    return any(rule.names & _OF_THE_BODY for rule in rules)


def decide(
    policy: Policy,
    rules: Sequence[Rule],
    variables: Mapping[str, int],
    *,
    at: Moment,
    error: str | None = None,
    background: bool = True,
    without: frozenset[str] = frozenset(),
) -> Decision:
    """The first rule that is true wins. ``background=False`` leaves out the rules for the background, ``without`` those
    of these names.

    A condition that cannot be computed with these numbers, such as a division by 0, is not true.
    """
    if not policy.enabled and at in AUTOMATIC:
        return Decision(False, None, "the policy is not enabled (enabled: false)", variables)
    fitting = [rule for rule in asked_at(rules, at, error) if rule.name not in without]
    asked = [rule for rule in fitting if background or not rule.trigger.background]
    failures = []
    for rule in asked:
        try:
            true = rule.condition is None or rule.condition(variables)
        except PolicyError as failure:
            failures.append(f"{rule.name!r}: {failure.problems[0].message}")
            continue
        if true:
            return Decision(True, rule.name, f"trigger {rule.shown}", variables, rule)
    if at == "manual":
        return Decision(True, FORCED, "forced by the caller", variables)
    return Decision(False, None, _why_not(asked, failures, variables, at), variables)


def _why_not(asked: Sequence[Rule], failures: Sequence[str], variables: Mapping[str, int], at: Moment) -> str:
    if failures:
        return f"no trigger is true ({'; '.join(failures)})"
    if not asked:
        return f"no trigger is true (the policy has none for {at})"
    tokens, threshold = variables["tokens"], variables["threshold_tokens"]
    if at in AUTOMATIC and tokens < threshold:
        return f"{tokens:,} tokens, under the threshold of {threshold:,}"
    return f"no trigger is true ({'; '.join(rule.shown for rule in asked)})"


def held_back(decision: Decision, policy: Policy, limits: Limits, strikes: int) -> Decision:
    """The decision, or why no automatic compaction is made after ``strikes`` that gained nothing.

    There is another one when as much has been added as the tail holds, for only then is there something new to fold,
    and when the request does not fit the window, for then nothing can get worse.
    """
    new, tokens = decision.variables["new_tokens"], decision.variables["tokens"]
    stopped = strikes >= policy.session.max_ineffective
    if not decision.due or not stopped or new >= limits.tail or tokens > limits.usable:
        return decision
    reason = (
        f"automatic compactions are stopped: the last {strikes} gained nothing; "
        f"there will be another one after {limits.tail - new:,} new tokens, or when forced"
    )
    return Decision(False, None, reason, decision.variables)


def trigger_variables(policy: Policy, limits: Limits, numbers: Numbers) -> dict[str, int]:
    """What a ``when:`` expression can ask for (``policy.expressions.VARIABLES`` says what each means)."""
    variables = {
        "tokens": numbers.tokens,
        "estimated_tokens": numbers.estimated,
        "reported_tokens": numbers.reported,
        "new_tokens": numbers.new,
        "message_count": numbers.messages,
        "threshold_tokens": limits.threshold,
        "target_tokens": limits.target or 0,
        "context_length": limits.usable,
        "protect_first_n": policy.boundaries.protect_first_n,
        "protect_last_n": policy.boundaries.protect_last_n,
        "compaction_count": numbers.compactions,
    }
    if numbers.body is not None:
        body = numbers.body
        variables |= {"images": body.images, "media_bytes": body.media, "bytes": body.total}
    return variables
