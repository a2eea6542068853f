"""Stores of other versions: an older one is migrated when it is opened, a newer one refused and left alone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from compactor.errors import StoreError
from compactor.session.store.database import NEWEST
from compactor.session.store.store import Store
from compactor.session.store.tables import metadata
from compactor.testing import user


@contextmanager
def connected(where: str) -> Iterator[Connection]:
    """A transaction past the store."""
    engine = create_engine(where if "://" in where else f"sqlite:///{where}")
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def migrations() -> Config:
    config = Config()
    config.set_main_option("script_location", "compactor.session.store:migrations")
    return config


def make_old(where: str, revision: str) -> None:
    """A store as an older version left it, with one conversation."""
    with connected(where) as connection:
        config = migrations()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        state = json.dumps({"count": 0})
        rows = {
            "conversations": {"id": "c", "title": "Old", "lead": "[]", "state": state, "length": 2, "version": 0},
            "sessions": {"id": "20250101_000000_abcdef", "conversation_id": "c", "number": 1, "title": "Old"},
        }
        rows["conversations"]["created_at"] = rows["sessions"]["started_at"] = 1.0
        rows["sessions"]["source"] = "cli"
        for table, values in rows.items():
            _insert(connection, table, values)
        for position, said in enumerate(("the needle is here", "登录失败")):
            message = {"role": "user", "raw": json.dumps(user(said)), "text": said, "said_at": 1.0}
            place = {"conversation_id": "c", "session_id": "20250101_000000_abcdef", "position": position}
            _insert(connection, "messages", {**message, **place})


def _insert(connection: Connection, table: str, values: dict[str, Any]) -> None:
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)


def revision(where: str) -> Any:
    with connected(where) as connection:
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def test_the_newest_version_is_that_of_the_newest_migration() -> None:
    assert ScriptDirectory.from_config(migrations()).get_heads() == [NEWEST]


@pytest.mark.parametrize("version", ["0001", NEWEST])
def test_an_older_store_is_migrated_when_it_is_opened(where: str, version: str) -> None:
    make_old(where, version)
    store = Store(where)
    try:
        assert store.stats().version == NEWEST == revision(where)
        (record,) = store.sessions()
        assert (record.title, record.messages) == ("Old", 2)
        assert store.view("c").messages == [user("the needle is here"), user("登录失败")]
        assert [hit.snippet for hit in store.search("needle")] == ["the **needle** is here"]
        assert len(store.search("登录失败")) == 1
        store.append("c", [user("another needle")])
        assert len(store.search("needle")) == 2
    finally:
        store.close()
    again = Store(where)
    assert len(again.search("needle")) == 2
    again.close()


@pytest.mark.parametrize("version", ["0003", "9999"])
def test_a_newer_store_is_refused_and_left_alone(where: str, version: str) -> None:
    make_old(where, "0001")
    with connected(where) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
        before = sorted(inspect(connection).get_table_names())
    with pytest.raises(StoreError) as refused:
        Store(where)
    assert f"has version {version}, which is newer than this Compactor's {NEWEST}: update Compactor" in str(
        refused.value
    )
    with connected(where) as connection:
        assert sorted(inspect(connection).get_table_names()) == before
        assert connection.execute(text("SELECT count(*) FROM messages")).scalar() == 2
    assert revision(where) == version


def test_a_database_of_something_else_is_not_disturbed(where: str) -> None:
    with connected(where) as connection:
        connection.execute(text("CREATE TABLE recipes (name TEXT)"))
        connection.execute(text("INSERT INTO recipes VALUES ('soup')"))
    store = Store(where)
    store.begin()
    store.close()
    with connected(where) as connection:
        assert connection.execute(text("SELECT name FROM recipes")).scalar() == "soup"


OPENING = """
import sys
from compactor.session.store.store import Store
sys.stdin.readline()
store = Store(sys.argv[1])
record = store.begin(title=sys.argv[2])
store.append(record.conversation_id, [{"role": "user", "content": "needle"}])
store.close()
"""


def test_processes_that_open_a_new_store_at_once(where: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING, where, f"worker {number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ends
    store = Store(where)
    assert sorted(str(record.title) for record in store.sessions()) == ["worker 0", "worker 1", "worker 2"]
    assert len(store.search("needle")) == 3
    store.close()


def test_migrations_make_the_tables_that_the_code_knows(where: str) -> None:
    Store(where).close()
    with connected(where) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        differences = [difference for difference in compare_metadata(context, metadata) if not _is_search(difference)]
    assert differences == []


def _is_search(difference: Any) -> bool:
    """Full-text search is in no metadata: a table and its shadows on SQLite, an index on PostgreSQL."""
    return str(difference[0]).startswith("remove_") and str(difference[1].name).startswith("message_search")
