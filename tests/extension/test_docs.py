"""``docs/plugins.md`` documents every hook with its exact argument, and all that it shows works."""

import asyncio
import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from string import Template
from typing import Any

import pytest

from compactor import CompactionResult, Compactor, Outcome
from compactor.cli.plugin_templates import POLICY
from compactor.extension import hookspecs
from compactor.extension.host import hook_names
from compactor.extension.loading import find_plugin, installed
from compactor.extension.protocols import PruningContext
from compactor.messages.message import Media, Message, Text, ToolResult
from compactor.testing import assistant, call, result, rounds, user
from compactor.tokens.rough import Rough

from .conftest import SESSION, Place

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
FILES = {match[1]: match[0] for match in re.findall(r"^```python\n(# (\w+)\.py\n(?:.*\n)*?)```$", PAGE, re.MULTILINE)}
POLICIES = re.findall(r"^```yaml\n((?:.*\n)*?)```$", PAGE, re.MULTILINE)
HEAD = "version: 1\nname: docs\nextends: default\nwindow: {context_length: 16000}\n"


def signature(hook: str) -> str:
    """The hook as its heading has it."""
    parameters = inspect.signature(getattr(hookspecs, hook)).parameters.values()
    return f"{hook}({', '.join(f'{given.name}: {given.annotation.__name__}' for given in parameters)})"


def section(hook: str) -> str:
    heading = f"### `{signature(hook)}`\n"
    assert PAGE.count(heading) == 1, f"docs/plugins.md has no section {heading}"
    return re.split(r"^##", PAGE.partition(heading)[2], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("hook", hook_names())
def test_a_hook_is_documented_with_an_example(hook: str) -> None:
    text = section(hook)
    assert re.search(rf"^@compactor\.hookimpl\n(async )?def {hook}\(", text, re.MULTILINE)
    for given in inspect.signature(getattr(hookspecs, hook)).parameters.values():
        assert is_dataclass(given.annotation)
        for field in fields(given.annotation):
            assert f"\n| `{field.name}` | " in text, f"{given.annotation.__name__}.{field.name} is not documented"


def test_the_first_policy_is_what_the_command_says() -> None:
    lines = [Template(line).substitute(name="my_memory", path="./my_memory.py") for line in POLICY["memory"]]
    assert "```yml\nversion: 1\nname: mine\nextends: default\n" + "\n".join(lines) + "\n```" in PAGE


def test_every_block_is_a_file_that_a_policy_of_the_page_lists() -> None:
    assert len(FILES) == PAGE.count("```python")
    used = {name for text in POLICIES for name in re.findall(r"\./(\w+)\.py", text)}
    assert used == set(FILES)


def compacted(
    place: Place, name: str, session: list[Any] = SESSION, *, asynchronous: bool = False, **options: Any
) -> CompactionResult:
    """Compacts a session under the policy of the page that lists this plugin, with all the page's files around."""
    for file, code in FILES.items():
        place.write(file, code)
    (text,) = [text for text in POLICIES if f"./{name}.py" in text]
    place.policy.write_text(HEAD + text, "utf-8")
    compactor = Compactor(place.policy, environ={}, **options)
    if asynchronous:
        done = asyncio.run(compactor.acompact(session, force=True))
    else:
        done = compactor.compact(session, force=True)
    assert [call.failure for call in done.report.plugins if call.failure] == []
    return done


def summary(done: CompactionResult) -> str:
    assert done.summary_index is not None
    return str(done.messages[done.summary_index]["content"])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_example_works(place: Place, name: str, asynchronous: bool) -> None:
    done = compacted(place, name, asynchronous=asynchronous)
    assert done.changed, done.reason


def test_the_example_of_a_config(place: Place) -> None:
    done = compacted(place, "remember")
    assert [(call.plugin, call.tokens > 0) for call in done.report.plugins] == [("remember", True)]


def test_the_examples_of_the_life_cycle(place: Place) -> None:
    checkout = call("co", "run", {"command": "git checkout -b cache"})
    asked = user("Go on.\nRemember: it is BUILD-77.")
    session = [*SESSION[:8], asked, assistant("On it.", checkout), result("co", "ok"), *SESSION[8:]]
    done = compacted(place, "noted", session)
    said = {report.plugin: report.tokens for report in done.report.plugins}
    assert said["noted"] > 0
    assert "Branch: cache\n" in summary(done)
    line: Mapping[str, Any] = json.loads((place.folder / "compactions.jsonl").read_text("utf-8"))
    assert line["tokens_after"] == done.report.tokens_after


def test_the_example_of_host_state(place: Place) -> None:
    assert "Branch: wip" in summary(compacted(place, "branch", host_state={"branch": lambda: "wip"}))


@pytest.mark.parametrize(
    ("command", "branch"),
    [("git switch -c a/b && ls", "a/b"), ("git switch main", "main"), ("git checkout dev -- x.py", None), ("ls", None)],
)
def test_the_example_of_state_without_a_host(place: Place, command: str, branch: str | None) -> None:
    turn = [assistant("On it.", call("co", "run", {"command": command})), result("co", "ok"), user("And?")]
    done = compacted(place, "branch", [*SESSION[:8], *turn, *SESSION[8:]])
    assert re.findall(r"^Branch: (.*)$", summary(done), re.MULTILINE) == ([] if branch is None else [branch])


def test_the_example_of_a_failure(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    abort = {"summary.summarizers": ["litellm"], "summary.on_failure": "abort"}
    done = compacted(place, "alarm", overrides=abort)
    assert done.outcome is Outcome.FAILED
    assert f"compaction: failed: {done.reason}" in caplog.text


def test_the_example_of_a_summarizer(place: Place) -> None:
    done = compacted(place, "asked", [*SESSION[:8], user("What about the cache?"), *SESSION[8:]])
    assert done.report.summarizer == "asked"
    assert "- What about the cache?" in summary(done)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_example_of_an_asynchronous_summarizer(place: Place, asynchronous: bool) -> None:
    done = compacted(place, "client", asynchronous=asynchronous)
    assert done.report.summarizer == "client"
    assert "What mine-1 makes of " in summary(done)


def test_the_example_of_a_pruner(place: Place) -> None:
    assert compacted(place, "collapse").report.pruned > 0
    found = find_plugin(place.write("collapse", FILES["collapse"]), place.folder)
    pruner = found.code.register_pruners()["collapse"](longest=20)
    image, long = Media("image", "x"), Text("a  b " * 40)
    results = tuple(ToolResult((name,), (long, image)) for name in "ab")
    (edit,) = pruner.prune([Message("user", results)], PruningContext(Rough(), 0, 0))
    assert [item for part in edit.parts for item in part.content] == [Text("a b a b a b a b a b "), image] * 2


def test_the_example_of_a_counter(place: Place) -> None:
    assert compacted(place, "quarter").report.counter == "quarter"


def test_the_example_of_a_redactor(place: Place) -> None:
    session = [*SESSION[:4], user("Ask CUST123456 and CUST654321."), *SESSION[4:]]
    done = compacted(place, "customers", session)
    assert done.report.redacted["customer"] >= 2
    assert "CUST123456" not in summary(done)


def test_the_example_of_a_format(place: Place) -> None:
    talk = [{"from": "setup", "says": "You are a guide."}]
    for number, message in enumerate(rounds(60, chars=900)):
        says = str(message["content"])
        talk.append({"from": "bot" if number % 2 else "human", "says": f"{number}: {says}", "at": str(number)})
    done = compacted(place, "chatlog", talk)
    assert done.outcome is Outcome.COMPACTED, done.reason
    assert all(message["from"] in ("setup", "human", "bot") for message in done.messages)
    assert done.messages[-1] is talk[-1]


def test_the_shipped_plugins_are_in_the_table() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \| (?:memory|state) \|", PAGE, re.MULTILINE))
    shipped = {name for name, points in installed().items() if points[0].value.startswith("compactor.shipped.")}
    assert listed == shipped
