"""What keeping a conversation costs, in a store that has many others: SQLite, and PostgreSQL where there is one.

The store is filled with sessions of 1,000 messages, 100 of them, or as many as ``COMPACTOR_TEST_STORE_SESSIONS`` says:
1,000 make a million messages, which takes minutes and 3 GB. PostgreSQL is measured where
``COMPACTOR_TEST_POSTGRES_URL`` names a server, in a database of its own. Seconds are those of the clock: a server's
work is no CPU time of this process. The yardstick is a text that goes into a table of its own, in a transaction of its
own.
"""

import os
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from benchmarks.checking import slope
from benchmarks.compaction import compaction
from benchmarks.measuring import Row, medians
from benchmarks.transcripts import Messages, prose, transcript
from compactor.result import CompactionResult
from compactor.session.store.records import Commit
from compactor.session.store.store import Store

SESSIONS = int(os.environ.get("COMPACTOR_TEST_STORE_SESSIONS", "100"))
MESSAGES = 1_000
POSTGRES = os.environ.get("COMPACTOR_TEST_POSTGRES_URL")
LENGTHS = (10, 1_000, 10_000)
COMPACTED = (1_000, 10_000)
TURNS = 10
"""Messages that are appended together; the figure is for one."""

RARE, COMMON, PIECE = "needle", "timeout schema", "eedle.t"

Case = Callable[[], float]


def measure(rounds: int) -> Iterator[Row]:
    """Milliseconds of what is done to a store, by database, and how an append grows with the conversation."""
    with tempfile.TemporaryDirectory() as folder:
        yield from measure_in(str(Path(folder) / "sessions.db"), "SQLite", rounds)
    if POSTGRES is not None:
        with database(POSTGRES) as where:
            yield from measure_in(where, "PostgreSQL", rounds)


@contextmanager
def database(server: str) -> Iterator[str]:
    """A database on a server, for as long as the block takes; its URL."""
    name = f"benchmark_{uuid.uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        engine.dispose()


def measure_in(where: str, name: str, rounds: int) -> Iterator[Row]:
    """The rows of one database, which is filled first."""
    store = Store(where)
    said = filled(store)
    yield Row(f"{name}: import one message, {SESSIONS * MESSAGES:,} of them", said * 1e6, "us")
    told = {length: begun(store, transcript(length)) for length in LENGTHS}
    yardstick = f"{name}: one row"
    cases: dict[str, Case] = {yardstick: one_row(where), f"{name}: open": partial(opened, where)}
    cases[f"{name}: list 20 sessions"] = timed(partial(store.sessions, limit=20))
    appends = {length: f"{name}: append to {length:,} messages" for length in LENGTHS}
    cases |= {appends[length]: appended(store, told[length]) for length in LENGTHS}
    cases |= {f"{name}: view {length:,} messages": timed(partial(store.view, told[length])) for length in LENGTHS}
    cases |= {f"{name}: {what}": case for what, case in searches(store, told[MESSAGES]).items()}
    for length in COMPACTED:
        messages = transcript(length)
        cases |= {f"{name}: {what}": case for what, case in compactions(store, messages).items()}
    taken = medians(cases, rounds)
    for what, seconds in taken.items():
        yield Row(what, seconds * 1000, "ms", seconds / taken[yardstick], "one row")
    grown = [taken[appends[length]] for length in LENGTHS]
    yield Row(f"{name}: append, growth with the conversation", slope(LENGTHS, grown), "slope")
    store.close()


def filled(store: Store) -> float:
    """Fills a store; the seconds that one message took. In one message of all stands what only it has."""
    messages = transcript(MESSAGES)
    hidden = {"role": "user", "content": f"There is a {RARE} in src/{RARE}.txt."}
    started = time.perf_counter()
    for _ in range(SESSIONS - 1):
        begun(store, messages)
    begun(store, [*messages[:-1], hidden])
    return (time.perf_counter() - started) / (SESSIONS * MESSAGES)


def begun(store: Store, messages: Messages) -> str:
    """A conversation with these messages, the first of which is a system prompt; its id."""
    conversation = store.begin(lead=messages[:1]).conversation_id
    store.append(conversation, messages[1:])
    return conversation


def timed(call: Callable[[], object]) -> Case:
    """A case: the seconds of a call by the clock."""

    def run() -> float:
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    return run


def one_row(where: str) -> Case:
    """A case: a text goes into a table of its own, as fast as the database can do that."""
    engine = create_engine(where if "://" in where else f"sqlite:///{where}.rows")
    said = text("INSERT INTO benchmark_rows VALUES (:said)")
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(text("PRAGMA journal_mode=WAL"))
            connection.execute(text("PRAGMA synchronous=NORMAL"))  # as a store does it
        connection.execute(text("CREATE TABLE benchmark_rows (said TEXT)"))

    def run() -> float:
        started = time.perf_counter()
        for _ in range(TURNS):
            with engine.begin() as connection:
                connection.execute(said, {"said": "x" * 700})
        return (time.perf_counter() - started) / TURNS

    return run


def opened(where: str) -> float:
    """The seconds until a store that is there can be used."""
    started = time.perf_counter()
    store = Store(where)
    taken = time.perf_counter() - started
    store.close()
    return taken


def appended(store: Store, conversation: str) -> Case:
    """A case: the seconds of one more message."""
    source = random.Random(0)

    def run() -> float:
        new = [{"role": "user", "content": prose(source, 100)} for _ in range(TURNS)]
        started = time.perf_counter()
        for message in new:
            store.append(conversation, [message])
        return (time.perf_counter() - started) / TURNS

    return run


def searches(store: Store, conversation: str) -> Mapping[str, Case]:
    """Cases: a search for a word that one message has, for words that many have, in one conversation, for a piece."""

    def search(query: str, within: str | None = None) -> None:
        if not store.search(query, conversation=within):
            raise RuntimeError(f"nothing was found with {query!r}")

    return {
        "search a rare word": timed(partial(search, RARE)),
        "search common words": timed(partial(search, COMMON)),
        "search common words in one conversation": timed(partial(search, COMMON, conversation)),
        "search a piece of a word": timed(partial(search, PIECE)),
    }


def compactions(store: Store, messages: Messages) -> Mapping[str, Case]:
    """Cases: a compaction of a conversation is kept, what it left is read, and it is undone."""
    conversation, result = begun(store, messages), compaction("default", messages)()
    made = commit(result, len(messages) - 1)
    length = f"{len(messages):,} messages"

    def keep() -> None:
        claimed = store.claim(conversation)
        if claimed is None or not store.commit(claimed, made):
            raise RuntimeError("the compaction was not kept")

    def undo() -> None:
        if store.undo(conversation) is None:
            raise RuntimeError("there was nothing to undo")

    # Every round runs them in this order, so each finds what the one before has left.
    return {
        f"claim and commit, {length}": timed(keep),
        f"view {length}, compacted": timed(partial(store.view, conversation)),
        f"undo, {length}": timed(undo),
    }


def commit(result: CompactionResult, covered: int) -> Commit:
    """What a session has kept of a compaction of a whole conversation with one leading system message."""
    return Commit(
        result=result,
        covered=covered,
        count=covered,
        lead=result.messages[:1],
        left=result.messages[1:],
        archived={entry.index - 1: (entry.fate, entry.reason) for entry in result.archive if entry.index > 0},
        rotate=True,
    )
