"""Real transcripts, where the folder with them is there: imported, compacted twice, undone twice, exported as they
came."""

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from compactor import Outcome, Session
from compactor.messages.as_json import compact_json
from compactor.session.hostlist import leading
from compactor.session.store.store import Store

CORPUS = Path(os.environ.get("COMPACTOR_TEST_CORPUS", Path(__file__).parents[2].parent / "shared" / "corpus" / "dev"))
FILES = sorted((CORPUS / "chat").glob("*.json"))
POSTGRES = os.environ.get("COMPACTOR_TEST_POSTGRES_URL")

SMALL = 20_000
"""Tokens up to which a session need not have two compactions in it: what is always kept is most of it."""

pytestmark = [
    pytest.mark.skipif(not FILES, reason=f"no real transcripts: {CORPUS.name}/chat is not beside the project"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("store") / "sessions.db")
    yield store
    store.close()


@pytest.fixture(scope="module")
def on_postgres() -> Iterator[Store]:
    if POSTGRES is None:
        pytest.skip("no PostgreSQL: COMPACTOR_TEST_POSTGRES_URL is not set")
    name = f"round_trip_{uuid.uuid4().hex}"
    server = create_engine(POSTGRES, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    store = Store(make_url(POSTGRES).set(database=name).render_as_string(hide_password=False))
    yield store
    store.close()
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name}"))
    server.dispose()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_comes_out_as_it_went_in(path: Path, on_sqlite: Store) -> None:
    there_and_back(path, on_sqlite)


@pytest.mark.parametrize("path", FILES[::3], ids=lambda path: path.stem)
def test_it_comes_out_of_postgres_as_it_went_in(path: Path, on_postgres: Store) -> None:
    there_and_back(path, on_postgres)


def there_and_back(path: Path, store: Store) -> None:
    document = json.loads(path.read_text("utf-8"))
    messages, tools = document["messages"], document.get("tools") or []
    lead = leading(messages)
    begun = store.begin(lead=messages[:lead], source="import")
    conversation = begun.conversation_id
    store.append(conversation, messages[lead:])
    assert exported(store, conversation) == compact_json(messages)

    tokens = session(store, begun.id, 1_000_000).check(messages, tools=tools).variables["tokens"]
    before = [store.view(conversation).messages]
    for share in (2, 4, 8):  # of some, what the first compaction left is only too much for a much smaller window
        if len(before) == 3:
            break
        name = store.view(conversation).session.id
        done = session(store, name, max(tokens // share, 1)).compact(messages, tools=tools)
        assert done.outcome not in (Outcome.FAILED, Outcome.BUSY), done.reason
        if done.changed:
            before.append(store.view(conversation).messages)
            assert before[-1] == list(done.messages)
        assert exported(store, conversation) == compact_json(messages)
    assert len(before) == 3 or tokens < SMALL, done.reason

    last = session(store, begun.id, tokens)
    assert compact_json(last.messages) == compact_json(before.pop())
    while before:
        assert last.undo()
        assert compact_json(last.messages) == compact_json(store.view(conversation).messages)
        assert compact_json(last.messages) == compact_json(before.pop())
    assert not last.undo()
    assert compact_json(last.messages) == exported(store, conversation) == compact_json(messages)


def session(store: Store, name: str, window: int) -> Session:
    """Goes on with a session as another process would."""
    overrides = {
        "summary.summarizers": ["extractive"],
        "window.context_length": window,
        "counter": "estimate",
        "session.logs": False,  # of a store on a server they would go to the user's own data folder
    }
    return Session(model="gpt-4o", overrides=overrides, environ={}, store=store, session_id=name)


def exported(store: Store, conversation: str) -> str:
    """The whole conversation as it was said, as compact JSON."""
    lead, _, said = store.everything(conversation)
    return compact_json([*lead, *(message.raw for message in said)])
