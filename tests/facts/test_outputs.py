"""What the output of tools says: failures, errors, endings, outlines, paths."""

import time

import pytest

from compactor.facts.errors import error_lines, exit_code, failed, reports_failures
from compactor.facts.excerpts import excerpts
from compactor.facts.outcomes import ending
from compactor.facts.outlines import definitions
from compactor.facts.paths import names_file, patched, paths_in

TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nValueError: bad port 99999\n'


@pytest.mark.parametrize(
    ("output", "code", "bad"),
    [
        ("Exit code: 2\nboom", 2, True),
        ("Process exited with code 0\nOutput:\nerror handling works", 0, False),
        ("<tool_use_error>String not found</tool_use_error>", None, True),
        (TRACEBACK, None, True),
        ("bash: foo: command not found", None, True),
        ("12 passed in 0.3s", None, False),
        ("", None, False),
    ],
)
def test_failures_are_recognised(output: str, code: int | None, bad: bool) -> None:
    assert exit_code(output) == code
    assert failed(output) is bad


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (TRACEBACK, ["ValueError: bad port 99999"]),
        ("ok\n--- FAIL: TestA (0.00s)\nok\nFAILED tests/test_b.py::test_c - boom", None),
        ("0 errors, 0 failed", []),
        ("   raise PolicyError(problems)\n12  raise ValueError('no such error')", []),
        ("fatal: not a git repository", ["fatal: not a git repository"]),
        ("all good", []),
    ],
)
def test_error_lines_are_quoted(output: str, lines: list[str] | None) -> None:
    expected = ["--- FAIL: TestA (0.00s)", "FAILED tests/test_b.py::test_c - boom"] if lines is None else lines
    assert error_lines(output) == expected


@pytest.mark.parametrize(
    ("output", "bad", "told"),
    [
        ("Exit code: 1\nTypeError: x is None", True, "exit 1: TypeError: x is None"),
        ("collected 3 items\n....\n===== 3 passed in 0.1s =====", False, "3 passed in 0.1s"),
        ("[Old tool output cleared to save context space]", False, ""),
        ("[Old tool output cleared to save context space]", True, "failed"),
        ("saved", False, "saved"),
        ("first line here\nmiddle\nlast line here", False, "first line here; last line here"),
        ("", True, "failed"),
        ("", False, ""),
    ],
)
def test_an_ending_tells_the_result(output: str, bad: bool, told: str) -> None:
    assert ending(output, bad) == told


@pytest.mark.parametrize(
    ("output", "failures"),
    [
        ("1 failed, 180 passed in 1.36s", True),
        ("Found 2 errors in 2 files (checked 1 source file)", True),
        ("--- FAIL: TestA (0.00s)\nok", True),
        ("test result: FAILED. 3 passed", True),
        ("180 passed, 2 xfailed", False),
        ("0 failed, 10 passed", False),
        ("Success: no issues found", False),
        ("", False),
    ],
)
def test_verdicts_with_failures_are_recognised(output: str, failures: bool) -> None:
    assert reports_failures(output) is failures


def test_definitions_are_outlined_through_line_numbers() -> None:
    code = "     1→import os\n     2→class Cart:\n     3→    def add(self, item: str) -> None:\n     4→        pass\n"
    assert definitions(code) == ["class Cart", "def add(self, item: str) -> None"]
    assert definitions("export async function load(url) {\n") == ["export async function load(url)"]


def test_excerpts_keep_neighbors_together_and_drop_noise() -> None:
    output = "import os\n----------\n  12→user_id: mia_1234\n- booking_id: XJ99Q2 paid\nshort\n"
    output += "  13  seat_row: 14\n====== all told ======\nexit code: 0\n"
    assert excerpts(output) == ["user_id: mia_1234 | booking_id: XJ99Q2 paid | seat_row: 14 | all told"]


def test_excerpts_of_a_long_output_are_from_its_start_and_end() -> None:
    output = "\n".join(f"row number {number}" for number in range(1000))
    text = " | ".join(excerpts(output, limit=300))
    assert text.startswith("row number 0 |")
    assert text.endswith("row number 999")
    assert "row number 500" not in text
    assert len(text) <= 320


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see src/app/main.py and README.md.", ["src/app/main.py", "README.md"]),
        ("cat ~/x/y.toml ./z/w", ["~/x/y.toml", "./z/w"]),
        ("https://example.org/a.html is a page", []),
        ("no path", []),
    ],
)
def test_paths_are_found(text: str, paths: list[str]) -> None:
    assert paths_in(text) == paths


@pytest.mark.parametrize(
    ("path", "file"),
    [
        *((path, True) for path in ("a/b.py", "Makefile", ".gitignore")),
        *((path, False) for path in (".", "..", "src/app", "src/", "git diff", "")),
    ],
)
def test_names_of_files_are_told_from_directories(path: str, file: bool) -> None:
    assert names_file(path) is file


def test_patches_name_their_files() -> None:
    patch = "*** Begin Patch\n*** Add File: a/b.py\n+x\n*** Delete File: c.py\n"
    assert patched(patch) == [("a/b.py", "created"), ("c.py", "deleted")]


@pytest.mark.parametrize(
    "text",
    [" " * 200_000, "\n" * 200_000, "a" * 200_000, "error\n" * 50_000, "a/" * 60_000, "a." * 60_000],
    ids=["blanks", "breaks", "letters", "errors", "slashes", "dots"],
)
def test_odd_outputs_take_no_long_time(text: str) -> None:
    started = time.process_time()
    failed(text)
    error_lines(text)
    ending(text, False)
    definitions(text)
    excerpts(text)
    paths_in(text)
    assert time.process_time() - started < 1.0
