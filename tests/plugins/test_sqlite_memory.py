"""Memory in SQLite: what is stored with where it came from, what is recalled, and what many writers do to it."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from compactor.shipped.plugins.sqlite_memory import Plugin

from compactor import CompactionResult, Compactor, Outcome, PolicyError
from compactor.extension.events import PreCompress
from compactor.messages.message import Message, Text
from compactor.testing import ScriptedSummarizer, assistant, rounds, system, user

LOGIN = [
    system("You always help."),
    *rounds(2, chars=3000),
    user("Fix the login of the shop. Never touch the payment gateway. Always answer briefly."),
    assistant("I decided to use the raw form value because the address was decoded twice."),
    *rounds(40, chars=3000, first=2),
    user("Thanks."),
]
PAYMENT = [
    system("You always help."),
    *rounds(40, chars=3000),
    user("Now look at the payment gateway, it times out."),
    *rounds(2, chars=300, first=40),
]


def compacted(path: Path, messages: Any, **config: Any) -> tuple[CompactionResult, str | None]:
    """What came of it, and what the summarizer was told to remember."""
    plugin = {"use": "sqlite_memory", "config": {"path": str(path), **config}}
    policy = {"version": 1, "name": "mine", "extends": "default", "plugins": [plugin]}
    scripted = ScriptedSummarizer(["## Goal\nFix it."])
    engine = Compactor(policy, overrides={"window.context_length": 40_000}, summarizer=scripted)
    done = engine.compact(messages, force=True)
    assert done.outcome is Outcome.COMPACTED
    return done, scripted.requests[0].memory


def failure(done: CompactionResult) -> str | None:
    (report,) = [report for report in done.report.plugins if report.hook == "on_pre_compress"]
    return report.failure


def rows(path: Path, columns: str = "*") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(f"SELECT {columns} FROM facts ORDER BY id").fetchall()


def said(*texts: str, focus: str | None = None) -> PreCompress:
    messages = tuple(Message("user", (Text(text),), index) for index, text in enumerate(texts))
    return PreCompress(messages, messages, None, 0, focus, None)


def plugin(path: Path, **config: Any) -> Plugin:
    return Plugin(Plugin.Config(path=str(path), **config))


def test_facts_are_stored_with_where_they_came_from(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "memory.db"
    done, memory = compacted(path, LOGIN)
    assert failure(done) is None
    assert memory is None  # everything that is known is in the conversation
    stored = {row[0]: row[1:] for row in rows(path, "text, kind, role, message, source, created")}
    kind, role, message, source, created = stored["Never touch the payment gateway."]
    assert (kind, role, message) == ("constraint", "user", 5)
    assert source.startswith("Fix the login of the shop. Never touch")
    assert len(created) == len("2026-01-01 00:00:00")
    assert stored["I decided to use the raw form value because the address was decoded twice."][0] == "decision"
    assert "You always help." not in stored


def test_what_fits_another_conversation_is_recalled(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    compacted(path, LOGIN)
    _, memory = compacted(path, PAYMENT)
    first, *_ = (memory or "").removeprefix("[sqlite_memory]\n").splitlines()
    assert first.startswith("- Never touch the payment gateway. (constraint; user, message 5; noted 20")
    assert "Always answer briefly." not in (memory or "")


def test_two_runs_store_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    compacted(path, LOGIN)
    before = rows(path)
    compacted(path, LOGIN)
    assert rows(path) == before
    plugin(path).on_pre_compress(said("never  touch the PAYMENT gateway"))
    assert [text for (text,) in rows(path, "key")].count("never touch the payment gateway") == 1


@pytest.mark.parametrize("full_text", [True, False])
def test_the_best_comes_first_and_what_is_said_already_is_left_out(tmp_path: Path, full_text: bool) -> None:
    memory = plugin(tmp_path / "memory.db", recall=2, full_text=full_text)
    memory.on_pre_compress(
        said(
            "Always run the linter before a commit.",
            "Never deploy the billing service on Fridays.",
            "The billing exporter must write UTF-8.",
            "The garden should be watered on Fridays.",
        )
    )
    recalled = memory.on_pre_compress(said("Can we deploy the billing service?")) or ""
    assert [line.split(" (")[0] for line in recalled.splitlines()] == [
        "- Never deploy the billing service on Fridays.",
        "- The billing exporter must write UTF-8.",
    ]
    again = plugin(tmp_path / "memory.db", full_text=full_text).on_pre_compress(
        said("Deploy billing.", "You said: never deploy the billing service on fridays!")
    )
    assert "Never deploy" not in (again or "")
    assert "exporter" in (again or "")
    assert "linter" in (memory.on_pre_compress(said("Go on.", focus="the linter")) or "")
    assert memory.on_pre_compress(said("Go on with it, please.")) is None


@pytest.mark.parametrize("full_text", [True, False])
def test_neither_what_was_done_nor_what_shares_one_common_word(tmp_path: Path, full_text: bool) -> None:
    path = tmp_path / "memory.db"
    compacted(path, LOGIN)
    assert {kind for (kind,) in rows(path, "kind")} <= {"ask", "constraint", "decision", "value"}
    assert {role for (role,) in rows(path, "role")} <= {"user", "assistant"}
    memory = plugin(tmp_path / "other.db", full_text=full_text)
    memory.on_pre_compress(said(*(f"Never deploy service{number} at night." for number in range(9))))
    assert memory.on_pre_compress(said("Tell me how they deploy.")) is None
    recalled = memory.on_pre_compress(said("Shall we deploy service4?")) or ""
    assert recalled.splitlines()[0].startswith("- Never deploy service4 at night.")


def test_facts_of_a_sqlite_without_full_text_search_are_indexed_later(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    plugin(path).on_pre_compress(said("Always lock the door."))
    plugin(path, full_text=False).on_pre_compress(said("Never open the window."))
    assert "window" in (plugin(path).on_pre_compress(said("What about the window?")) or "")
    assert "door" in (plugin(path).on_pre_compress(said("What about the door?")) or "")


@pytest.mark.parametrize("full_text", [True, False])
@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("请务必使用中文回答所有问题。", "用中文写吗？"),
        ("Die Tür muss immer geschlossen bleiben.", "Ist die TÜR offen?"),
        ("Never delete 'x' OR \"y\" in AND NEAR(data_store) 100%_sure.", 'What of "data_store" AND (100%?'),
        ("Always say hello \ud800 to the moderator.", "moderator \udfff?"),
    ],
)
def test_any_script_and_any_sign(tmp_path: Path, full_text: bool, fact: str, question: str) -> None:
    memory = plugin(tmp_path / "memory.db", full_text=full_text)
    memory.on_pre_compress(said(fact))
    recalled = memory.on_pre_compress(said(question))
    assert recalled is not None
    assert recalled.startswith(f"- {fact[:9]}")


def test_the_limits(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    texts = [f"Always greet visitor {number} by name." for number in range(9)]
    plugin(path, facts_per_run=3).on_pre_compress(said(*texts))
    assert len(rows(path)) == 3
    plugin(path, max_facts=5).on_pre_compress(said(*texts))
    assert len(rows(path)) == 5
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM facts_index").fetchone() == (5,)
    assert plugin(path, recall=0).on_pre_compress(said("Shall we greet the visitor?")) is None
    assert len((plugin(path).on_pre_compress(said("Shall we greet the visitor?")) or "").splitlines()) == 5


def test_no_secret_is_stored(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    messages = [*LOGIN[:5], user(f"Always use the token {token} for pushes."), *LOGIN[6:]]
    path = tmp_path / "memory.db"
    compacted(path, messages)
    assert any("for pushes" in text for (text,) in rows(path, "text"))
    assert not [file for file in tmp_path.iterdir() if token.encode() in file.read_bytes()]


def test_many_writers_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def write(writer: int) -> None:
        try:
            memory = plugin(path, busy_seconds=30)
            start.wait()
            for number in range(5):
                memory.on_pre_compress(said("Always share this.", f"Never use name{writer}x{number} again."))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    texts = [text for (text,) in rows(path, "text")]
    assert texts.count("Always share this.") == 1
    assert len([text for text in texts if "name" in text and text.startswith("Never")]) == 40
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_writer_that_does_not_let_go_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    compacted(path, LOGIN)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        done, _ = compacted(path, PAYMENT, busy_seconds=0.05)
    assert failure(done) == f"PluginError: the memory {path} cannot be used: database is locked"


@pytest.mark.parametrize("case", ["damaged", "another database", "newer", "no folder", "folder"])
def test_a_file_that_cannot_be_used_is_reported_and_breaks_nothing(tmp_path: Path, case: str) -> None:
    path = tmp_path / "memory.db"
    if case == "damaged":
        path.write_bytes(b"SQLite format 3\0" + b"damaged " * 500)
    elif case == "no folder":
        (tmp_path / "file").write_text("", "utf-8")
        path = tmp_path / "file" / "memory.db"
    elif case == "folder":
        path.mkdir()
    else:
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA user_version = 99" if case == "newer" else "CREATE TABLE facts (other TEXT)")
            database.commit()
    before = path.read_bytes() if path.is_file() else b""
    done, memory = compacted(path, LOGIN)
    assert (failure(done) or "").startswith(f"PluginError: the memory {path} cannot be used: ")
    assert memory is None
    assert not before or case != "damaged" or path.read_bytes() == before


@pytest.mark.parametrize("config", [{"paths": "x"}, {"recall": "12"}, {"facts_per_run": 0}])
def test_a_wrong_config_is_a_mistake_in_the_policy(tmp_path: Path, config: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as caught:
        compacted(tmp_path / "memory.db", LOGIN, **config)
    assert f"plugins.0.config.{next(iter(config))}" in str(caught.value)
