"""Eight processes append to one conversation and compact it: one winner each time, nothing lost, nobody stuck."""

import json
import os
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from compactor.messages.message import Raw
from compactor.session.store.records import MessageRecord
from compactor.session.store.store import Store
from compactor.testing import user

from .worker import LEAD, digest, nursery

SECONDS = float(os.environ.get("COMPACTOR_TEST_RACE_SECONDS", "5"))
WORKERS = 8


def test_of_eight_workers_one_wins_each_time(where: str, tmp_path: Path) -> None:
    store = Store(where)
    conversation = store.begin(lead=[LEAD], title="race").conversation_id
    began = time.monotonic()
    with nursery() as parent:
        parent.begin("race", WORKERS, place=where, conversation=conversation, seconds=SECONDS, notes=str(tmp_path))
        _, codes = parent.rest()
    took = time.monotonic() - began
    assert codes == [0] * WORKERS, "a worker failed: its error is on standard error"
    assert took < SECONDS + 30, f"workers were stuck: {took:.0f} seconds"
    done = [json.loads((tmp_path / f"{child}.json").read_text()) for child in range(WORKERS)]
    view, lineage, stats = store.view(conversation), store.lineage(conversation), store.stats()
    lead, _, kept = store.everything(conversation)
    store.close()

    check_messages(kept, done)
    won = check_commits(done)
    lost, busy = (sum(each[name] for each in done) for name in ("lost", "busy"))
    print(
        f"{SECONDS:g} s, {WORKERS} workers: {len(kept) / SECONDS:.0f} messages and {len(won) / SECONDS:.0f} commits "
        f"a second; {lost} commits refused, {busy} times busy"
    )
    assert all(each["positions"] for each in done), "a worker never had its turn"
    assert lost, "no worker lost its lease to another: this was no race"
    assert busy, "no worker met another's lease: this was no race"

    assert (view.version, stats.compactions, view.state.count) == (len(won),) * 3
    assert [record.number for record in lineage] == list(range(1, len(won) + 2))
    assert [record.ended_at is None for record in lineage] == [False] * len(won) + [True]
    assert view.covered == won[-1]
    assert view.later == kept[view.covered :]
    assert view.messages == [*lead, user(digest_of(kept[: view.covered])), *(each.raw for each in view.later)]


def check_messages(kept: Sequence[MessageRecord], done: Sequence[Any]) -> None:
    """Every message that a worker was told was kept is there, once, where it was told, and no other."""
    assert [each.position for each in kept] == list(range(sum(len(each["positions"]) for each in done)))
    expected: dict[int, Raw] = {}
    for child, each in enumerate(done):
        assert each["positions"] == sorted(each["positions"])
        expected |= {position: user(f"{child}:{number}") for number, position in enumerate(each["positions"])}
    assert {each.position: each.raw for each in kept} == expected


def check_commits(done: Sequence[Any]) -> list[int]:
    """Each version has one winner, and covers more than the one before; what each covered."""
    commits = sorted(tuple(commit) for each in done for commit in each["commits"])
    assert [version for version, _ in commits] == list(range(1, len(commits) + 1))
    covered = [covered for _, covered in commits]
    assert all(before < after for before, after in pairwise(covered))
    return covered


def digest_of(kept: Sequence[MessageRecord]) -> str:
    """What the last summary is where each had the one before it, and every message since."""
    sums = ""
    for each in kept:
        sums = digest(sums, each.raw["content"])
    return sums
