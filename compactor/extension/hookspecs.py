"""The hooks that a plugin may implement, as pluggy sees them.

Those that start with ``register_`` are called once, when a policy is put to work. Each returns a mapping from the name
that policies use to whatever makes the thing; a name that another plugin has taken is an error.

The others are called in the life of a conversation, with one event each, sync or ``async``. Each call is isolated: it
has a deadline, its failure is reported and breaks nothing (unless the policy says ``required``), what it returns is
bounded.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pluggy

from compactor.extension.events import CompactionFailed, PostCompress, PreCompress, StateRequest
from compactor.extension.protocols import Counter, Format, Redactor, Summarizer
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

RedactorFactory = Callable[[], Redactor]
"""Makes a redactor."""


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


@hookspec
def register_redactors() -> Mapping[str, RedactorFactory]:  # type: ignore[empty-body]
    """Redactors that a policy can name under ``redaction.redactors``."""


@hookspec
def on_pre_compress(event: PreCompress) -> str | None:
    """A compaction is about to happen. A text that is returned is quoted to the summarizer as remembered facts."""


@hookspec
def on_post_compress(event: PostCompress) -> None:
    """A compaction is done."""


@hookspec
def on_compaction_failed(event: CompactionFailed) -> None:
    """A compaction was tried and the input handed back."""


@hookspec
def provide_state(event: StateRequest) -> str | None:
    """State to be restated behind the summary: a to-do list, open files. It counts against the target."""
