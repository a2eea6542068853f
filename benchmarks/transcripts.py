"""Generated transcripts: a coding agent's session in the OpenAI chat format, the same for the same length.

A message has 1,100 characters in the mean, most of them in tool results: source code, test logs and JSON.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

Messages = list[dict[str, Any]]

WORDS = ["request", "response", "session", "cache", "parser", "invoice", "worker", "timeout", "schema", "replica"]

ROUNDS_PER_ASK = 6
"""Tool rounds between two requests of the user."""


def transcript(length: int) -> Messages:
    """A session of exactly ``length`` messages (at least 2): a system prompt, then requests and tool rounds."""
    source = random.Random(length)
    messages = [{"role": "system", "content": "You are a coding agent. " + prose(source, 120)}]
    number = 0
    while len(messages) < length:
        messages.append({"role": "user", "content": f"Request {number}: {prose(source, 40)}"})
        for _ in range(ROUNDS_PER_ASK):
            messages.extend(_round(source, f"call_{len(messages)}"))
        messages.append({"role": "assistant", "content": prose(source, 80)})
        number += 1
    return _ended(messages, length)


def prose(source: random.Random, words: int) -> str:
    """A sentence of that many words."""
    return " ".join(source.choices(WORDS, k=words)).capitalize() + "."


def _ended(messages: Messages, length: int) -> Messages:
    """The first messages up to ``length``, with a request at the end and no call left open before it."""
    kept = messages[: length - 1]
    if "tool_calls" in kept[-1]:
        kept[-1] = {"role": "assistant", "content": "Done."}
    return [*kept, {"role": "user", "content": "Go on, please."}]


def _round(source: random.Random, identifier: str) -> Iterator[dict[str, Any]]:
    """An assistant message with one call, and its result."""
    path = f"src/{source.choice(WORDS)}/{source.choice(WORDS)}_{source.randrange(100)}.py"
    tool, arguments, text = source.choice(
        [
            ("read_file", {"path": path}, _code),
            ("run_tests", {"command": f"pytest -q {path}", "timeout": 120}, _log),
            ("query", {"table": source.choice(WORDS), "limit": 20}, _rows),
        ]
    )
    call = {"id": identifier, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    yield {"role": "assistant", "content": prose(source, 15), "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": identifier, "content": text(source)}


def _code(source: random.Random) -> str:
    functions = []
    for _ in range(source.randrange(5, 19)):
        name, argument, other = source.choices(WORDS, k=3)
        functions.append(
            f"def {name}_{source.randrange(1000)}({argument}: int, {other}: str = '') -> int:\n"
            f"    if not {other}:\n        raise ValueError('{other} is missing')\n"
            f"    return {argument} * {source.randrange(100)} + len({other})\n"
        )
    return "\n".join(functions)


def _log(source: random.Random) -> str:
    lines = []
    for number in range(source.randrange(12, 46)):
        word, other = source.choices(WORDS, k=2)
        state = source.choice(("PASSED", "PASSED", "PASSED", "FAILED", "SKIPPED"))
        lines.append(f"2026-03-0{source.randrange(1, 9)}T12:{number:02}:07Z tests/test_{word}.py::test_{other} {state}")
    return "\n".join(lines)


def _rows(source: random.Random) -> str:
    rows = [
        {"id": source.randrange(10**9), source.choice(WORDS): source.random(), "note": prose(source, 6)}
        for _ in range(source.randrange(9, 34))
    ]
    return json.dumps(rows)
