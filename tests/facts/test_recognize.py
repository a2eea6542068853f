"""One pass over a conversation finds its facts, whatever the content."""

import json
from typing import Any

import pytest

from compactor.facts import Kind, recognize
from compactor.messages.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


def said(role: str, text: str) -> Message:
    return Message(role, (Text(text),))


def called(id_: str, name: str, output: str, **arguments: Any) -> list[Message]:
    call = ToolCall((id_,), name, json.dumps(arguments))
    return [Message("assistant", (call,)), Message("tool", (ToolResult((id_,), (Text(output),)),))]


def test_a_conversation_gives_facts_of_every_kind_in_order() -> None:
    facts = recognize(
        [
            said("user", "Fix the login bug. Never edit generated files. The server runs on port 8443."),
            said("assistant", "The root cause is the cache. Next I will patch it. I added a test."),
            *called("1", "Read", "def login(user):\n    return user\n", file_path="auth.py"),
            *called("2", "Edit", "ok", file_path="auth.py", new_string="def login(user, realm):"),
            *called("3", "Bash", "Exit code: 1\nAssertionError: realm", command="pytest -q"),
        ]
    )
    found = {(fact.kind, fact.subject, fact.position) for fact in facts}
    assert found >= {
        (Kind.ASK, "", 0),
        (Kind.CONSTRAINT, "", 0),
        (Kind.VALUE, "", 0),
        (Kind.DECISION, "", 1),
        (Kind.PLAN, "", 1),
        (Kind.REPORT, "", 1),
        (Kind.LOOK, "auth.py", 3),
        (Kind.SYMBOL, "auth.py", 3),
        (Kind.OUTCOME, "auth.py", 5),
        (Kind.FAILURE, "pytest", 7),
        (Kind.ERROR, "pytest", 7),
        (Kind.CALL, "Bash", 7),
    }
    assert [fact.position for fact in facts] == sorted(fact.position for fact in facts)
    assert all(0 <= fact.weight <= 1 for fact in facts)


def test_the_mark_of_the_provider_makes_a_failure() -> None:
    result = ToolResult(("1",), (Text("no such order"),), raw={"is_error": True})
    facts = recognize([Message("assistant", (ToolCall(("1",), "get_order", "{}"),)), Message("user", (result,))])
    assert [fact.text for fact in facts if fact.kind is Kind.FAILURE] == ["get_order() → failed: no such order"]


def test_a_check_that_counts_failures_failed_whatever_its_exit_code() -> None:
    command = "git stash -q && python -m pytest tests | tail -3; git stash pop"
    facts = recognize(
        [
            *called("1", "Bash", "Exit code: 0\n1 failed, 180 passed in 1.36s", command=command),
            *called("2", "Bash", "[main 3fa9c1d] Count 2 errors", command="git commit -m 'Count 2 errors'"),
        ]
    )
    assert [(fact.kind, fact.subject) for fact in facts if fact.kind in (Kind.FAILURE, Kind.OUTCOME)] == [
        (Kind.FAILURE, "pytest"),
        (Kind.OUTCOME, "git commit"),
    ]


def test_directories_are_no_files() -> None:
    facts = recognize(
        [
            *called("1", "list_dir", "a b", path="."),
            *called("2", "search", "a: 1", path="src", pattern="a"),
            *called("3", "search", "a: 1", path="src/a.py", pattern="a"),
            *called("4", "read_file", "all: x", path="bin/run"),
        ]
    )
    assert [fact.subject for fact in facts if fact.kind is Kind.FILE] == ["src/a.py", "bin/run"]


def test_rules_of_users_bind_as_they_were_written() -> None:
    text = "Fix it.\n\nGround rules:\n- Prefer small commits. I push.\n- No mocks.\n\nNo edits yet."
    for role, share in (("user", 1.0), ("system", 0.5)):
        found = [(f.text, f.weight) for f in recognize([said(role, text)]) if f.kind is Kind.CONSTRAINT]
        listed = [("Prefer small commits. I push.", 1.0), ("No mocks.", 1.0)] if role == "user" else []
        assert found == [*listed, ("No edits yet.", share)]


def test_a_command_in_the_background_solves_nothing() -> None:
    facts = recognize(called("1", "Bash", "Command running in background with ID: b1", command="make serve"))
    assert [(fact.text, fact.subject) for fact in facts if fact.kind is Kind.OUTCOME] == [
        ("`make serve` → started in the background", "")
    ]


def test_only_orders_bind_in_a_long_text_of_rules() -> None:
    rules = "Never push to main. " + "You should prefer tabs here. " * 40
    for role in ("user", "system"):
        facts = recognize([said(role, rules)])
        assert [fact.text for fact in facts if fact.kind is Kind.CONSTRAINT] == ["Never push to main."]


def test_what_is_older_than_the_reading_is_only_sampled() -> None:
    output = "\n".join(f"setting number {number} of the_service" for number in range(200))
    messages = [message for name in "abc" for message in called(name, "Read", output, file_path=f"{name}.txt")]
    facts = recognize(messages, len(output) + 100)
    read = {index: sum(len(fact.text) for fact in facts if fact.position == index) for index in (1, 3, 5)}
    assert read[1] < 500 < 3000 < read[3] == read[5]
    assert {fact.subject for fact in facts if fact.kind is Kind.FILE} == {"a.txt", "b.txt", "c.txt"}


def test_a_list_of_the_agent_gives_its_items_with_their_status() -> None:
    todos = [{"content": "write tests", "status": "in_progress"}, {"content": "ship", "status": "pending"}]
    facts = recognize(called("1", "TodoWrite", "ok", todos=todos))
    assert [fact.text for fact in facts if fact.kind is Kind.PLAN] == ["[in_progress] write tests", "[pending] ship"]


@pytest.mark.parametrize(
    "part",
    [
        Text(""),
        Text(" \n"),
        Text("\ud800 lone"),
        Media("image", "chart.png"),
        Reasoning("thought"),
        Opaque("video_block", object()),
        ToolCall((), "", "{"),
        ToolCall(("1",), None, None),  # type: ignore[arg-type]
        ToolCall(("1",), "t", {"a": {1, 2}}),  # type: ignore[arg-type]
        ToolCall(("1",), "t", "[" * 5000),
        ToolCall(("1",), "t", '{"command": 5, "path": ["x"], "todos": [1, {"status": null}]}'),
        ToolResult((), ()),
        ToolResult(("9",), (Media("image", "x"), Opaque("odd"))),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant", "tool", "system", "narrator"])
def test_odd_content_never_raises(role: str, part: Part) -> None:
    for fact in recognize([Message(role, (part,)), Message("tool", (ToolResult(("1",), (Text("x"),)),))]):
        assert "object at 0x" not in fact.text
