"""What ``compactor plugins new`` writes: a plugin of each kind that works, and a test of it. ``$name`` is its name."""

MEMORY = '''\
"""A memory of your own: keeps what users want to be remembered, and tells the summarizer."""

from pathlib import Path

import compactor
from compactor.extension.events import PreCompress
from pydantic import BaseModel, ConfigDict, Field

WORDS = ("always", "never", "remember")


class Plugin:
    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")

        path: Path = Field(Path("$name.md"), description="The file with what is remembered.")

    def __init__(self, config: Config) -> None:
        self.path = config.path

    @compactor.hookimpl
    def on_pre_compress(self, event: PreCompress) -> str | None:
        """Called before anything is folded. What is returned is quoted to the summarizer."""
        known = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        for message in event.messages:
            for line in message.text.splitlines() if message.role == "user" else ():
                fact = f"- {line.strip()}"
                if any(word in line.lower() for word in WORDS) and fact not in known:
                    known.append(fact)
        self.path.write_text("".join(f"{line}\\n" for line in known), "utf-8")
        return "\\n".join(known) or None
'''

STATE = '''\
"""State of your own: what the agent did last is restated behind the summary."""

import compactor
from compactor.extension.events import StateRequest
from pydantic import BaseModel, ConfigDict, Field


class Plugin:
    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")

        count: int = Field(5, ge=1, description="How many of the last tool calls are listed.")

    def __init__(self, config: Config) -> None:
        self.count = config.count

    @compactor.hookimpl
    def provide_state(self, event: StateRequest) -> str | None:
        """Called before the summary is made. What is returned stands at its end, of at most event.max_tokens."""
        calls = [call for message in event.messages for call in message.calls]
        lines = [f"- {call.name} {call.arguments[:100]}" for call in calls[-self.count :]]
        return "\\n".join(["Last tool calls:", *lines]) if lines else None
'''

SUMMARIZER = '''\
"""A summarizer of your own: a function that gets a request and returns the summary. It may be ``async``."""

from collections.abc import Mapping

import compactor
from compactor.extension.hookspecs import SummarizerFactory


def summarize(request: compactor.SummaryRequest) -> str:
    """``request.prompt`` is the whole prompt, for a model; ``request.folded`` are the messages themselves."""
    asked = [message.text.strip() for message in request.folded if message.role == "user"]
    calls = [call.name for message in request.folded for call in message.calls]
    lines = ["## Asked", *(f"- {text[:200]}" for text in asked), "", "## Done", f"- {len(calls)} tool calls"]
    if request.previous:
        lines = [request.previous, "", *lines]
    if request.memory:
        lines += ["", "## Remembered", request.memory]
    return "\\n".join(lines)


@compactor.hookimpl
def register_summarizers() -> Mapping[str, SummarizerFactory]:
    """Called once. By name, what makes the summarizer from the policy's ``summary`` part."""
    return {"$name": lambda settings: summarize}
'''

PRUNER = '''\
"""A pruner of your own: shortens long tool results, keeping their beginning and end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import compactor
from compactor.extension.protocols import Edit, PruningContext
from compactor.messages.message import Message, Text, ToolResult
from pydantic import BaseModel, ConfigDict, Field


class Pruner(BaseModel):
    """Its fields are its options in the policy."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: int = Field(200, ge=1, description="Characters that stay at either end.")

    def prune(self, messages: Sequence[Message], context: PruningContext) -> Iterator[Edit]:
        for place, message in enumerate(messages[: -context.protect_last_n or None]):
            parts = tuple(self.shorter(part) if isinstance(part, ToolResult) else part for part in message.parts)
            if parts != message.parts:
                yield Edit(place, parts, "the middle of a long result cut out")

    def shorter(self, result: ToolResult) -> ToolResult:
        """Only texts are cut: images and what else a result holds stay."""
        items = tuple(Text(self.cut(item.text)) if self.is_long(item) else item for item in result.content)
        return replace(result, content=items)

    def is_long(self, item: object) -> bool:
        return isinstance(item, Text) and len(item.text) > 2 * self.keep + 50

    def cut(self, text: str) -> str:
        return f"{text[: self.keep]}\\n[...]\\n{text[-self.keep :]}"


@compactor.hookimpl
def register_pruners() -> Mapping[str, type[BaseModel]]:
    """Called once. By name, the model of the options, with a method ``prune``."""
    return {"$name": Pruner}
'''

_TEST = '''\
"""Tests of the plugin $name: loaded from its file by a policy, and used in a compaction."""

import json
from pathlib import Path

import compactor
from compactor.testing import assistant, rounds, system, user

SESSION = [
    system("You are a coding agent."),
    user("Make the build faster, and never touch vendor/."),
    *rounds(20, chars=2000),
    assistant("The cache was off."),
    user("Then turn it on."),
    *rounds(2, chars=2000, first=20),
]


def compact(folder: Path, **policy: object) -> compactor.CompactionResult:
    """Compacts the session under a policy with the plugin."""
    content = {"version": 1, "name": "test", "extends": "default", "window": {"context_length": 16000}, **policy}
    file = folder / "policy.yaml"
    file.write_text(json.dumps(content), "utf-8")
    return compactor.Compactor(file).compact(SESSION, force=True)


PLUGIN = str(Path(__file__).with_name("$name.py"))
'''

TESTS = {
    "memory": """

def test_it_remembers_what_the_user_said(tmp_path: Path) -> None:
    memory = tmp_path / "memory.md"
    plugin = {"use": PLUGIN, "required": True, "config": {"path": str(memory)}}
    for _ in range(2):  # the second time, it is known
        done = compact(tmp_path, plugins=[plugin])
        assert done.outcome is compactor.Outcome.COMPACTED, done.reason
        assert [call.failure for call in done.report.plugins] == [None]
        assert memory.read_text("utf-8") == "- Make the build faster, and never touch vendor/.\\n"
""",
    "state": """

def test_it_restates_the_last_calls(tmp_path: Path) -> None:
    done = compact(tmp_path, plugins=[{"use": PLUGIN, "required": True, "config": {"count": 2}}])
    assert done.outcome is compactor.Outcome.COMPACTED, done.reason
    summary = str(done.messages[done.summary_index]["content"])
    assert "Last tool calls:" in summary
    assert "src/module_21.py" in summary
""",
    "summarizer": """

def test_it_writes_the_summary(tmp_path: Path) -> None:
    done = compact(tmp_path, plugins=[PLUGIN], summary={"summarizers": ["$name"]})
    assert done.outcome is compactor.Outcome.COMPACTED, done.reason
    assert done.report.summarizer == "$name"
    assert "tool calls" in str(done.summary)
""",
    "pruner": """

def test_it_cuts_the_middle_out(tmp_path: Path) -> None:
    done = compact(tmp_path, plugins=[PLUGIN], pruning=[{"use": "$name", "keep": 300}])
    assert done.changed, done.reason
    assert done.report.pruned > 0
    assert done.report.tokens_after < done.report.tokens_before
""",
}
TESTS = {kind: _TEST + test for kind, test in TESTS.items()}

PLUGINS = {"memory": MEMORY, "state": STATE, "summarizer": SUMMARIZER, "pruner": PRUNER}

POLICY = {
    "memory": (
        "plugins:",
        "  - use: $path  # relative to the policy's file",
        "    config: {path: $name.md}  # relative to the working directory",
    ),
    "state": ("plugins:", "  - use: $path", "    config: {count: 5}"),
    "summarizer": ("plugins:", "  - use: $path", "summary:", "  summarizers: [$name, extractive]"),
    "pruner": (
        "plugins:",
        "  - use: $path",
        "pruning:  # takes the place of the list of the policy that is extended, so its step is named again",
        "  - use: clear_tool_results",
        "    longer_than: 200",
        "    outside: {tail_tokens: 1.0}",
        '    placeholder: "[Old tool output cleared to save context space]"',
        "  - {use: $name, keep: 200}",
    ),
}
"""What a policy says to use it."""
