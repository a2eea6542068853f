"""A small but complete agent that works for longer than its model's window: tools, the loop, and a session around it.

    python examples/agent.py                        # offline, against a scripted model
    python examples/agent.py --model gpt-4o-mini    # a real one: any that litellm knows, its key in the environment

Its job is to go through the logs of a shop, made up in a temporary folder, and to report the orders that failed. The
agent is ``Workspace`` and ``work``; the rest shows what happens and stands in for the world.
"""

import argparse
import json
import logging
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from compactor import CannotFit, EventKind, Session, SessionEvent

DAYS = 24
MAX_TURNS = 150
TASK = (
    "Find every order that failed. Read the logs of all days one after the other, and after each one append a line "
    "for every order that failed in it, with its number and the reason, to report.md. At the end read report.md and "
    "tell me how many there are. Never change a log."
)
SYSTEM = "You are a careful operator. You make one tool call at a time, and answer in one sentence when all is done."

TOOLS = {  # name -> what it is for, and its parameters, which are all texts
    "list_files": ("List all files.", ()),
    "read_file": ("Read a file.", ("path",)),
    "append_to_file": ("Add text to the end of a file, or make a new one.", ("path", "text")),
    "search": ("Find the lines of all files that match a regular expression.", ("pattern",)),
}
SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {parameter: {"type": "string"} for parameter in parameters},
                "required": list(parameters),
            },
        },
    }
    for name, (description, parameters) in TOOLS.items()
]


class Workspace:
    """The tools, each a method. None of them reaches out of ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def list_files(self) -> str:
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return "\n".join(path.relative_to(self.folder).as_posix() for path in files)

    def read_file(self, path: str) -> str:
        return self._inside(path).read_text("utf-8")

    def append_to_file(self, path: str, text: str) -> str:
        with self._inside(path).open("a", encoding="utf-8") as file:
            file.write(text.rstrip("\n") + "\n")
        return f"{len(text.splitlines())} lines added to {path}"

    def search(self, pattern: str) -> str:
        lines = ((name, line) for name in self.list_files().splitlines() for line in self.read_file(name).splitlines())
        return "\n".join(f"{name}: {line}" for name, line in lines if re.search(pattern, line)) or "no line matches"

    def run(self, name: str, arguments: str) -> str:
        """The result of a call. A mistake is one as well, so that the model can do better."""
        try:
            return str(getattr(self, name)(**json.loads(arguments))) if name in TOOLS else f"error: no tool {name!r}"
        except (OSError, TypeError, ValueError, re.error) as error:
            return f"error: {type(error).__name__}: {error}"

    def _inside(self, path: str) -> Path:
        found = (self.folder / path).resolve()
        if not found.is_relative_to(self.folder):
            raise PermissionError(f"{path} is outside of the folder")
        return found


def work(session: Session, workspace: Workspace, messages: list[Any]) -> Iterator[tuple[str, int]]:
    """The agent's loop: what it did in each turn, and the tokens of its request as the provider measured them."""
    for _ in range(MAX_TURNS):
        response = session.completion(messages=messages, tools=SCHEMAS)
        message = response.choices[0].message
        messages.append(message)
        calls = message.tool_calls or ()
        for call in calls:
            result = workspace.run(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        did = ", ".join(f"{call.function.name} {call.function.arguments}" for call in calls)
        yield did or str(message.content), response.usage.prompt_tokens
        if not calls:
            return


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", help="a model of litellm's in place of the scripted one")
    options.add_argument("--window", type=int, default=8000, help="tokens of its window (default: %(default)s)")
    chosen = options.parse_args(arguments)
    logging.getLogger("compactor").addHandler(logging.NullHandler())  # the events are shown instead
    events: list[SessionEvent] = []

    def show(event: SessionEvent) -> None:
        events.append(event)
        print(f"     | {event.message}")

    session = Session(
        model=chosen.model,
        overrides={"window.context_length": chosen.window},
        complete=None if chosen.model else ScriptedModel(chosen.window),
        on_event=show,
    )
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
    sizes, without = [], [tokens_of(messages)]
    with tempfile.TemporaryDirectory() as folder:
        write_logs(Path(folder))
        for did, tokens in work(session, Workspace(Path(folder)), messages):
            sizes.append(tokens)
            without.append(tokens_of(messages))
            print(f"{len(sizes):4} | {tokens:6,} tokens | {did if len(did) < 90 else did[:90] + '…'}")

    told = Counter(event.kind for event in events)
    compactions = told[EventKind.COMPACTED] + told[EventKind.NO_SUMMARY] + told[EventKind.PRUNED]
    print(f"\n{len(sizes)} turns, {len(sizes) + told[EventKind.REFUSED]} requests, {compactions} compactions")
    print(f"largest request: {max(sizes):,} tokens of a window of {chosen.window:,}")
    refused = [turn for turn, tokens in enumerate(without[:-1], 1) if tokens > chosen.window]
    print(f"without compaction: about {without[-2]:,} tokens", f"and refused in turn {refused[0]}" if refused else "")


def write_logs(folder: Path) -> None:
    """Logs of some days in which every 13th order fails."""
    reasons = ("card expired", "out of stock", "address unknown")
    (folder / "logs").mkdir()
    for day in range(1, DAYS + 1):
        with (folder / "logs" / f"day-{day:02}.log").open("w", encoding="utf-8") as log:
            for order in range(1000 + 40 * day, 1040 + 40 * day):
                became = f"delivered by van {order % 7} after {order % 5} h"
                if order % 13 == 0:
                    became = f"failed: {reasons[order % 3]}"
                log.write(f"{8 + order % 40 // 4:02}:{order * 7 % 60:02} INFO order {order} {became}\n")


# --- The scripted model: what a provider does, with no network -------------------------------------------------------


class TooLong(Exception):
    """A refusal, in the words of a real provider."""

    status_code = 400


class Answer(SimpleNamespace):
    """An object as litellm returns it."""

    def model_dump(self, **_: Any) -> Any:
        return json.loads(json.dumps(self, default=vars))


class ScriptedModel:
    """Has the shape of ``litellm.completion``. It sees nothing but the messages that it is sent."""

    def __init__(self, window: int) -> None:
        self.window = window

    def __call__(self, *, messages: Sequence[Any], **_: Any) -> Answer:
        tokens = tokens_of(messages)
        if tokens > self.window:
            raise TooLong(
                f"This model's maximum context length is {self.window} tokens. "
                f"However, your messages resulted in {tokens} tokens."
            )
        return Answer(choices=[Answer(message=self._next(messages))], usage=Answer(prompt_tokens=tokens))

    def _next(self, messages: Sequence[Any]) -> Answer:
        """Goes on from the newest call and its result."""
        if TASK not in str(messages):
            return _says("I no longer know what I was asked.")
        if messages[-1]["role"] != "tool":
            return _calls("list_files")
        call, result = messages[-2]["tool_calls"][0]["function"], messages[-1]["content"]
        path = json.loads(call["arguments"]).get("path", "")
        if call["name"] == "list_files":
            return _calls("read_file", path=result.splitlines()[0])
        if call["name"] == "append_to_file":
            day = max(int(found) for found in re.findall(r"day (\d+)", call["arguments"]))
            return _calls("read_file", path=f"logs/day-{day + 1:02}.log" if day < DAYS else "report.md")
        if path == "report.md":
            return _says(f"{len(result.splitlines())} orders failed; report.md has them with their reasons.")
        day, failed = int(path[-6:-4]), re.findall(r"(order \d+) failed: (.*)", result)
        return _calls("append_to_file", path="report.md", text="\n".join(f"day {day}: {o}: {why}" for o, why in failed))


def _calls(name: str, **arguments: str) -> Answer:
    function = Answer(name=name, arguments=json.dumps(arguments))
    return Answer(role="assistant", tool_calls=[Answer(id=f"call_{uuid4().hex}", type="function", function=function)])


def _says(text: str) -> Answer:
    return Answer(role="assistant", content=text, tool_calls=None)


def tokens_of(messages: Sequence[Any]) -> int:
    """Four characters a token, the schemas included: the scripted model's measure, and rough for others."""
    return len(json.dumps([messages, SCHEMAS], default=lambda message: message.model_dump(exclude_none=True))) // 4


if __name__ == "__main__":
    try:
        main()
    except CannotFit as error:
        raise SystemExit(f"no compaction makes it fit: {error}") from None
