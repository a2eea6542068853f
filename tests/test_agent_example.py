"""The agent of the examples works for longer than its model's window, and what docs/sessions.md shows is true."""

import ast
import asyncio
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import iscoroutine
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from compactor import EventKind, Session
from compactor.cli.session import app as session_app
from compactor.session.events import Events
from compactor.session.provider_errors import error_table
from compactor.testing import assistant, rounds, user

from .session.provider_server import Answer, Received, anthropic_answer, openai_answer, openai_stream, serving

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "agent.py"
PAGE = (ROOT / "docs" / "sessions.md").read_text("utf-8")
WINDOW = 8000
ORDERS = [order for order in range(1040, 2000) if order % 13 == 0]


# --- The example -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def agent() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agent_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-X", "utf8", str(EXAMPLE), *arguments]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False, timeout=60)


def test_it_does_its_job_within_the_window(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    turns = re.findall(r"^ *(\d+) \| +([\d,]+) tokens \| ", done.stdout, re.MULTILINE)
    sizes = [int(tokens.replace(",", "")) for _, tokens in turns]
    compacted = re.findall(r"context compacted: ([\d,]+) -> ([\d,]+) tokens", done.stdout)
    assert len(sizes) >= 40
    assert len(compacted) >= 3
    assert max(sizes) <= WINDOW
    assert f"{len(sizes)} turns, {len(sizes)} requests, {len(compacted)} compactions" in done.stdout
    assert f"largest request: {max(sizes):,} tokens of a window of {WINDOW:,}" in done.stdout
    without = re.search(r"without compaction: about ([\d,]+) tokens and refused in turn (\d+)", done.stdout)
    assert without is not None
    assert int(without[1].replace(",", "")) > WINDOW
    assert int(without[2]) < len(sizes)
    assert f"| {len(ORDERS)} orders failed" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_request_has_the_task_word_for_word(agent: ModuleType, tmp_path: Path) -> None:
    requests: list[Any] = []
    model = agent.ScriptedModel(WINDOW)

    def complete(**call: Any) -> Any:
        requests.append(call["messages"])
        return model(**call)

    session = Session(overrides={"window.context_length": WINDOW}, complete=complete)
    messages: list[Any] = [{"role": "system", "content": agent.SYSTEM}, {"role": "user", "content": agent.TASK}]
    agent.write_logs(tmp_path)
    turns = list(agent.work(session, agent.Workspace(tmp_path), messages))
    assert len(requests) == len(turns)
    assert all(agent.TASK in texts_of_user(request) for request in requests)
    assert [int(found) for found in re.findall(r"order (\d+)", (tmp_path / "report.md").read_text("utf-8"))] == ORDERS
    with pytest.raises(agent.TooLong) as refused:  # what would have become of the list that was not compacted
        model(messages=messages[:-1])
    meaning = error_table().classify(refused.value)
    assert (meaning.kind, meaning.limit) == ("context_overflow", WINDOW)


def texts_of_user(request: list[Any]) -> list[str]:
    contents = [message["content"] for message in request if message["role"] == "user"]
    return [
        block if isinstance(block, str) else block["text"]
        for content in contents
        for block in (content if isinstance(content, list) else [content])
    ]


def test_it_says_what_does_not_fit(tmp_path: Path) -> None:
    done = run("--window", "600", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"^no compaction makes it fit: .* of 600; largest: message \d+ \(tool\)", done.stderr)


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("list_files", {}, "a.txt\nlogs/b.log"),
        ("read_file", {"path": "logs/b.log"}, "one\ntwo\n"),
        ("search", {"pattern": "^t"}, "logs/b.log: two"),
        ("search", {"pattern": "three"}, "no line matches"),
        ("search", {"pattern": "("}, "error: error: "),
        ("append_to_file", {"path": "new.md", "text": "a\nb"}, "2 lines added to new.md"),
        ("read_file", {"path": "none.txt"}, "error: FileNotFoundError: "),
        ("read_file", {"path": "../secret.txt"}, "error: PermissionError: ../secret.txt is outside of the folder"),
        ("append_to_file", {"path": "/", "text": ""}, "error: PermissionError: "),
        ("read_file", {"file": "a.txt"}, "error: TypeError: "),
        ("read_file", [], "error: TypeError: "),
        ("run", {"name": "list_files", "arguments": "{}"}, "error: no tool 'run'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_its_tools_stay_in_their_folder_and_answer_mistakes(
    agent: ModuleType, tmp_path: Path, name: str, arguments: Any, result: str
) -> None:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    folder = tmp_path / "inside"
    (folder / "logs").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha", "utf-8")
    (folder / "logs" / "b.log").write_text("one\ntwo\n", "utf-8")
    assert agent.Workspace(folder).run(name, json.dumps(arguments)).startswith(result)


def test_it_works_through_litellm(
    agent: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(calling("list_files", {}), calling("read_file", {"path": "x"}), openai_answer("Done.")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        agent.main(["--model", "openai/m", "--window", "4000"])
    sent = [request.body for request in server.requests]
    assert [len(body["messages"]) for body in sent] == [2, 4, 6]
    assert sent[0]["tools"] == agent.SCHEMAS
    assert sent[1]["messages"][-1]["content"].startswith("logs/day-01.log\n")
    assert sent[2]["messages"][-1]["content"].startswith("error: FileNotFoundError")
    assert "3 turns, 3 requests, 0 compactions\nlargest request: 11 tokens" in capsys.readouterr().out


def calling(name: str, arguments: Any) -> Answer:
    """A chat completion that calls a tool."""
    call = {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return openai_answer(None, "tool_calls", tool_calls=[call])


# --- The page --------------------------------------------------------------------------------------------------------

SECTIONS = {text.partition("\n")[0]: text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
BLOCKS = [
    pytest.param(f"{heading} {number}", block, id=f"{heading} {number}")
    for heading, text in SECTIONS.items()
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL), 1)
]
LIMIT = 16_000
"""Tokens that the provider of the page takes, four characters each; the sessions believe in more."""

PRINTED = {
    "Streaming 1": r"Fine\.",
    "Errors 1": r"shorten one of: (message \d+ \(\w+\)|the \w+.*) \([\d,]+\)",
    "Usage 1": r"1\.0",
    "On disk 1": r"\A\d{8}_\d{6}_[0-9a-f]{6}\n\Z",
    "On disk 4": r"\A\d+ user Fix the \*\*login\*\* \*\*bug\*\*\.\n\Z",
    "Events, logs, spans 1": r"compacting: .*\ncompacted: context compacted: [\d,]+ -> [\d,]+ tokens; ",
}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A provider of both kinds, as the environment of the clients names it. It calls a tool once for each question."""
    with serving() as server:

        def next_answer(request: Received) -> Answer:
            server.requests.append(request)
            tokens = len(json.dumps(request.body["messages"])) // 4
            if tokens > server.limit:
                text = f"This model's maximum context length is {LIMIT} tokens. However, your messages resulted in "
                error = {"message": f"{text}{tokens} tokens.", "code": "context_length_exceeded"}
                return Answer(400, {"error": error})
            if request.path == "/v1/messages":
                return anthropic_answer()
            if request.body.get("stream"):
                return openai_stream()
            asked = request.body.get("tools") and request.body["messages"][-1]["role"] == "user"
            return calling(*server.call) if asked else openai_answer()

        server.limit = LIMIT
        server.call = "read_file", {"path": "a.txt"}
        server.next_answer = next_answer
        for name, path in (("OPENAI", "/v1"), ("ANTHROPIC", "")):
            monkeypatch.setenv(f"{name}_API_KEY", "none")
            monkeypatch.setenv(f"{name}_BASE_URL", f"{server.url}{path}")
        yield server


def long_conversation() -> list[Any]:
    return [user("Fix the login bug."), assistant("On it."), *rounds(20, chars=6000), user("And now?")]


@pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated")  # litellm's own
@pytest.mark.parametrize(("place", "block"), BLOCKS)
def test_a_block_of_the_page(
    place: str,
    block: str,
    provider: Any,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if place.startswith("Errors"):
        provider.limit = 0
    names = {
        "Session": Session,  # which the first block imports
        "session": Session(model="gpt-4o"),
        "messages": long_conversation(),
        "dialogue": [user("Hello."), assistant("Hello."), user("How are you?")],
        "tools": [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}],
        "run_tool": lambda call: f"ran {call.function.name}",
    }
    calls = re.search(r"completion\(|create\(", block) is not None
    if place.startswith("On disk"):
        names["session"] = stored = Session(model="gpt-4o", store="sessions.db", title="Fix login bug")
        if not calls:
            assert stored.compact(long_conversation()).changed
        names["session_id"] = stored.id
        provider.call = "recall_history", {"search": "login"}
    code = compile(block, place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, names)
    if iscoroutine(running):
        asyncio.run(running)
    assert re.search(PRINTED.get(place, r"\A\Z"), capsys.readouterr().out)
    assert bool(provider.requests) == calls
    if calls and not place.startswith("Errors") and "dialogue" not in block:  # refused, compacted, sent again
        first, second = (json.dumps(request.body["messages"]) for request in provider.requests[:2])
        assert len(second) // 4 <= LIMIT < len(first) // 4
    if place in ON_DISK:
        ON_DISK[place](names, provider)


def keeps_the_last_answer(names: dict[str, Any], provider: Any) -> None:
    again = Session(model="gpt-4o", store="sessions.db", session_id=names["session"].id)
    assert again.messages[-1]["content"] == "Fine."
    assert len(again.messages) < len(long_conversation())
    assert again.undo()
    assert list(again.messages[:-1]) == long_conversation()


def goes_on(names: dict[str, Any], provider: Any) -> None:
    sent = names["outgoing"].messages
    assert sent == names["messages"]
    assert sent[-1] == user("Go on.")
    assert len(sent) < len(long_conversation())


def undoes_and_rewinds(names: dict[str, Any], provider: Any) -> None:
    assert names["messages"] == long_conversation()[:1]


def looks_up(names: dict[str, Any], provider: Any) -> None:
    assert provider.requests[0].body["tools"][-1]["function"]["name"] == "recall_history"
    said = provider.requests[-1].body["messages"]
    assert "recall_history" in json.dumps(said[:-2])  # the summary tells of it
    assert said[-1]["content"].startswith("[recall_history] Found:\n- handle 1 (user): Fix the **login** bug.")


ON_DISK = {
    "On disk 1": keeps_the_last_answer,
    "On disk 2": goes_on,
    "On disk 3": undoes_and_rewinds,
    "On disk 5": looks_up,
}
"""What has to be true when these blocks have run."""


def test_the_commands_of_the_page_are_those_that_there_are() -> None:
    documented = [re.match(r"`(\w+)", names) for names, _ in rows("| `compactor session` | |")]
    commands = [command.name for command in session_app.registered_commands]
    assert sorted(found[1] for found in documented if found) == sorted(str(name) for name in commands)


def test_the_policy_of_the_page_compacts_in_the_background(tmp_path: Path) -> None:
    [block] = re.findall(r"^```yaml\n(.*?)^```", SECTIONS["In the background"], re.MULTILINE | re.DOTALL)
    (tmp_path / "ahead.yaml").write_text(block, "utf-8")
    told = []
    session = Session(
        str(tmp_path / "ahead.yaml"),
        overrides={"window.context_length": 64_000},
        on_event=lambda event: told.append(event.kind),
    )
    messages = long_conversation()
    assert session.before_call(messages).messages == messages
    assert session.wait(30)
    messages += [assistant("Not yet."), user("And now?")]
    outgoing = session.before_call(messages)
    assert len(outgoing.messages) < len(messages)
    assert outgoing.messages[-2:] == messages[-2:]
    assert told == [EventKind.BACKGROUND, EventKind.COMPACTED]


def rows(header: str) -> list[list[str]]:
    """The rows of the table with this header."""
    table = PAGE.partition(header)[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def test_every_kind_of_event_is_in_the_table(caplog: pytest.LogCaptureFixture) -> None:
    documented = {kind.strip("`"): level for kind, _, level in rows("| kind | meaning | log |")}
    assert list(documented) == [kind.value for kind in EventKind]
    caplog.set_level("DEBUG", "compactor.session")
    for kind in EventKind:
        Events().tell(kind, "something happened")
    assert [record.levelname.lower() for record in caplog.records] == list(documented.values())


def test_the_attributes_of_the_span_are_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    Session(model="gpt-4o").compact(long_conversation())
    [span] = exporter.get_finished_spans()
    documented = [name for names, _ in rows("| attribute | |") for name in re.findall(r"`([\w.]+)`", names)]
    assert sorted(span.attributes or {}) == sorted(documented)
    assert f"a span `{span.name}`" in " ".join(PAGE.split())
    assert span.instrumentation_scope is not None
    assert f"tracer `{span.instrumentation_scope.name}`" in PAGE
