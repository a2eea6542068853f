"""The hooks that an extension may implement, as pluggy sees them.

All are called once, when a policy is put to work. Each returns a mapping from the name that policies use to
whatever makes the thing; a name that another extension has taken is an error.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pluggy

from compactor.extension.protocols import Counter, Format, Summarizer
from compactor.policy.models import Summary

if TYPE_CHECKING:
    from pydantic import BaseModel

PROJECT = "compactor"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

CounterFactory = Callable[[str | None], Counter]
"""Makes a counter for a model, by its name; None when no model is known."""

SummarizerFactory = Callable[[Summary], Summarizer]
"""Makes a summariser from the ``summary`` part of the policy."""


FormatFactory = Callable[[], Format]
"""Makes a format."""


@hookspec
def register_counters() -> Mapping[str, CounterFactory]:  # type: ignore[empty-body]
    """Counters that a policy can name under ``counter``."""


@hookspec
def register_pruners() -> "Mapping[str, type[BaseModel]]":  # type: ignore[empty-body]
    """Pruners that a policy can name under ``pruning``: pydantic models with a ``prune`` method."""


@hookspec
def register_summarizers() -> Mapping[str, SummarizerFactory]:  # type: ignore[empty-body]
    """Summarisers that a policy can name under ``summary.summarizers``."""


@hookspec
def register_formats() -> Mapping[str, FormatFactory]:  # type: ignore[empty-body]
    """Formats that conversations are read in, tried in the order of registration."""
