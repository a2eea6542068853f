"""Child processes that use one store at once: run as a script it is their parent, which forks them without delay.

A command is a line of JSON on standard input: ``job`` (a function below), ``children`` and the job's arguments. Each
child reports by lines of its own; when all have ended, a last line has their exit codes.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from compactor.engine import Compactor
from compactor.extension.protocols import SummaryRequest
from compactor.session.session import Session
from compactor.session.store.records import Claim, Commit, View
from compactor.session.store.store import Store
from compactor.state import CompactionState
from compactor.testing import assistant, filler, rounds, system, user

LEAD = system("You help.")

IMPATIENT = 40.0
"""Seconds by which the clocks of some workers are fast: every lease of the others seems to have run out to them."""


class Nursery:
    """The parent of the children, seen from the test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def begin(self, job: str, children: int = 1, **arguments: Any) -> None:
        """Has children begin a job."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"job": job, "children": children, **arguments}) + "\n")
        self._process.stdin.flush()

    def line(self) -> str:
        """The next line that was reported; waits for it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the parent of the child processes has died"
        return line.strip()

    def rest(self) -> tuple[list[str], list[int]]:
        """What else was reported until all children had ended, and their exit codes (-9: killed)."""
        lines = [self.line()]
        while not lines[-1].startswith("ended "):
            lines.append(self.line())
        return lines[:-1], json.loads(lines[-1].removeprefix("ended "))


@contextmanager
def nursery() -> Iterator[Nursery]:
    """A process that makes children for as long as the block takes."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Nursery(process)
        finally:
            process.kill()


def message(number: int) -> dict[str, Any]:
    """What is said at a place of the conversation, counted from 1."""
    return (user if number % 2 else assistant)(f"n:{number}; {filler(800)}")


def numbers(raw: dict[str, Any]) -> list[int]:
    """The numbers of messages that are in a message: its own, or those that a summary lists."""
    content = raw["content"]
    text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
    ranges = re.findall(r"\bn:(\d+)(?:-(\d+))?;", text)
    return [number for first, last in ranges for number in range(int(first), int(last or first) + 1)]


def digest(before: str, said: str) -> str:
    """A digest of all that was said, of the one before and what was said next."""
    return hashlib.sha256(f"{before}\n{said}".encode()).hexdigest()


def talk(place: str, turn: int) -> None:
    """Appends numbered messages for ever, and compacts every few; goes on with what an earlier turn has left.

    Hosts of both kinds take turns: one has the full list, the other goes on with what it is handed.

    The clock of each turn is a minute ahead of the last one's: a lease that was left behind has run out.
    """

    def clock() -> float:
        return time.time() + 60 * turn

    def summary(request: SummaryRequest) -> str:
        _report("folding")
        folded = numbers({"content": request.previous or ""})
        for each in request.folded:
            folded += numbers({"content": "".join(getattr(part, "text", "") for part in each.parts)})
        return "## Goal\nShip it.\n" + "\n".join(f"n:{first}-{last};" for first, last in _ranges(folded))

    store = Store(place, clock=clock)
    kept = store.sessions(limit=1)
    session = Session(
        model="m",
        overrides={"window.context_length": 2000, "counter": "estimate", "session.warn_after": 1_000_000},
        summarizer=summary,
        environ={},
        clock=clock,
        store=store,
        session_id=kept[0].id if kept else None,
    )
    said = store.everything(kept[0].conversation_id)[2] if kept else []
    takes_over = turn % 2 == 1 and bool(said)
    host = list(session.messages) if takes_over else [LEAD, *(each.raw for each in said)]
    number = len(said)
    while True:
        number += 1
        host.append(message(number))
        _report(f"before {number}")
        session.save(host)
        _report(f"after {number}")
        out = session.before_call(host)
        if out.result is not None:
            assert out.result.changed, out.result.reason
            _report("folded")
        if takes_over:
            host = list(out.messages)


def race(place: str, conversation: str, seconds: float, notes: str, child: int) -> None:
    """Appends numbered messages and compacts, in competition with others; what it did goes into a file."""
    chance = random.Random(child)
    ahead = IMPATIENT if child % 2 else 0.0
    store = Store(place, clock=lambda: time.time() + ahead)
    overrides = {"window.context_length": 8000, "counter": "estimate"}
    engine = Compactor(overrides=overrides, summarizer=lambda _: "A summary.", environ={})
    template = engine.compact(rounds(12, chars=3000), force=True)
    assert template.changed, template.reason

    def compaction(view: View) -> Commit:
        sums = view.left[0]["content"] if view.left else ""
        for each in view.later:
            sums = digest(sums, each.raw["content"])
        return Commit(
            result=replace(template, state=CompactionState(summary=sums, count=view.state.count + 1)),
            covered=view.later[-1].position + 1,
            count=view.covered + len(view.later),
            lead=view.lead,
            left=[user(sums)],
            archived={each.position: ("folded", "race") for each in view.later},
            rotate=True,
        )

    def compact(claimed: Claim) -> None:
        view = look()
        if not view.later:
            store.release(claimed)
            return
        made = compaction(view)
        time.sleep(chance.uniform(0, 0.02))  # the summariser
        if store.commit(claimed, made):
            done["commits"].append([claimed.version + 1, made.covered])
        else:
            done["lost"] += 1

    def look() -> View:
        view = store.view(conversation)
        places = [each.position for each in view.later]
        assert places == list(range(view.covered, view.covered + len(places)))
        parts = (view.version, view.state.count, view.session.number - 1)
        assert len(set(parts)) == 1, f"a view of several times: version, compactions, rotations are {parts}"
        assert [each["content"] for each in view.left] == ([view.state.summary] if view.version else [])
        return view

    done: dict[str, Any] = {"positions": [], "commits": [], "lost": 0, "busy": 0, "views": 0}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if chance.random() < 0.6:
            first = len(done["positions"])
            batch = [user(f"{child}:{first + place}") for place in range(chance.randint(1, 3))]
            done["positions"] += [position for _, position in store.append(conversation, batch)]
        elif (claimed := store.claim(conversation)) is not None:
            compact(claimed)
        else:
            done["busy"] += 1
            look()
        time.sleep(chance.uniform(0, 0.005))  # thinking
    Path(notes, f"{child}.json").write_text(json.dumps(done))


def _ranges(found: list[int]) -> list[tuple[int, int]]:
    """Numbers as ranges; one that is there twice stays twice."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(found):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return ranges


def _report(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # at once and as a whole, whoever is killed then


def _serve() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        job = {"talk": talk, "race": race}[command.pop("job")]
        several = command.pop("children")
        born = []
        for child in range(several):
            pid = os.fork()
            if pid == 0:
                _live(job, command if several == 1 else {**command, "child": child})
            born.append(pid)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in born]
        _report(f"ended {codes}")


def _live(job: Any, arguments: dict[str, Any]) -> None:
    _report(f"born {os.getpid()}")
    try:
        job(**arguments)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    import alembic.command
    import alembic.config
    import alembic.script  # noqa: F401  (what the children would import one by one)

    _serve()
