"""Where a result goes: nothing is lost that was there, and what cannot be written is told in one line."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from compactor.cli.destination import Destination
from compactor.cli.failures import Unwritten

from .conftest import LONG, SHORT, SMALL_WINDOW, Run

RUN = "from compactor.cli.main import run; run()"
COMMAND = (sys.executable, "-c", RUN)
CLOSED = ("sh", "-c", 'exec "$@" >&-', "sh")
"""What runs a command with its standard output closed."""

INTERRUPTED_IMPORT = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "{{name}}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
{RUN}
"""

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
DESCRIPTORS = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="open files have no paths here")


@pytest.fixture
def appended() -> Iterator[None]:
    """``long.json`` grows a blank line again and again, as a file does that an agent writes to."""
    over = threading.Event()

    def append() -> None:
        while not over.wait(0.001):
            with Path("long.json").open("a", encoding="utf-8") as stream:
                stream.write("\n")

    thread = threading.Thread(target=append)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.usefixtures("appended")
def test_what_was_added_meanwhile_is_not_overwritten(run: Run) -> None:
    told = run("compress", "long.json", *SMALL_WINDOW, "--in-place")
    assert (told.exit_code, told.stdout) == (1, "")
    assert told.stderr == ("error: long.json changed while it was being compacted; nothing was written, run it again\n")
    assert json.loads(Path("long.json").read_text(encoding="utf-8")) == LONG
    assert not list(Path().glob(".*"))


def test_only_the_input_as_it_was_read_is_replaced() -> None:
    destination = Destination.chosen("short.json", None, in_place=True)
    came = Path("short.json").read_bytes()
    Path("short.json").unlink()
    with pytest.raises(Unwritten, match="changed"):
        destination.write(b"[]", came)
    assert not Path("short.json").exists()
    Path("short.json").write_bytes(came)
    destination.write(b"[]", came)
    assert Path("short.json").read_bytes() == b"[]"


def test_a_file_with_several_names_is_not_split(run: Run) -> None:
    os.link("long.json", "other.json")
    told = run("compress", "long.json", *SMALL_WINDOW, "--in-place")
    assert told.exit_code == 2
    assert "the file has 2 names (hard links)" in told.stderr
    assert "-o" in told.stderr
    assert Path("long.json").samefile("other.json")


def test_the_input_as_standard_input_is_not_overwritten() -> None:
    with Path("short.json").open("rb") as stream:
        command = [*COMMAND, "compress", "-", "-o", "short.json"]
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "short.json: this is the input" in done.stderr


@DESCRIPTORS
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "-"])
def test_standard_output_by_its_paths(name: str) -> None:
    command = [*COMMAND, "compress", "short.json", "-o", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == SHORT
    assert "saved     standard output" in done.stderr
    both = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert (both.returncode, both.stdout) == (2, "")
    assert "both write to standard output" in both.stderr


@DESCRIPTORS
def test_open_files_are_written_to_as_they_are() -> None:
    reader, writer = os.pipe()
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(log, b"before\n")
    for number in (writer, log):
        command = [*COMMAND, "compress", "short.json", "-o", f"/dev/fd/{number}"]
        subprocess.run(command, pass_fds=[number], capture_output=True, check=True)
        os.close(number)
    with os.fdopen(reader, "rb") as stream:
        assert json.loads(stream.read()) == SHORT
    assert Path("log").read_text(encoding="utf-8") == f"before\n{Path('short.json').read_text(encoding='utf-8')}"


def test_a_named_pipe() -> None:
    os.mkfifo("pipe")
    with subprocess.Popen([*COMMAND, "compress", "short.json", "-o", "pipe"], stderr=subprocess.PIPE) as process:
        assert json.loads(Path("pipe").read_bytes()) == SHORT
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert not Path("pipe").is_file()


@DESCRIPTORS
def test_what_is_not_open_is_refused_before_anything_is_done(run: Run) -> None:
    told = run("compress", "nope.json", "-o", "/dev/fd/987")
    assert (told.exit_code, told.stderr) == (2, "error: /dev/fd/987: cannot be written: Bad file descriptor\n")


@FULL
@pytest.mark.parametrize(
    "arguments",
    [
        ("compress", "short.json", "-o", "-"),
        ("compress", "large.json", "-o", "-"),
        ("compress", "short.json", "--json"),
        ("plan", "short.json"),
        ("policy", "schema"),
        ("--help",),
        ("compress", "--help"),
    ],
)
def test_a_full_device(arguments: tuple[str, ...]) -> None:
    Path("large.json").write_text(json.dumps(LONG * 3), encoding="utf-8")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


@FULL
def test_a_full_device_by_name(run: Run) -> None:
    told = run("compress", "short.json", "-o", "/dev/full")
    assert (told.exit_code, told.stderr) == (1, "error: /dev/full: cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    "arguments",
    [("compress", "nope.json", "-o", "-"), ("compress", "nope.json", "--json"), ("plan", "short.json")],
)
def test_a_closed_standard_output(arguments: tuple[str, ...]) -> None:
    done = subprocess.run([*CLOSED, *COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: standard output is closed: nothing can be written to it\n"


def test_a_closed_standard_output_that_is_not_needed() -> None:
    command = [*CLOSED, *COMMAND, "compress", "short.json", "-o", "out.json"]
    subprocess.run(command, stderr=subprocess.PIPE, check=True)
    assert json.loads(Path("out.json").read_bytes()) == SHORT


@pytest.mark.parametrize("name", ["compactor.cli.app", "typer", "compactor.engine"])
def test_interrupted_while_importing(name: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT.format(name=name), "plan", "short.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_ignored_interrupt_stays_ignored() -> None:
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN){INTERRUPTED_IMPORT.format(name='typer')}"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
