"""State that is restated after a compaction: the to-do list, the files last worked with."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from compactor import Compactor
from compactor.result import CompactionResult
from compactor.testing import ScriptedSummarizer, assistant, call, filler, result, rounds, system, user

Messages = list[dict[str, Any]]

TODOS = {
    "todos": [
        {"content": "Find the leak", "status": "completed"},
        {"content": "Close the pool", "status": "in_progress"},
        {"content": "Write a test", "status": "pending"},
        {"content": "Ask Ana", "status": "cancelled"},
    ]
}
LIST = "To-do list (2 open, 1 done, 1 dropped):\n- [in progress] Close the pool\n- [open] Write a test"
HEADING = "\n\n## Present State\n"


def conversation(*steps: tuple[str, Any], outputs: Mapping[int, str] | None = None) -> Messages:
    """A session with these tool calls near its start."""
    messages = [system("You help."), user("Fix the leak.")]
    for number, (name, arguments) in enumerate(steps):
        messages.append(assistant(None, call(f"step_{number}", name, arguments)))
        messages.append(result(f"step_{number}", (outputs or {}).get(number, "ok")))
    return [*messages, *fill(), user("Go on.")]


def fill() -> Messages:
    """Rounds with a tool that neither keeps a list nor touches a file."""
    return [
        message
        for number in range(30)
        for message in (
            assistant(f"Looking, {number}.", call(f"fill_{number}", "query", {"table": f"t{number}"})),
            result(f"fill_{number}", filler(2000)),
        )
    ]


def compacted(
    messages: Messages,
    *plugins: Any,
    host: Mapping[str, Any] | None = None,
    script: list[Any] | None = None,
    **overrides: Any,
) -> CompactionResult:
    return compactor(plugins, host, script, overrides).compact(messages, force=True)


def compactor(plugins: Any, host: Any = None, script: Any = None, overrides: Any = None) -> Compactor:
    policy = {"version": 1, "extends": "default", "plugins": list(plugins)}
    scripted = script if isinstance(script, ScriptedSummarizer) else ScriptedSummarizer(script or ["## Goal\nA fix."])
    settings = {"window.context_length": 20_000, **(overrides or {})}
    return Compactor(policy, overrides=settings, summarizer=scripted, environ={}, host_state=host or {})


def summary_message(done: CompactionResult) -> str:
    """The whole text of the summary message, without the envelope line."""
    assert done.outcome == "compacted", done.reason
    assert done.summary_index is not None
    content = done.messages[done.summary_index]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return text.rsplit("\n[compactor v1 ", 1)[0]


def state(done: CompactionResult) -> str | None:
    """What stands under the last heading, if that is the one of restated state."""
    text = summary_message(done)
    return text.split(HEADING, 1)[1] if HEADING in text else None


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("todo_write", TODOS, LIST),
        ("TodoWrite", TODOS, LIST),
        (
            "update_plan",
            {"plan": [{"step": "A", "status": "completed"}, {"step": "B", "status": "pending"}]},
            "To-do list (1 open, 1 done):\n- [open] B",
        ),
        (
            "todo",
            {"items": [{"title": "Two\nlines", "status": "In Progress"}]},
            "To-do list (1 open):\n- [in progress] Two lines",
        ),
        ("todo_write", {"todos": [{"content": "A", "status": "done"}]}, "To-do list (0 open, 1 done):"),
        ("todo_write", {"todos": []}, None),
        ("query", {"text": "status"}, None),
    ],
)
def test_the_list_is_read_from_tool_calls(name: str, arguments: Any, expected: str | None) -> None:
    assert state(compacted(conversation((name, arguments)), "todo_state")) == expected


def test_the_newest_list_counts() -> None:
    newer = {"todos": [{"content": "Only this", "status": "pending"}]}
    done = compacted(conversation(("todo_write", TODOS), ("todo_write", newer)), "todo_state")
    assert state(done) == "To-do list (1 open):\n- [open] Only this"
    cleared = compacted(conversation(("todo_write", TODOS), ("todo_write", {"todos": []})), "todo_state")
    assert state(cleared) is None


def _broken() -> Any:
    raise RuntimeError("the list is locked")


@pytest.mark.parametrize(
    ("given", "expected", "failure"),
    [
        (["A", {"content": "B", "status": "completed"}], "To-do list (1 open, 1 done):\n- [open] A", None),
        (lambda: TODOS["todos"], LIST, None),
        (lambda: None, None, None),
        ([], None, None),
        ("A", None, "TypeError: the host's 'todos' are str, not a list of items"),
        ([5], None, "TypeError: an item of the host's 'todos' is int, not a text or a mapping"),
        (_broken, None, "RuntimeError: the list is locked"),
    ],
)
def test_the_host_hands_the_list_over(given: Any, expected: str | None, failure: str | None) -> None:
    messages = conversation(("todo_write", {"todos": [{"content": "Stale", "status": "pending"}]}))
    done = compacted(messages, "todo_state", host={"todos": given})
    assert state(done) == expected
    assert done.report.plugins[0].failure == failure


def test_files_newest_first_with_what_was_done_last() -> None:
    patch = "*** Begin Patch\n*** Update File: src/pool.py\n@@\n-a\n+b\n*** Add File: src/new.py\n+x\n*** End Patch"
    messages = conversation(
        ("read_file", {"path": "src/pool.py"}),
        ("write_file", {"path": "src/a.py", "content": "x"}),
        ("Edit", {"file_path": "src/b.py", "old_string": "x", "new_string": "y"}),
        ("apply_patch", {"input": patch}),
        ("bash", {"command": "cat docs/pool.md"}),
        ("Edit", {"file_path": "src/never.py", "old_string": "x", "new_string": "y"}),
        outputs={5: "Error: no such file"},
    )
    assert state(compacted(messages, "files_state")) == (
        "Files last worked with, newest first:\n- docs/pool.md (read)\n- src/new.py (created)\n- src/pool.py (edited)\n"
        "- src/b.py (edited)\n- src/a.py (wrote)"
    )


def test_the_number_of_files_is_limited() -> None:
    steps = [("read_file", {"path": f"src/file_{number}.py"}) for number in range(40)]
    lines = (state(compacted(conversation(*steps), "files_state")) or "").splitlines()
    assert len(lines) == 1 + 15
    assert lines[1] == "- src/file_39.py (read)"
    few = {"use": "files_state", "config": {"limit": 2}}
    assert len((state(compacted(conversation(*steps), few)) or "").splitlines()) == 1 + 2


@pytest.mark.parametrize(
    "given",
    [
        ["a.py", {"path": "b.py", "action": "edited"}, "a.py"],
        lambda: iter(["a.py", {"path": "b.py", "action": "edited"}]),
    ],
)
def test_the_host_hands_files_over(given: Any) -> None:
    done = compacted(conversation(), "files_state", host={"files": given})
    assert state(done) == "Files last worked with, newest first:\n- a.py\n- b.py (edited)"


def test_files_that_are_none() -> None:
    assert state(compacted(conversation(), "files_state")) is None
    done = compacted(conversation(), "files_state", host={"files": "a.py"})
    assert (done.report.plugins[0].failure or "").startswith("TypeError")


def test_state_stands_last_behind_the_summary_in_the_order_of_the_policy() -> None:
    messages = conversation(("todo_write", TODOS), ("read_file", {"path": "src/a.py"}))
    text = summary_message(compacted(messages, "todo_state", "files_state"))
    assert text.endswith(f"## Goal\nA fix.{HEADING}{LIST}\n\nFiles last worked with, newest first:\n- src/a.py (read)")


def _long_list(tokens: int) -> Callable[[], Any]:
    return lambda: [f"Item {number}: look at the module and write down what it does" for number in range(tokens // 10)]


def test_state_counts_against_the_target() -> None:
    """The target is met with a state of 500 tokens, also where the summary takes all of its budget."""
    use = {"use": "todo_state", "max_tokens": 500}
    budget = "word " * 6000  # longer than any budget: the summary has whatever size it was told to have

    def fitting(request: Any) -> str:
        return "## Goal\n" + budget[: request.budget_tokens * 5 - 50]

    def run(*plugins: Any) -> CompactionResult:
        policy = {"version": 1, "extends": "default", "plugins": list(plugins)}
        overrides = {"window.context_length": 40_000, "target": 0.2}
        made = Compactor(
            policy, overrides=overrides, summarizer=fitting, environ={}, host_state={"todos": _long_list(2000)}
        )
        return made.compact([*conversation()[:-1], *rounds(30, chars=1500), user("Go on.")], force=True)

    with_state, without = run(use), run()
    report = with_state.report.plugins[0]
    assert 400 <= report.tokens <= 500
    assert "more" in (state(with_state) or "")
    for done in (with_state, without):
        assert done.target_missed is None
        assert done.report.target_tokens is not None
        assert done.report.tokens_after <= done.report.target_tokens


def test_state_is_not_read_back_and_is_restated_anew() -> None:
    scripted = ScriptedSummarizer(["## Goal\nA fix."])
    todos = ["First thing"]
    made = compactor(["todo_state"], {"todos": lambda: todos}, scripted)
    first = made.compact(conversation(), force=True)
    assert state(first) == "To-do list (1 open):\n- [open] First thing"
    assert first.state.summary == "## Goal\nA fix."
    todos[:] = ["Second thing"]
    more = [*first.messages, assistant("On it."), *fill(), user("Go on.")]
    for given in (first.state, None):  # from the state and from the transcript alone
        second = made.compact(more, state=given, force=True)
        assert scripted.requests[-1].previous == "## Goal\nA fix."
        assert "First thing" not in scripted.requests[-1].prompt
        assert "First thing" not in json.dumps(second.messages)
        assert state(second) == "To-do list (1 open):\n- [open] Second thing"


def test_state_stands_in_the_static_note_too() -> None:
    scripted = ScriptedSummarizer([RuntimeError("down")])
    overrides = {"summary.on_failure": "static"}
    done = compactor(["todo_state"], {"todos": ["First thing"]}, scripted, overrides).compact(
        conversation(), force=True
    )
    assert done.summary is None
    text = next(str(m["content"]) for m in done.messages if "kind=static" in str(m["content"]))
    assert "Summary generation was unavailable" in text
    body = text.rsplit("\n[compactor v1 ", 1)[0]
    assert body.endswith(f"{HEADING}To-do list (1 open):\n- [open] First thing")
    again = [*done.messages, assistant("On it."), *fill(), user("Go on.")]
    later = ScriptedSummarizer(["## Goal\nA fix."])
    compactor(["todo_state"], {}, later).compact(again, force=True)
    assert later.requests[0].previous is None
    assert "First thing" not in later.requests[0].prompt


def test_a_state_beyond_its_budget_is_cut() -> None:
    use = {"use": "todo_state", "max_tokens": 60}
    done = compacted(conversation(), use, host={"todos": _long_list(5000)})
    assert done.report.plugins[0].tokens <= 60
    assert (state(done) or "").startswith("To-do list (500 open):\n- [open] Item 0")
