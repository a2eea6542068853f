"""Real transcripts, where the folder with them is there: every one through both policies, with all laws."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from compactor.engine import Compactor
from compactor.result import CompactionResult, Outcome
from compactor.testing import rounds, user

from . import rules

CORPUS = Path(os.environ.get("COMPACTOR_TEST_CORPUS", Path(__file__).parents[2].parent / "shared" / "corpus" / "dev"))
FILES = sorted((CORPUS / "chat").glob("*.json"))
LARGE = [path for path in FILES if path.stat().st_size > 120_000]
POLICIES = ["hermes", "default"]

SMALL = 20_000
"""Tokens up to which a session need not shrink at half its size: what is always kept is most of it."""

DO_NOT_SHRINK: dict[tuple[str, str], str] = {}
"""(policy, transcript) -> why it does not shrink by a fifth although it is larger than ``SMALL``."""

pytestmark = [
    pytest.mark.skipif(not FILES, reason=f"no real transcripts: {CORPUS.name}/chat is not beside the project"),
    pytest.mark.filterwarnings("ignore"),
]


def compacted(path: Path, policy: str, **overrides: Any) -> tuple[list[rules.Raw], CompactionResult]:
    """A forced compaction with the offline summariser, of which every law holds."""
    document = json.loads(path.read_text("utf-8"))
    messages, tools = document["messages"], document.get("tools") or []
    before = copy.deepcopy(messages)
    compactor = Compactor(policy, model="gpt-4o", overrides={"summary.summarizers": ["extractive"], **overrides})
    done = compactor.compact(messages, tools=tools, force=True)
    assert messages == before
    assert done.outcome is not Outcome.FAILED, done.reason
    result = list(done.messages)
    if not done.changed:
        assert list(done.messages) == messages
        return messages, done
    rules.assert_laws(messages, result)
    assert done.report.tokens_after <= compactor.limits.usable
    if done.report.tokens_before <= compactor.limits.usable:  # else any gain is enough that makes it fit
        assert done.report.tokens_after <= done.report.tokens_before * (1 - compactor.policy.min_gain)
    assert done.report.tokens_after < done.report.tokens_before
    assert done.report.attempts == () or done.report.summarizer == "extractive" or done.report.folded < 10
    json.dumps(result).encode("utf-8")
    return messages, done


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_laws_hold_on_real_sessions(path: Path, policy: str) -> None:
    _, done = compacted(path, policy)
    tokens = done.report.tokens_before
    if tokens < 4000:
        return
    _, half = compacted(path, policy, **{"window.context_length": tokens // 2})
    reason = DO_NOT_SHRINK.get((policy, path.stem))
    if tokens > SMALL and reason is None:
        assert half.report.tokens_after <= tokens * 0.8, half.reason


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_a_second_compaction_updates_the_first(path: Path, policy: str) -> None:
    size = path.stat().st_size // 4
    _, first = compacted(path, policy, **{"window.context_length": size // 2})
    overrides = {"summary.summarizers": ["extractive"], "window.context_length": size // 2}
    compactor = Compactor(policy, model="gpt-4o", overrides=overrides)
    grown = [*first.messages, user("Go on."), *rounds(60, chars=size // 30, first=9000)]
    second = compactor.compact(grown, force=True)  # a new process: nothing but the transcript
    assert second.outcome is Outcome.COMPACTED, second.reason
    rules.assert_summary_fits_in(grown, list(second.messages))
    assert second.report.compaction_count == 2
    assert any("compacted 2 times" in warning for warning in second.report.warnings)
    assert str(second.messages).count(rules.NOTE) <= 1
