"""What a session learns from a provider's figures: how its tokens count, how large its window is, what helped."""

from collections.abc import Sequence
from dataclasses import replace

from compactor.planning.limits import Limits
from compactor.policy.models import Policy
from compactor.policy.triggers import Trigger, WindowLimit
from compactor.session.provider_errors import ProviderError
from compactor.state import CompactionState, Learned
from compactor.tokens.usage import RATIO_RANGE, ratio_of

_MISCOUNT = 2
"""A count may be too low by so much: a window beyond that would have held the request that was refused."""

_SMALLEST_WINDOW = 256
"""Tokens: no model has less, and a smaller number in a refusal is something else."""


def after_report(
    state: CompactionState, model: str | None, reported: int, counted: int, min_gain: float
) -> CompactionState:
    """The state after a provider measured a request that the policy's counter put at ``counted``.

    The model's ratio is learnt anew, and a compaction that nobody has judged yet is: it was worth it if the request
    costs at least ``min_gain`` less than before, what was added since left out.
    """
    ratio = ratio_of(reported, counted)
    if ratio is not None:
        state = _taught(state, model, replace(state.about(model), ratio=ratio))
    return _judged(state, model, reported, counted, min_gain)


def _judged(state: CompactionState, model: str | None, reported: int, counted: int, min_gain: float) -> CompactionState:
    last = state.unjudged
    if last is None or counted == 0:
        return state
    if last.model != (model or ""):  # another model's tokens are no measure
        return replace(state, unjudged=None)
    scale = reported / counted
    before = last.tokens if last.measured else last.tokens * scale
    after = reported - max(counted - state.tokens, 0) * scale
    return replace(state, unjudged=None, strikes=last.strikes + 1 if after > before * (1 - min_gain) else 0)


def after_refusal(
    state: CompactionState, model: str | None, error: ProviderError, counted: int, window: int
) -> CompactionState:
    """The state after a provider refused a request: how its tokens count, from its own figure or from its limit.

    ``window`` is the one that applied when the request was sent.
    """
    known = state.about(model)
    limit = _stated(error) or 0
    least = error.prompt_tokens or (limit + 1 if 0 < limit <= window else 0)
    if error.kind == "payload_too_large" or not counted or counted * known.ratio >= least:
        return state
    low, high = RATIO_RANGE
    return _taught(state, model, replace(known, ratio=min(max(least / counted, low), high)))


def with_window(state: CompactionState, model: str | None, tokens: int) -> CompactionState:
    """The state that knows a model's window."""
    return _taught(state, model, replace(state.about(model), window=tokens))


def windows_to_try(
    policy: Policy, limits: Limits, trigger: Trigger, error: ProviderError, *, fixed: int, refused: int
) -> Sequence[int]:
    """The windows under which to compact after a refusal, best first, in tokens.

    ``refused`` is the size of the request as it was counted, ``fixed`` the part of it that cannot be made smaller: no
    window is tried that does not hold that. Where nothing is stated, windows are guessed: the next tier below the
    present one and, for where nothing can be gained under it, those further down that would not have held the request
    by far. The present window is the last: a guess may be too low for what has to stay.
    """
    now = limits.window.tokens
    if isinstance(trigger.window, WindowLimit):
        return (min(trigger.window.at_most, now),)
    if trigger.window == "keep":
        return (now,)
    stated = _stated(error)
    if stated is not None:
        return (min(stated, now),)
    lower = [tier for tier in policy.window.probe_tiers if fixed < tier < now]
    likely = [tier for tier in lower[1:] if tier <= _MISCOUNT * refused]
    return (*lower[:1], *likely, now)


def is_for_the_answer(error: ProviderError, limits: Limits) -> bool:
    """Whether a refusal is about the room asked for the answer: then a shorter prompt is no help."""
    if error.prompt_tokens is None or not error.output_tokens or error.limit is None:
        return False
    return error.prompt_tokens <= min(limits.threshold, error.limit // 2)


def _stated(error: ProviderError) -> int | None:
    """The limit that a refusal states, if it can be one."""
    return error.limit if error.limit is not None and error.limit >= _SMALLEST_WINDOW else None


def _taught(state: CompactionState, model: str | None, learned: Learned) -> CompactionState:
    return replace(state, learned={**state.learned, model or "": learned})
