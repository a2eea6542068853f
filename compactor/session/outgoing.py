"""What is to be sent to the model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.messages.message import Raw
from compactor.planning.trigger import Decision
from compactor.result import CompactionResult


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request that is ready: ``messages``, and ``system`` where the system prompt was given apart.

    ``decision`` says whether a compaction was due and why; ``result`` is what it came to, None where there was none.
    """

    messages: Sequence[Raw]
    system: Any
    decision: Decision
    result: CompactionResult | None = field(default=None, repr=False)
