"""What a user can get wrong: one clear message, exit code 2, no traceback, and nothing is written."""

import os
from pathlib import Path

import pytest

from .conftest import Run

BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n", "the file is empty"),
    "cut off": (b'[{"role": "user", "con', "is the file cut off?"),
    "a line cut off": (b'{"role": "user", "content": "x"}\n{"role":', "line 2 is no JSON value"),
    "binary": (b"\x89PNG\x00\x01\x02", "binary data"),
    "not UTF-8": (b'[{"role": "user", "content": "\xe4"}]', "not UTF-8 text"),
    "a number": (b"12", "the JSON is a single value"),
    "no messages": (b"[]", "there are no messages in it"),
    "another object": (b'{"a": 1}', "an object with the keys a"),
    "no conversation": (b"[1, 2]", "tried openai-chat"),
    "nested too deeply": (b"[" * 200_000, "nested too deeply"),
    "nested too deeply in a line": (b'{"role": "user", "content": "x"}\n' + b"[" * 200_000, "nested too deeply"),
    "an endless number": (b'[{"role": "user", "content": ' + b"9" * 5000 + b"}]", "more digits than Python reads"),
}

BAD_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    (("--policy", "defalt"), "there is no policy 'defalt'; looked in policies"),
    (("--policy", "defalt"), "did you mean 'default'?"),
    (("--policy", "nope.yaml"), "nope.yaml: there is no such file"),
    (("--set", "threshold"), "--set: threshold: expected key=value"),
    (("--set", "=1"), "expected key=value"),
    (("--set", "thresold=0.6"), "--set: thresold: unknown key (did you mean 'threshold'?)"),
    (("--set", "threshold=[1"), "--set: threshold: this is not YAML"),
    (("--set", "pruning.nope.x=1"), "the list has no entry 'nope'"),
    (("--target", "abc"), "--target: target: expected a share"),
    (("--target", "5"), "--target: target: expected a share"),
    (("--target", ""), "--target: target: expected a value"),
    (("--context-length", "big"), "--context-length: window.context_length: expected a number of tokens"),
    (("--context-length", "-1"), "--context-length: window.context_length"),
    (("--context-length", "0"), "--context-length: window.context_length"),
    (("--summarizer", "extractve"), "--summarizer: summary.summarizers.0: unknown summarizer 'extractve'"),
    (("--summary-model", " "), "--summary-model: summary.model"),
    (("-o", "-", "--json"), "both write to standard output"),
    (("-o", "x.json", "--in-place"), "exclude each other"),
    (("-o", "nowhere/x.json"), "there is no folder"),
    (("-o", "."), "this is a directory"),
    (("--json", "-o", "/dev/stdout"), "both write to standard output"),
    (("-o", "short.json"), "this is the input; --in-place replaces it"),
    (("-o", "./short.json"), "this is the input"),
    (("-o", "symbolic.json"), "this is the input"),
    (("-o", "hard.json"), "this is the input"),
    (("-o", "locked.json"), "the file is read-only"),
    (("--nope",), "No such option"),
]


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize("command", [("compress",), ("plan",), ("prompt", "render")])
def test_bad_files(run: Run, kind: str, command: tuple[str, ...]) -> None:
    content, message = BAD_FILES[kind]
    Path("bad.json").write_bytes(content)
    told = run(*command, "bad.json")
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("error: bad.json: ")
    assert message in told.stderr
    assert len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("nope.json", "there is no such file"), (".", "this is a directory"), ("short.json/x", "cannot be read")],
)
def test_files_that_are_none(run: Run, name: str, message: str) -> None:
    told = run("compress", name, "-o", "out.json")
    assert (told.exit_code, told.stderr.splitlines()) == (2, [told.stderr.rstrip("\n")])
    assert message in told.stderr
    assert not Path("out.json").exists()


def test_standard_input_is_named(run: Run) -> None:
    told = run("compress", "-", given="12")
    assert told.stderr.startswith("error: standard input: the JSON is a single value")
    assert "standard input cannot be replaced" in run("compress", "-", "--in-place", given="[]").stderr


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options(run: Run, options: tuple[str, ...], message: str, workplace: Path) -> None:
    Path("symbolic.json").symlink_to("short.json")
    os.link("short.json", "hard.json")
    Path("locked.json").touch(0o444)
    before = {path.name: path.read_bytes() for path in workplace.iterdir()}
    told = run("compress", "short.json", *options)
    assert (told.exit_code, told.stdout) == (2, "")
    assert message in told.stderr
    assert {path.name: path.read_bytes() for path in workplace.iterdir()} == before


def test_a_read_only_file_is_not_replaced(run: Run) -> None:
    Path("short.json").chmod(0o444)
    assert "the file is read-only" in run("compress", "short.json", "--in-place").stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="for root every folder is writable")
def test_a_read_only_folder(run: Run) -> None:
    Path("closed").mkdir(0o555)
    assert "is read-only" in run("compress", "short.json", "-o", "closed/x.json").stderr


def test_several_mistakes_in_options_come_at_once(run: Run) -> None:
    told = run("compress", "short.json", "--target", "5", "--context-length", "x", "--set", "nope=1")
    assert told.stderr.splitlines()[0] == "error: 3 problems"
    assert len(told.stderr.splitlines()) == 4


def test_an_unknown_variable_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPACTOR_POLICY__THRESOLD", "0.6")
    told = run("compress", "short.json")
    assert told.exit_code == 2
    assert "COMPACTOR_POLICY__THRESOLD" in told.stderr
