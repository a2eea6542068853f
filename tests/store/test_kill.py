"""A process that appends and compacts is killed at random moments: what it leaves is whole, before or after."""

import os
import random
import signal
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, func, select, text
from sqlalchemy.engine import make_url

from compactor.session.store.records import SessionRecord, View
from compactor.session.store.store import Store
from compactor.session.store.tables import archived, compactions, conversations, messages

from .worker import LEAD, Nursery, message, numbers, nursery

KILLS = int(os.environ.get("COMPACTOR_TEST_KILLS", "20"))

MOST = 40
"""Lines that a child reports at most before it is killed: several compactions."""

PAUSE = 0.02
"""Seconds that it lives on at most after that: about as long as a compaction takes."""

MAKING = 0.15
"""Seconds within which a new store is made."""


@dataclass(frozen=True)
class Bounds:
    """How many messages and compactions a store must have at least, and can have at most."""

    said: tuple[int, int]
    made: tuple[int, int]


def test_what_a_killed_process_leaves_is_whole(where: str) -> None:
    chance = random.Random(5)
    place, name = named(where)
    said = made = appending = folding = 0
    with nursery() as parent:
        for turn in range(KILLS):
            reports = killed(parent, place, turn, chance.randint(0, MOST), chance.uniform(0, PAUSE))
            settle(place, name)
            bounds = bounds_of(reports, said, made)
            said, made = check(place, bounds)
            appending += bounds.said[0] < bounds.said[1]
            folding += bounds.made[0] < bounds.made[1]
    print(
        f"{KILLS} kills, {appending} of them in an append, {folding} in a compaction; {said} messages, {made} commits"
    )
    assert made >= KILLS, "the children hardly got to compact anything"
    assert appending + folding, "all kills fell between"


def test_a_store_that_was_killed_while_it_was_made_opens(where: str) -> None:
    chance = random.Random(6)
    place, name = named(where)
    with nursery() as parent:
        for _ in range(KILLS // 4):
            reports = killed(parent, place, 0, 0, chance.uniform(0, MAKING))
            settle(place, name)
            check(place, bounds_of(reports, 0, 0))
            wipe(place)


def named(where: str) -> tuple[str, str]:
    """The place with a name for those who work there: a server may still be at the last commit of a dead client."""
    if "://" not in where:
        return where, ""
    name = f"compactor-kill-{os.getpid()}"
    return make_url(where).update_query_dict({"application_name": name}).render_as_string(hide_password=False), name


def killed(parent: Nursery, place: str, turn: int, lines: int, seconds: float) -> list[str]:
    """Lets a child work until it has reported so many lines, and a little longer, and kills it; all its reports."""
    parent.begin("talk", place=place, turn=turn)
    pid = int(parent.line().removeprefix("born "))
    reports = [parent.line() for _ in range(lines)]
    assert not any(line.startswith("ended ") for line in reports), "the child failed: its error is on standard error"
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    later, codes = parent.rest()
    assert codes == [-signal.SIGKILL], "the child failed: its error is on standard error"
    return reports + later


def bounds_of(reports: list[str], said: int, made: int) -> Bounds:
    """What may be in the store after these reports, where so many messages and compactions had been there before."""
    began = [int(line.split()[1]) for line in reports if line.startswith("before ")]
    ended = [int(line.split()[1]) for line in reports if line.startswith("after ")]
    return Bounds(
        said=(max([said, *ended]), max([said, *began])),
        made=(made + reports.count("folded"), made + reports.count("folding")),
    )


def settle(place: str, name: str) -> None:
    """Waits until the server has noticed that its client is dead."""
    if not name:
        return
    engine = create_engine(make_url(place).difference_update_query(["application_name"]))
    there = text("SELECT count(*) FROM pg_stat_activity WHERE application_name = :name")
    end = time.monotonic() + 10
    with engine.connect() as connection:
        while connection.execute(there, {"name": name}).scalar_one():
            assert time.monotonic() < end, "the server keeps the connection of a dead client"
            connection.rollback()
            time.sleep(0.005)
    engine.dispose()


def wipe(place: str) -> None:
    """Leaves no store there."""
    if "://" not in place:
        for file in Path(place).parent.glob(f"{Path(place).name}*"):
            file.unlink()
        return
    engine = create_engine(place)
    with engine.begin() as connection:
        schema = connection.execute(text("SELECT current_schema()")).scalar_one()
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    engine.dispose()


def check(place: str, bounds: Bounds) -> tuple[int, int]:
    """Opens the store and looks at all of it; how many messages and compactions there are."""
    store = Store(place)
    try:
        known = {record.conversation_id for record in store.sessions()}
        if not known:
            assert bounds.said[0] == bounds.made[0] == 0
            return 0, 0
        [conversation] = known
        lead, _, kept = store.everything(conversation)
        said = len(kept)
        assert bounds.said[0] <= said <= bounds.said[1]
        assert lead == [LEAD]
        assert [each.position for each in kept] == list(range(said))
        assert [each.raw for each in kept] == [message(number) for number in range(1, said + 1)]
        view, lineage, rows = store.view(conversation), store.lineage(conversation), tables(place, conversation)
    finally:
        store.close()
    check_view(view, said)
    check_lineage(lineage, rows["compactions"])
    check_rows(rows, view, said)
    made = len(rows["compactions"])
    assert bounds.made[0] <= made <= bounds.made[1]
    return said, made


def check_view(view: View, said: int) -> None:
    """What is sent has every message, itself or in the summary, once and in order."""
    sent = [number for raw in (*view.left, *(each.raw for each in view.later)) for number in numbers(raw)]
    assert sorted(sent) == list(range(1, said + 1))
    there = [raw for raw in view.messages if len(numbers(raw)) == 1]
    assert [numbers(raw)[0] for raw in there] == sorted(numbers(raw)[0] for raw in there)
    assert [each.position for each in view.later] == list(range(view.covered, said))


def check_lineage(lineage: list[SessionRecord], made: list[dict[str, Any]]) -> None:
    """One session is running; each earlier one was ended by the compaction that began the next."""
    assert [record.ended_at is None for record in lineage] == [False] * (len(lineage) - 1) + [True]
    assert [record.end_reason for record in lineage] == ["compression"] * (len(lineage) - 1) + [None]
    assert [record.number for record in lineage] == list(range(1, len(lineage) + 1))
    names = [record.id for record in lineage]
    assert [record.parent_id for record in lineage] == [None, *names[:-1]]
    assert [(row["session_id"], row["child_id"]) for row in made] == list(pairwise(names))


def check_rows(rows: dict[str, Any], view: View, said: int) -> None:
    """The counts agree with each other, and what was archived was there and covered."""
    made, row = rows["compactions"], rows["conversation"]
    assert row["length"] == said
    assert row["version"] == view.version == view.state.count == len(made)
    assert [each["number"] for each in made] == list(range(1, len(made) + 1))
    covered = [0, *(each["covered"] for each in made)]
    assert all(before < after for before, after in pairwise(covered))
    assert covered[-1] == view.covered <= said
    assert all(each["undone_at"] is None for each in made)
    ends = dict(zip((each["id"] for each in made), covered[1:], strict=True))
    assert all(position < ends[compaction] for compaction, position in rows["archived"])
    assert len(rows["archived"]) == len({position for _, position in rows["archived"]})


def tables(place: str, conversation: str) -> dict[str, Any]:
    """The rows behind a conversation, oldest first, read past the store."""
    engine = create_engine(place if "://" in place else f"sqlite:///{place}")
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalars().all() == ["ok"]
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        row = select(conversations).where(conversations.c.id == conversation)
        made = select(compactions).order_by(compactions.c.id)
        places = select(archived.c.compaction_id, messages.c.position).join(messages)
        assert connection.execute(select(func.count()).select_from(conversations)).scalar() == 1
        found = {
            "conversation": dict(connection.execute(row).mappings().one()),
            "compactions": [dict(each) for each in connection.execute(made).mappings()],
            "archived": [tuple(each) for each in connection.execute(places)],
        }
    engine.dispose()
    return found
