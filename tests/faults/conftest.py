"""A small conversation with a place in its folded middle, which most rows of the fault list need."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from compactor.engine import Compactor
from compactor.result import CompactionResult, Outcome
from compactor.testing import ScriptedSummarizer, assistant, call, filler, result, system, user

Raw = dict[str, Any]

HEAD = [system("You are a coding agent."), user("Fix the build."), assistant("On it.")]
TAIL = [user("And the tests?"), assistant("They pass.")]
BULK = [assistant("Reading.", call("bulk", "read_file", {"path": "a.py"})), result("bulk", filler(9000))]


class Folded:
    """A compaction of ``HEAD + middle + BULK + tail``; ``result`` and the prompt that the summariser got."""

    def __init__(
        self,
        middle: Sequence[Raw],
        *,
        head: Sequence[Raw] = HEAD,
        tail: Sequence[Raw] = TAIL,
        policy: str = "hermes",
        **overrides: Any,
    ) -> None:
        self.messages = [*head, *middle, *BULK, *tail]
        before = copy.deepcopy(self.messages)
        self.scripted = ScriptedSummarizer(["## Goal\nGo on."])
        small = {"window.context_length": 8000, "boundaries.tail_budget_ratio": 0.02, "counter": "rough"}
        compactor = Compactor(policy, overrides={**small, **overrides}, summarizer=self.scripted)
        self.result: CompactionResult = compactor.compact(self.messages, force=True)
        assert self.messages == before, "the input was changed"
        assert self.result.outcome is Outcome.COMPACTED, self.result.reason

    @property
    def out(self) -> list[Raw]:
        return [dict(message) for message in self.result.messages]

    @property
    def prompt(self) -> str:
        return self.scripted.requests[0].prompt


@pytest.fixture
def fold() -> Callable[..., Folded]:
    """Compacts the small conversation with the given messages in its middle."""
    return Folded
