"""Whether a result is worth it (law 5)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compactor.messages.body import body_sizes
from compactor.messages.message import Message, Raw


@dataclass(frozen=True, slots=True)
class Cost:
    """What a request costs: in tokens, and its body in bytes (0 where those are not weighed)."""

    tokens: int
    body: int = 0


def body_cost(messages: Sequence[Message], sent: Sequence[Raw] | None = None) -> int:
    """The bytes of messages as they came, or as they are ``sent`` where some were rendered anew."""
    if sent is not None:
        messages = [replace(message, raw=raw) for message, raw in zip(messages, sent, strict=True)]
    return body_sizes(messages).total


def too_little(before: Cost, after: Cost, min_gain: float, *, usable: int, by_bytes: bool) -> str | None:
    """Why a result is not worth it, None when it is: by tokens, or by bytes where the rule weighs those.

    ``min_gain`` is the share that has to be saved; where the request did not fit the ``usable`` tokens of the window
    and the result does, any gain is enough. A smaller body may not cost more tokens.
    """
    if after.tokens <= usable < before.tokens:
        return None
    if by_bytes:
        if _saves(before.body, after.body, min_gain) and after.tokens <= before.tokens:
            return None
        return f"the body would have {after.body:,} of {before.body:,} bytes: less is saved than min_gain asks for"
    if _saves(before.tokens, after.tokens, min_gain):
        return None
    return f"the result would cost {after.tokens:,} of {before.tokens:,} tokens: less is saved than min_gain asks for"


def _saves(before: int, after: int, share: float) -> bool:
    return after < before and after <= before * (1 - share)
