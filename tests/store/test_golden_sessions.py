"""The worked example's step 7: what a compaction makes of the session that it ends (REFERENCE sections 9 and 11)."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from compactor import CompactionResult, Session
from compactor.session.store.records import SessionRecord
from compactor.session.store.store import Store
from compactor.testing import GoldenCase, assistant, golden, load_cases, rounds, run_case, user

[EXAMPLE] = [
    case
    for case in load_cases(Path(__file__).parents[1] / "data" / "golden" / "worked_example.yaml")
    if case.name == "the worked example"
]
TITLE = "Fix login bug"
DECISION = "I decided to keep the session cookie in src/session.py because the login page reads it."


class Stored:
    """Takes the place of the compactor of a golden case: a session that keeps what it does in a store."""

    def __init__(self, folder: Path, **about: Any) -> None:
        self.store = Store(folder / "sessions.db")
        self.memory = folder / "memory"
        self._about = about

    def __call__(self, policy: Any, *, model: str | None, overrides: Mapping[str, Any], summarizer: Any) -> "Stored":
        plugin = {"use": "markdown_memory", "config": {"folder": str(self.memory)}}
        self.session = Session(
            policy,
            model=model,
            overrides={**overrides, "plugins": [plugin]},
            summarizer=summarizer,
            environ={},
            store=self.store,
            **self._about,
        )
        return self

    def compact(self, messages: Sequence[Any], **given: Any) -> CompactionResult:
        self.given = messages
        result = self.session.before_call(messages, system=given["system"], tools=given["tools"]).result
        assert result is not None
        return result

    @property
    def lineage(self) -> list[SessionRecord]:
        """Its sessions, oldest first."""
        assert self.session.id is not None
        return self.store.lineage(self.store.session(self.session.id).conversation_id)


def worked(monkeypatch: pytest.MonkeyPatch, folder: Path, **about: Any) -> Stored:
    """The example run through a session, steps 1 to 6 and 8 checked by the case itself."""
    stored = Stored(folder, **about)
    monkeypatch.setattr(golden, "Compactor", stored)
    messages = list(EXAMPLE.messages)
    assert messages[4] == {"assistant": {"chars": 4000}}
    messages[4] = {"assistant": DECISION.ljust(4000)}  # as long, so that all figures stay
    run_case(GoldenCase.model_validate({**EXAMPLE.model_dump(), "model": "gpt-4o", "messages": messages}))
    return stored


def again(stored: Stored) -> None:
    """Another compaction of the same conversation."""
    longer = [*stored.given, assistant("Done."), user("Go on."), *rounds(20, chars=20_000), user("And now?")]
    assert stored.session.compact(longer).changed


def test_the_old_session_ends_and_its_child_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored = worked(monkeypatch, tmp_path, title=TITLE, source="telegram")
    old, new = stored.lineage
    assert (old.end_reason, new.end_reason, new.ended_at) == ("compression", None, None)
    assert (old.parent_id, new.parent_id) == (None, old.id)
    assert (old.title, new.title) == (TITLE, "Fix login bug #2")
    assert (old.source, new.source) == ("telegram", "telegram")
    assert (old.model, new.model) == ("gpt-4o", "gpt-4o")
    assert (old.policy, new.policy) == ("hermes", "hermes")
    assert old.ended_at == new.started_at
    assert stored.session.id == new.id != old.id
    for record in (old, new):
        assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{6}", record.id)


def test_the_old_session_is_logged_to_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored = worked(monkeypatch, tmp_path)
    [path] = (tmp_path / "sessions").iterdir()
    assert path.name == f"session_{stored.lineage[0].id}.json"
    logged = json.loads(path.read_text("utf-8"))
    assert logged["messages"] == stored.given[1:]  # the system prompt is said apart
    assert logged["end_reason"] == "compression"


def test_the_next_compaction_makes_number_three(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored = worked(monkeypatch, tmp_path, title=TITLE)
    again(stored)
    first, second, third = stored.lineage
    assert [record.title for record in (first, second, third)] == [TITLE, "Fix login bug #2", "Fix login bug #3"]
    assert [record.end_reason for record in (first, second, third)] == ["compression", "compression", None]
    assert [record.parent_id for record in (first, second, third)] == [None, first.id, second.id]
    assert {record.source for record in (first, second, third)} == {"cli"}  # where no platform is named
    assert stored.session.state.count == 2


def test_without_a_title_there_is_no_new_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored = worked(monkeypatch, tmp_path)
    again(stored)
    assert [record.title for record in stored.lineage] == [None, None, None]


def test_memory_is_flushed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored = worked(monkeypatch, tmp_path, title=TITLE)
    assert DECISION in (stored.memory / "MEMORY.md").read_text("utf-8")
