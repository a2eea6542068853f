"""Places for stores: a SQLite file, or a schema of its own in the PostgreSQL that the environment names."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from compactor.session.store.store import Store

POSTGRES = "COMPACTOR_TEST_POSTGRES_URL"


@contextmanager
def place(database: str, folder: Path) -> Iterator[str]:
    """A path or a URL where no store is yet; what is made there is gone at the end."""
    if database == "sqlite":
        yield str(folder / "sessions.db")
        return
    server = os.environ.get(POSTGRES)
    if not server:
        pytest.skip(f"{POSTGRES} is not set: nothing is tested on PostgreSQL")
    schema = f"store_{secrets.token_hex(8)}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    try:
        url = make_url(server).update_query_dict({"options": f"-csearch_path={schema}"})
        yield url.render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
        engine.dispose()


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # the logs of sessions are written there


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place where no store is yet: a path or a URL."""
    with place(request.param, tmp_path) as found:
        yield found


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all tests of a module that look at nothing but conversations of their own."""
    with place(request.param, tmp_path_factory.mktemp("shared")) as found:
        store = Store(found)
        yield store
        store.close()


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store | None]:
    """As ``shared``, and None for a session that keeps everything in memory."""
    if request.param == "memory":
        yield None
        return
    with place(request.param, tmp_path_factory.mktemp("kept")) as found:
        store = Store(found)
        yield store
        store.close()


@pytest.fixture
def open_store(where: str) -> Iterator[Callable[..., Store]]:
    """Opens the store at ``where``, as often as wanted; all are closed at the end."""
    opened: list[Store] = []

    def opening(**options: Any) -> Store:
        opened.append(Store(where, **options))
        return opened[-1]

    yield opening
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    """A new store."""
    return open_store()
