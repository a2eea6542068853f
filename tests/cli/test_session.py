"""``compactor session``: what it shows of a store, what it takes in and gives out, and what it undoes."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from compactor import Session
from compactor.session.store.store import Store
from compactor.testing import ScriptedSummarizer, assistant, filler, system, user

from .conftest import DATA, LONG, SHORT, Run

POSTGRES = os.environ.get("COMPACTOR_TEST_POSTGRES_URL")
EXAMPLE = Path(__file__).parents[2] / "examples" / "long-session.json"
STORE = ("--store", "s.db")
SMALL = {"window.context_length": 4000, "counter": "estimate"}
ALL = ("show", "lineage", "export", "undo")
RUN = """
import sys
from compactor.cli.main import run
try:
    run()
finally:
    print("MODULES", *(name for name in sys.modules if "." not in name), file=sys.stderr)
"""


@dataclass(frozen=True)
class Made:
    """A conversation that was compacted twice: the ids of its sessions, and what its host said."""

    ids: tuple[str, ...]
    said: list[dict[str, Any]]

    @property
    def id(self) -> str:
        return self.ids[-1]


def make(lineage: str = "rotate", *, store: str = "s.db", compactions: int = 2) -> Made:
    kept = Store(store)
    session = Session(
        overrides={**SMALL, "session.lineage": lineage},
        summarizer=ScriptedSummarizer(["## Goal\nShip it."]),
        environ={},
        store=kept,
        title="Fix the login",
    )
    said: list[dict[str, Any]] = [system("You help.")]
    ids: list[str] = []
    for turn in range(100):
        said.append(user(f"ask zebra{turn} {filler(600)}"))
        session.before_call(said)
        said.append(assistant(f"answer {turn} {filler(600)}"))
        ids += [session.id] if session.id and session.id not in ids else []
        if session.state.count == compactions:
            break
    session.save(said)
    kept.close()
    return Made(tuple(ids), said)


def data(run: Run, *arguments: str, code: int = 0) -> Any:
    done = run("session", *arguments, *STORE, "--json")
    assert done.exit_code == code, done.stderr
    return json.loads(done.stdout)


def flat(text: str) -> str:
    return " ".join(text.split())


def imported(run: Run, *files: Any, store: tuple[str, str] = STORE) -> list[str]:
    done = run("session", "import", *files, *store, "--json")
    assert done.exit_code == 0, done.stderr
    return [each["session"] for each in json.loads(done.stdout)["imported"]]


@pytest.fixture(autouse=True)
def data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def test_an_empty_store_says_how_sessions_get_there_and_is_not_made(run: Run) -> None:
    done = run("session", "list", *STORE)
    assert done.exit_code == 0
    assert "There are no sessions in s.db yet: `compactor session import FILE`" in done.stdout
    assert "store: s.db" in done.stderr
    assert data(run, "list") == {"store": "s.db", "total": 0, "sessions": []}
    assert not Path("s.db").exists()


@pytest.mark.parametrize("arguments", [("show", "2"), ("lineage", "2"), ("export", "2"), ("undo", "2"), ("stats",)])
def test_what_needs_a_store_does_not_make_one(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("session", *arguments, *STORE)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no session store s.db; `compactor session import FILE`")
    assert not Path("s.db").exists()


def test_which_store_is_used(run: Run, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = data_folder / "compactor" / "sessions.db"
    Path("mine.yaml").write_text("version: 1\nname: mine\nextends: default\nsession: {store: mine.db}\n", "utf-8")
    said = [("--policy", "mine.yaml"), ("--policy", "mine.yaml", "--store", "default"), ()]
    for options, where in zip(said, ("mine.db", str(own), str(own)), strict=True):
        assert f"store: {where}\n" in run("session", "list", *options).stderr
        run("session", "import", "short.json", *options)
        assert Path(where).exists()
    monkeypatch.setenv("COMPACTOR_POLICY__SESSION__STORE", "environ.db")
    assert "store: environ.db\n" in run("session", "list").stderr
    assert run("session", "list", "--store", " ").exit_code == 2


def test_list(run: Run) -> None:
    made = make()
    run("session", "import", "short.json", "--title", "Hello", "--source", "chat", "--model", "m-1", *STORE)
    lines = [flat(line) for line in run("session", "list", *STORE).stdout.splitlines()[2:]]
    assert lines[0].split(maxsplit=1)[1].startswith("Hello chat m-1 20")
    assert lines[0].endswith(" 3 running")
    assert [line.split()[0] for line in lines[1:]] == list(reversed(made.ids))
    assert lines[1].endswith(" running")
    assert lines[3].endswith(" ended (compression)")
    some = run("session", "list", "--limit", "1", *STORE).stdout
    assert "Hello" in some
    assert made.id not in some
    assert "Not shown: 3 older sessions; --limit N shows more." in some
    told = data(run, "list", "--limit", "2")
    assert (told["total"], [each["title"] for each in told["sessions"]]) == (4, ["Hello", "Fix the login #3"])


def test_show(run: Run) -> None:
    made = make()
    first = run("session", "show", made.ids[0], "--all", *STORE)
    assert first.exit_code == 0
    shown = flat(first.stdout)
    assert "state ended (compression)" in shown
    assert "1 of its conversation parent -" in shown
    assert f"child {made.ids[1]} ended (compression)" in shown
    assert "- system You help." in shown
    assert "user ask zebra0 the build" in shown
    assert "ScriptedSummarizer" in shown
    told = data(run, "show", made.ids[1])
    (compaction,) = told["compactions"]
    assert (compaction["session_id"], compaction["child_id"]) == made.ids[1:]
    assert compaction["tokens_before"] > compaction["tokens_after"] > 0
    assert (told["session"]["parent_id"], told["children"]) == (made.ids[0], [made.ids[2]])
    own = [each["message"] for each in told["messages"]]
    place = made.said.index(own[0])
    assert own == made.said[place : place + len(own)]
    assert told["system_messages"] == []


def test_show_the_newest_messages_unless_all_are_asked_for(run: Run) -> None:
    (name,) = imported(run, "long.json")
    some, every = (run("session", "show", name, *more, *STORE).stdout for more in ((), ("--all",)))
    assert f"Not shown: {len(LONG) - 1 - 20} earlier messages; --all shows every one." in some
    assert "You are a coding agent." in every
    assert "You are a coding agent." not in some
    assert len(every.splitlines()) - len(some.splitlines()) == len(LONG) - 20 - 1  # and the line that tells of them


@pytest.mark.parametrize("lineage", ["rotate", "in_place"])
def test_lineage(run: Run, lineage: str) -> None:
    made = make(lineage)
    assert len(made.ids) == (3 if lineage == "rotate" else 1)
    told = data(run, "lineage", made.id)
    assert [each["id"] for each in told["sessions"]] == list(made.ids)
    assert [each["number"] for each in told["compactions"]] == [1, 2]
    lines = run("session", "lineage", made.ids[0], *STORE).stdout.splitlines()
    assert lines[0] == "Fix the login"
    assert sum(" compaction " in line for line in lines) == 2
    assert sum(line.rstrip().endswith("<- this one") for line in lines) == 1
    assert sum("undone" in line for line in lines) == 0
    run("session", "undo", made.id, *STORE)
    drawn = run("session", "lineage", made.ids[0], *STORE).stdout
    assert drawn.count("undone") == 1
    assert drawn.count("ended (undo)") == (1 if lineage == "rotate" else 0)


def test_search(run: Run) -> None:
    made = make()
    (other,) = imported(run, "long.json")
    shown = run("session", "search", "zebra0", *STORE).stdout
    assert "ask **zebra0** the build" in shown
    assert made.ids[0] in shown
    (hit,) = data(run, "search", "zebra0")["hits"]
    assert (hit["session_id"], hit["role"]) == (made.ids[0], "user")
    within = {"--lineage": made.id, "--session": made.id}
    found = [len(data(run, "search", "zebra0", option, name)["hits"]) for option, name in within.items()]
    assert found == [1, 0]
    assert data(run, "search", "zebra0", "--lineage", other)["hits"] == []
    assert len(data(run, "search", "build", "--limit", "3")["hits"]) == 3
    nothing = run("session", "search", "xylophone", *STORE)
    assert (nothing.exit_code, nothing.stdout) == (0, "Nothing was said with all of these words: xylophone\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("", *STORE), "there is no word to search for"),
        (("?!", *STORE), "there is no word to search for"),
        (("x", "--session", "a", "--lineage", "b", *STORE), "exclude each other"),
        (("x", "--session", "nobody", *STORE), "there is no session 'nobody'"),
    ],
)
def test_searches_that_make_no_sense(run: Run, arguments: tuple[str, ...], said: str) -> None:
    imported(run, "short.json")
    done = run("session", "search", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("file", [EXAMPLE, DATA / "login_fix.jsonl", DATA / "release_notes.json"])
def test_what_was_imported_is_exported_as_it_was(run: Run, file: Path) -> None:
    text = file.read_text("utf-8")
    whole = None if file.suffix == ".jsonl" else json.loads(text)
    if whole is None:
        given = [json.loads(line) for line in text.splitlines()]
    else:
        given = whole["messages"] if isinstance(whole, dict) else whole
    (name,) = imported(run, file)
    out = json.loads(run("session", "export", name, *STORE).stdout)
    assert json.dumps(out["messages"]) == json.dumps(given)  # the order of keys included
    assert out.get("system") == (whole.get("system") if isinstance(whole, dict) else None)
    assert run("session", "export", name, "--sent", *STORE).stdout == run("session", "export", name, *STORE).stdout


def test_odd_values_and_a_system_prompt_apart_survive(run: Run) -> None:
    text = (
        '{"system": [{"type": "text", "text": "Be brief."}], "messages": '
        '[{"b": 1.50, "role": "user", "a": -0, "content": "\\ud800 \\u0000 ☃"}, '
        '{"role": "assistant", "content": "ok"}]}'
    )
    Path("odd.json").write_text(text, "utf-8")
    (name,) = imported(run, "odd.json")
    assert run("session", "export", name, "-o", "back.json", *STORE).exit_code == 0
    back = Path("back.json").read_text("utf-8")
    assert json.dumps(json.loads(back)) == json.dumps(json.loads(text))
    assert '"b": 1.50' in back
    assert '"a": -0,' in back
    refused = run("session", "export", name, "--jsonl", *STORE)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "the system prompt stands apart" in refused.stderr
    assert run("session", "show", name, *STORE).exit_code == 0


def test_export_to_files(run: Run) -> None:
    (name,) = imported(run, "short.json")
    for options in (("-o", "out.jsonl"), ("-o", "out.txt", "--jsonl")):
        done = run("session", "export", name, *options, *STORE)
        assert (done.exit_code, done.stdout) == (0, "")
        assert done.stderr.splitlines() == [f"wrote {options[1]}", "store: s.db"]
        assert [json.loads(line) for line in Path(options[1]).read_text("utf-8").splitlines()] == SHORT


@pytest.mark.parametrize("place", ["nowhere/out.json", ".", "s.db", "locked.json"])
def test_places_that_cannot_be_written(run: Run, place: str) -> None:
    (name,) = imported(run, "short.json")
    Path("locked.json").write_text("mine", "utf-8")
    Path("locked.json").chmod(0o444)
    before = Path("s.db").read_bytes()
    done = run("session", "export", name, "-o", place, *STORE)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {place}: ")
    assert done.stderr.count("\n") == 1
    assert (Path("s.db").read_bytes(), Path("locked.json").read_text("utf-8")) == (before, "mine")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk(run: Run) -> None:
    (name,) = imported(run, "short.json")
    done = run("session", "export", name, "-o", "/dev/full", *STORE)
    assert done.exit_code == 1
    assert "/dev/full: cannot be written" in done.stderr


def test_import_goes_on_after_a_bad_file(run: Run) -> None:
    Path("bad.json").write_text('{"messages": [', "utf-8")
    Path("empty.json").write_text("", "utf-8")
    done = run("session", "import", "bad.json", "short.json", "gone.json", "empty.json", "long.json", *STORE)
    assert done.exit_code == 1
    told = done.stderr.splitlines()
    assert told[0].startswith("error: bad.json: not JSON: ")
    assert told[1:] == [
        "error: gone.json: there is no such file",
        "error: empty.json: the file is empty",
        "store: s.db",
    ]
    rows = [flat(line).split() for line in done.stdout.splitlines()[2:]]
    assert [(messages, file) for _, messages, file in rows] == [("3", "short.json"), (str(len(LONG)), "long.json")]
    kept = data(run, "list")["sessions"]
    assert [(each["id"], each["title"]) for each in reversed(kept)] == [
        (rows[0][0], "short"),
        (rows[1][0], "long"),
    ]
    errors = [each["error"] for each in data(run, "import", "gone.json", "short.json", code=1)["imported"]]
    assert errors == ["there is no such file", None]


def test_import_from_standard_input_and_what_is_left_out(run: Run) -> None:
    given = json.dumps({"model": "m-2", "tools": [], "messages": SHORT})
    done = run("session", "import", "-", *STORE, given=given)
    assert done.exit_code == 0
    assert "note: kept are messages and the system prompt; what else stands in a file is not: tools\n" in done.stderr
    (kept,) = data(run, "list")["sessions"]
    assert (kept["title"], kept["source"], kept["model"], kept["messages"]) == (None, "import", "m-2", 3)


def test_many_files_have_a_progress_bar_apart_from_what_is_printed(run: Run) -> None:
    for number in range(20):
        Path(f"f{number}.json").write_text(json.dumps(SHORT), "utf-8")
    files = [f"f{number}.json" for number in range(20)]
    done = run("session", "import", *files, *STORE)
    assert "importing" in done.stderr
    assert "20/20" in done.stderr
    assert "importing" not in done.stdout
    assert "importing" not in run("session", "import", *files[:3], *STORE).stderr


@pytest.mark.parametrize("lineage", ["rotate", "in_place"])
def test_undo_until_there_is_nothing_to_undo(run: Run, lineage: str) -> None:
    made = make(lineage)
    sent = json.loads(run("session", "export", made.id, "--sent", *STORE).stdout)["messages"]
    assert len(sent) < len(made.said)
    told = data(run, "undo", made.ids[0])  # whichever session of the conversation is named
    assert (told["undone"]["number"], told["applies"]["number"]) == (2, 1)
    assert told["session"]["id"] == made.ids[-2:][0]
    between = json.loads(run("session", "export", made.id, "--sent", *STORE).stdout)["messages"]
    assert len(sent) < len(between) == told["messages"]
    last = run("session", "undo", made.id, *STORE)
    assert last.exit_code == 0
    assert last.stdout.startswith("Undone: compaction 1, ")
    assert " folded messages, and the " in last.stdout
    assert f"the session {made.ids[0]} goes on, and {len(made.said)} messages are sent" in last.stdout
    for options in ((), ("--sent",)):
        back = json.loads(run("session", "export", made.id, *options, *STORE).stdout)["messages"]
        assert json.dumps(back) == json.dumps(made.said)
    nothing = run("session", "undo", made.id, *STORE)
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "there is no compaction of this conversation to undo, all of them are undone" in nothing.stderr
    assert "store: s.db" in nothing.stderr


def test_undo_what_was_never_compacted(run: Run) -> None:
    (name,) = imported(run, "short.json")
    done = run("session", "undo", name, *STORE, "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "it was never compacted" in done.stderr


def test_stats(run: Run) -> None:
    made = make()
    imported(run, "short.json")
    run("session", "undo", made.id, *STORE)
    told = data(run, "stats")
    assert (told["conversations"], told["sessions"], told["compactions"], told["undone"]) == (2, 4, 2, 1)
    assert told["messages"] == len(made.said) - 1 + len(SHORT)
    assert told["saved_tokens"] > 0
    assert told["bytes"] >= Path("s.db").stat().st_size
    shown = flat(run("session", "stats", *STORE).stdout)
    assert shown.startswith("store s.db ")
    assert "compactions 2, 1 of them undone" in shown
    assert f"version {told['version']} size " in shown


@pytest.mark.parametrize("command", ALL)
def test_ids(run: Run, command: str) -> None:
    first, second = imported(run, "short.json", "long.json")
    common = next(first[:length] for length in range(len(first), 0, -1) if second.startswith(first[:length]))
    unknown, several = run("session", command, "nobody", *STORE), run("session", command, common, *STORE)
    assert (unknown.exit_code, unknown.stdout, several.exit_code, several.stdout) == (2, "", 2, "")
    assert "there is no session 'nobody'; `compactor session list` shows" in unknown.stderr
    assert f"several sessions begin with '{common}': " in several.stderr
    assert first in several.stderr
    assert unknown.stderr.count("\n") == several.stderr.count("\n") == 1
    unique = first[: len(common) + 1]
    assert run("session", command, unique, *STORE).exit_code == (1 if command == "undo" else 0)


@pytest.mark.parametrize("command", [("list",), ("import", "short.json"), ("show", "2")])
@pytest.mark.parametrize(
    ("store", "said"),
    [
        (".", "this is a directory"),
        ("short.json", "this file is no session store"),
        ("other.db", "it holds other tables"),
        ("mysql://somewhere/x", "neither SQLite nor PostgreSQL"),
        ("postgresql+psycopg://me:hunter2@127.0.0.1:1/x", "cannot be opened"),
    ],
)
def test_what_is_no_store_is_left_alone(run: Run, command: tuple[str, ...], store: str, said: str) -> None:
    subprocess.run(
        [sys.executable, "-c", "import sqlite3; sqlite3.connect('other.db').execute('CREATE TABLE t (x)')"], check=True
    )
    before = Path("other.db").read_bytes()
    done = run("session", *command, "--store", store)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "hunter2" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert Path("other.db").read_bytes() == before
    assert json.loads(Path("short.json").read_text("utf-8")) == SHORT


@pytest.mark.parametrize("width", [10, 40, 80])
def test_narrow_terminals(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    made = make()
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in (("list",), ("show", made.ids[0]), ("lineage", made.id), ("search", "zebra0"), ("stats",)):
        done = run("session", *arguments, *STORE)
        assert done.exit_code == 0
        assert made.ids[0] in done.stdout or arguments == ("stats",)  # whole, so that it can be copied
        assert max(map(len, done.stdout.splitlines())) <= max(width, 64)


def test_help_imports_no_database() -> None:
    for arguments in (("--help",), ("import", "--help")):
        command = [sys.executable, "-c", RUN, "session", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        modules = set(done.stderr.rpartition("MODULES ")[2].split())
        assert not modules & {"sqlalchemy", "alembic", "yaml", "jinja2", "pluggy"}


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of a database of the test's own."""
    if POSTGRES is None:
        pytest.skip("COMPACTOR_TEST_POSTGRES_URL names no PostgreSQL")
    from sqlalchemy import create_engine, make_url, text

    name = f"cli_{uuid.uuid4().hex[:12]}"
    engine = create_engine(POSTGRES, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


def test_a_server(run: Run, postgres: str) -> None:
    store = ("--store", postgres)
    assert "There are no sessions in postgresql+psycopg://" in run("session", "list", *store).stdout
    (name,) = imported(run, EXAMPLE, store=store)
    made = make(store=postgres)
    back = json.loads(run("session", "export", name, *store).stdout)["messages"]
    assert json.dumps(back) == json.dumps(json.loads(EXAMPLE.read_text("utf-8"))["messages"])
    assert made.ids[0] in run("session", "search", "zebra0", *store).stdout
    assert run("session", "undo", made.id, *store).exit_code == 0
    assert "undone" in run("session", "lineage", made.id, *store).stdout
    assert made.ids[1] in run("session", "show", made.id, *store).stdout
    assert "a database on a server" in run("session", "stats", *store).stdout
