"""The counters that a policy can name without any plugin."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from compactor.extension.protocols import Counter
from compactor.tokens.estimate import estimate
from compactor.tokens.exact import exact_counter
from compactor.tokens.per_text import TextCounter
from compactor.tokens.rough import Rough

# Makes a counter for a model, by its name; None when no model is known.
CounterFactory = Callable[[str | None], Counter]


def _rough(_model: str | None) -> Counter:
    return Rough()


def _estimate(_model: str | None) -> Counter:
    return TextCounter("estimate", estimate)


COUNTERS: Mapping[str, CounterFactory] = MappingProxyType(
    {"rough": _rough, "tiktoken": exact_counter, "estimate": _estimate}
)
