"""What is kept of a conversation is written as it was read: numbers, keys and line ends (law 1)."""

import copy
import json
from pathlib import Path

import pytest

from compactor.messages.as_json import compact_json
from compactor.messages.formats.document import load_document
from compactor.messages.formats.openai_chat import OpenAIChat

from .conftest import LONG, SMALL_WINDOW, Run

NUMBERS = ["1e400", "-1e400", "-0", "-0.0", "1e-400", "0.30000000000000000001", "1.50", "1E5", "1e5", "12", "0.1"]
NUMBERS += ["123456789012345678901234567890", "NaN", "Infinity", "-Infinity"]


@pytest.mark.parametrize("literal", NUMBERS)
def test_numbers_are_written_as_they_came(run: Run, literal: str) -> None:
    last = f'{{"role": "user", "content": "go on", "meta": {{"score": {literal}, "more": [{literal}, 1]}}}}'
    text = f"{json.dumps(LONG)[:-1]}, {last}]"
    Path("numbers.json").write_text(text, encoding="utf-8")
    out = run("compress", "numbers.json", *SMALL_WINDOW, "-o", "-").stdout
    assert len(json.loads(out)) < len(LONG)
    assert out.endswith(f"{last}]\n")
    Path("numbers.jsonl").write_text("".join(json.dumps(message) + "\n" for message in LONG) + last, encoding="utf-8")
    lines = run("compress", "numbers.jsonl", *SMALL_WINDOW, "-o", "-").stdout
    assert lines.endswith(f"\n{last}\n")


@pytest.mark.parametrize("literal", NUMBERS)
def test_numbers_are_numbers_for_whoever_reads_the_messages(literal: str) -> None:
    text = f'{{"messages": [{{"role": "user", "content": "x \\ud800", "n": {literal}}}], "temperature": {literal}}}\n'
    document = load_document(text.encode(), [OpenAIChat()])
    number, plain = document.messages[0]["n"], json.loads(literal)
    assert number == plain or number != number
    assert json.loads(compact_json(document.messages[0])).keys() == document.messages[0].keys()
    assert document.dumps(document.messages) == text
    assert document.dumps(copy.deepcopy(document.messages)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"role": "user", "content": "one", "content": "two"}]', 'as "one" and as "two"; one of them has to go'),
        ('[{"role": "user", "content": "x", "meta": {"a": [1], "a": [1]}}]', "the key 'a' stands twice in one object"),
        (
            '{"role": "user", "content": "x"}\n{"role": "user", "content": "y", "role": "user"}\n',
            "line 2: the key 'role' stands twice",
        ),
        ('[{"role": "user", "role": "' + "x" * 1000 + '"}]', "xxx...; one of them"),
    ],
)
def test_keys_that_stand_twice_are_refused(run: Run, text: str, message: str) -> None:
    Path("twice.json").write_text(text, encoding="utf-8")
    told = run("compress", "twice.json", "-o", "out.json")
    assert told.exit_code == 2
    assert told.stderr.startswith("error: twice.json: ")
    assert message in told.stderr
    assert len(told.stderr) < 250
    assert not Path("out.json").exists()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", [None, 2])
def test_line_ends_are_kept(run: Run, newline: str, indent: int | None) -> None:
    lines = [json.dumps(message) for message in LONG] if indent is None else json.dumps(LONG, indent=2).split("\n")
    Path("lines.json").write_bytes("".join(line + newline for line in lines).encode())
    out = run("compress", "lines.json", *SMALL_WINDOW, "-o", "-").stdout_bytes
    assert out.count(b"\n") == out.count(newline.encode()) < len(lines)
    assert out.endswith(newline.encode())
    assert out.startswith(f"{lines[0]}".encode().rstrip(b"}")[:20])
