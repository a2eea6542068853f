"""Which session store a command means, and that store opened."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compactor.cli import options
from compactor.cli.failures import Refusal, Unwritten
from compactor.errors import StoreError

if TYPE_CHECKING:
    from compactor.session.store.store import Store

StorePlace = Annotated[
    str | None,
    typer.Option("--store", metavar="PLACE", help="The store: a file, a URL, or default; else the policy's."),
]
StorePolicy = Annotated[
    str, typer.Option("--policy", metavar="NAME|FILE", help="The policy whose session.store is used.")
]
SessionId = Annotated[
    str, typer.Argument(metavar="ID", help="A session's id, or the beginning of one.", show_default=False)
]

HOW_TO = "`compactor session import FILE` puts conversations there, and so does a program with Session(store=...)"
"""How sessions get into a store."""

_SQLITE = b"SQLite format 3\0"
_OWN_TABLE = "conversations"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is: a file, a URL, or a file in the user's data folder (None)."""

    name: str | None

    @classmethod
    def chosen(cls, store: str | None, policy: str = options.DEFAULT_POLICY) -> "Place":
        """The one that the options ask for; without ``--store`` that of the policy, else the user's own.

        Raises ``Refusal``, and ``PolicyError``.
        """
        if store is None:
            from compactor.policy.loader import load_policy

            store = load_policy(policy).policy.session.store
        elif not store.strip():  # a variable of the shell that is not set
            raise Refusal("--store: expected a file, a URL or default, got nothing")
        return cls(None if store == "default" else store)

    @property
    def file(self) -> Path | None:
        """The file, None for a database on a server."""
        from compactor.session.store.database import default_path

        if self.name is None:
            return default_path()
        if "://" not in self.name:
            return Path(self.name).expanduser()
        scheme, _, path = self.name.partition(":///")
        return Path(path).expanduser() if scheme.startswith("sqlite") else None

    @property
    def is_there(self) -> bool:
        """Whether there is something to open; a server has to be asked."""
        return self.file is None or self.file.exists()

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator["Store"]:
        """The store, closed at the end. One that is not there is made only where that is asked for.

        Raises ``Refusal`` and ``StoreError``.
        """
        from compactor.session.store.store import Store

        if not make and not self.is_there:
            raise Refusal(f"there is no session store {self.file}; {HOW_TO}")
        if self.file is not None:
            _check_ours(self.file)
        store = Store(self.name)
        try:
            yield store
        finally:
            store.close()


@contextmanager
def working() -> Iterator[None]:
    """What the store cannot do here is its failure, and no mistake of who asked. Raises ``Unwritten``."""
    try:
        yield
    except StoreError as error:
        raise Unwritten(str(error)) from error


def clean(text: str) -> str:
    """What was typed, as a database takes it: bytes that are no UTF-8 stand for characters that it refuses."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def told(store: "Store") -> None:
    """Says on standard error which store was used."""
    from compactor.cli.output import errors

    errors().line(store.where, label="store: ", style="cyan")


def _check_ours(path: Path) -> None:
    """Keeps tables from being put into a file that is something else. Raises ``Refusal``."""
    if path.is_dir():
        raise Refusal(f"{path}: this is a directory, not a session store; name a file in it")
    try:
        with path.open("rb") as stream:
            beginning = stream.read(len(_SQLITE))
    except OSError:
        return  # which opening it tells, or there is none yet
    if not beginning:
        return
    if beginning != _SQLITE:
        raise Refusal(f"{path}: this file is no session store (an SQLite database); name another with --store")
    try:
        tables = _tables(path)
    except sqlite3.Error:
        return  # locked just now, or damaged, which opening it tells
    if tables and _OWN_TABLE not in tables:
        raise Refusal(f"{path}: this database is no session store, it holds other tables; name another with --store")


def _tables(path: Path) -> set[str]:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in found}
    finally:
        connection.close()
