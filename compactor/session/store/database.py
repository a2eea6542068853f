"""The database of a store: where it is, how it is opened, and its version."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from compactor.errors import StoreError
from compactor.session.store.tables import metadata

NEWEST = "0002"
"""The revision that the newest migration leads to."""

_BUSY_SECONDS = 30
"""How long SQLite waits for another process's write."""

_MIGRATION_LOCK = 0x636F6D70
"""Number of PostgreSQL's advisory lock: one process migrates, the others wait."""


def default_path() -> Path:
    """The file that is used where a policy says ``session.store: default``: in the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("compactor") / "sessions.db"


class Database:
    """An open database, at the newest version. Its transactions are short, and one at a time for one conversation."""

    def __init__(self, where: str | Path) -> None:
        """``where`` is a path, or a URL such as ``postgresql+psycopg://host/name``.

        Raises ``StoreError`` where it cannot be opened, or is of a newer version of Compactor.
        """
        self.where = str(where)
        self.path: Path | None = None
        try:
            self.engine = self._engine()
            self._migrate()
        except (SQLAlchemyError, OSError, ImportError, ValueError, RuntimeError) as error:
            raise StoreError(f"the session store {self.shown} cannot be opened: {_first_line(error)}") from error

    @property
    def shown(self) -> str:
        """The place for people, without a password."""
        if self.path is not None:
            return str(self.path)
        try:
            return make_url(self.where).set(query={}).render_as_string(hide_password=True)
        except (ArgumentError, ValueError):
            return "(not a URL)"

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing and sees one moment in all of its queries. Raises ``StoreError``."""
        one_moment = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with self._told(), self.engine.connect().execution_options(**one_moment) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is kept as a whole or not at all. Raises ``StoreError``."""
        with self._told(), self.engine.connect().execution_options(writing=True) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Closes all connections."""
        self.engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, UnicodeError, OverflowError) as error:
            raise StoreError(f"the session store {self.shown} failed: {_first_line(error)}") from error

    def _engine(self) -> Engine:
        if "://" in self.where:
            url = make_url(self.where)
            if url.get_backend_name() not in ("sqlite", "postgresql"):
                raise StoreError(
                    f"the session store {self.shown} is neither SQLite nor PostgreSQL; "
                    "such as ./sessions.db or postgresql+psycopg://user@host/name"
                )
            if url.get_backend_name() == "postgresql":
                return create_engine(url, pool_pre_ping=True)
            path = url.database
        else:
            path = self.where
        self.path = Path(path or "").expanduser()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(f"sqlite:///{self.path}", connect_args={"timeout": _BUSY_SECONDS})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _migrate(self) -> None:
        """Brings an older store to the newest version; refuses one that is newer than this code."""
        try:
            if self._revision() == NEWEST:
                return
            with self.engine.connect().execution_options(writing=True) as connection, connection.begin():
                if not self.is_sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _MIGRATION_LOCK})
                _upgrade(connection, self.shown)
        except BaseException:
            self.close()  # nobody has the store, who could close it
            raise

    def _revision(self) -> str | None:
        with self.engine.connect() as connection:
            return _revision(connection)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _upgrade(connection: Connection, shown: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "compactor.session.store:migrations")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = _revision(connection)
    if found is not None and found not in known:
        raise StoreError(
            f"the session store {shown} has version {found}, which is newer than this Compactor's {NEWEST}: "
            "update Compactor, or use another store"
        )
    if found is None:
        _check_empty(connection, shown)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _check_empty(connection: Connection, shown: str) -> None:
    """Refuses a database in which another program has tables that are called like ours."""
    taken = set(inspect(connection).get_table_names()) & set(metadata.tables)
    if taken:
        raise StoreError(
            f"{shown} is no session store: another program keeps {', '.join(sorted(taken)[:5])} there; "
            "name another file, or a database or schema of its own"
        )


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # else the driver begins transactions by rules of its own
    for attempt in range(50):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except Exception as error:  # another process is just switching it on, and SQLite does not wait for that
            if attempt == 49 or "locked" not in str(error):
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes then could not get the lock that it needs: it takes it at once.
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _first_line(error: BaseException) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return str(cause).strip().split("\n", 1)[0]
