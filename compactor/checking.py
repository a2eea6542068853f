"""Whether a compaction of a conversation is due: its numbers, the provider's own figure among them, and the rules."""

from collections.abc import Iterable
from typing import Any

from compactor.conversation import Conversation
from compactor.messages.body import body_sizes
from compactor.planning.trigger import Decision, Numbers, decide, held_back, trigger_variables, wants_body
from compactor.policy.triggers import AUTOMATIC, Moment
from compactor.prepared import PreparedPolicy
from compactor.state import CompactionState
from compactor.tokens.usage import Usage, read_usage, says_something


def measure(ready: PreparedPolicy, conversation: Conversation, state: CompactionState, usage: Any = None) -> Numbers:
    """Counts a conversation; ``usage`` is what the provider reported for its last request, in any spelling.

    Where that still holds, only what was added since is counted: the provider has counted the rest.
    """
    counter = ready.counter
    estimated = counter.request(conversation.given, conversation.tools)
    reported, tokens = 0, estimated
    known = read_usage(usage)
    covered = None if known is None else _covered(conversation, known, state)
    if known is not None and covered is not None:
        counted = counter.request(conversation.given[:covered], conversation.tools)
        if says_something(known.prompt_tokens, ready.unscaled(counted)):
            reported = known.prompt_tokens
            tokens = reported + estimated - counted
    return Numbers(
        tokens=tokens,
        estimated=estimated,
        reported=reported,
        new=max(estimated - ready.scaled(state.tokens), 0),
        messages=len(conversation.given),
        compactions=conversation.count,
        body=body_sizes(conversation.given) if wants_body(ready.rules) else None,
    )


def _covered(conversation: Conversation, usage: Usage, state: CompactionState) -> int | None:
    """How many messages the measured request had; None where the figure is older than the last compaction."""
    apart = conversation.system is not None
    if usage.messages is not None:
        measured: int | None = usage.messages
    elif conversation.count != state.count:  # compacted by somebody who kept no state: nobody knows when
        measured = None
    else:
        measured = _before_answer(message.role for message in conversation.given[apart:])
    if measured is None or not state.messages <= measured <= len(conversation.raw):
        return None
    return measured + apart


def _before_answer(roles: Iterable[str]) -> int | None:
    """The place of the newest assistant message."""
    return max((place for place, role in enumerate(roles) if role == "assistant"), default=None)


def decided(
    ready: PreparedPolicy,
    numbers: Numbers,
    state: CompactionState,
    at: Moment,
    *,
    background: bool = True,
    without: frozenset[str] = frozenset(),
) -> Decision:
    """What the policy's rules say of these numbers at a moment, errors of providers apart.

    ``background=False`` leaves out the rules for the background, ``without`` those of these names.
    """
    variables = trigger_variables(ready.policy, ready.limits, numbers)
    decision = decide(ready.policy, ready.rules, variables, at=at, background=background, without=without)
    return held_back(decision, ready.policy, ready.limits, state.strikes) if at in AUTOMATIC else decision
