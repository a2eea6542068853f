"""Carrying on: what of the previous summary is still true, given what happened since."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compactor.facts import Fact, Kind
from compactor.facts.commands import read_command
from compactor.facts.constraints import PREFERENCE, binding
from compactor.facts.paths import paths_in
from compactor.summarizing.extractive import labels
from compactor.summarizing.extractive.candidate import Candidate
from compactor.summarizing.extractive.previous import Item

# The rank of carried items among new ones: what the user said outlives everything else.
_SCORES = {
    "goal": 1.4,
    "constraints": 1.5,
    "done": 0.8,
    "in_progress": 1.0,
    "blocked": 1.2,
    "decisions": 0.9,
    "files": 0.8,
    "next_steps": 0.7,
    "critical": 0.8,
    "tools": 0.4,
}
RULE_SCORE = 1.1
"""The rank of an order of a user for which the share of the orders has no room; those within it have none."""

_FAILED = re.compile(r"→ (?:exit -?\d+|failed)\b")
_FILE = re.compile(r"^(\S.*?): ((?:[a-z]+(?: \d+×)?)(?:, [a-z]+(?: \d+×)?)*)$")
_TIMES = re.compile(r"([a-z]+)(?: (\d+)×)?")
_TOOL = re.compile(r"^(\S+): (\d+) calls?(?:, (\d+) failed)?$")
_FIRST_ASK, _NEWEST_ASK = 3.0, 2.5  # as in ``candidates``
_OLDEST = -1e6  # carried items stand before all new ones


@dataclass(slots=True)
class Carried:
    """What a previous summary hands on: lines, and counts that the new ones add to.

    ``root`` is the directory that its paths leave out.
    """

    lines: list[Candidate] = field(default_factory=list)
    files: dict[str, Counter[str]] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    failed_calls: Counter[str] = field(default_factory=Counter)
    root: str = ""


def carry(items: Sequence[Item], facts: Sequence[Fact]) -> Carried:
    """What of ``items`` still holds after ``facts``: finished work moves to Done, solved problems go."""
    carried = Carried()
    if not items:
        return carried
    since = _Since(facts)
    for number, item in enumerate(items):
        if not _counted(item, carried):
            carried.lines += _line(item, number, since, first=not any(_is_ask(line) for line in carried.lines))
    return carried


def _is_ask(line: Candidate) -> bool:
    return line.must and line.content == "goal"


def _counted(item: Item, carried: Carried) -> bool:
    """Take over the counts in lines that we wrote about files and tools."""
    if item.content == "files" and item.text.startswith(labels.ROOT_IS):
        carried.root = item.text.removeprefix(labels.ROOT_IS)
        return True
    if item.content == "files" and (match := _FILE.match(item.text)):
        path = match.group(1)
        if carried.root and path.startswith(labels.ROOT):
            path = carried.root + path.removeprefix(labels.ROOT)
        counts = carried.files.setdefault(path, Counter())
        for name, times in _TIMES.findall(match.group(2)):
            counts[name] += int(times or 1)
        return True
    if item.content == "tools" and (match := _TOOL.match(item.text)):
        carried.calls[match.group(1)] += int(match.group(2))
        carried.failed_calls[match.group(1)] += int(match.group(3) or 0)
        return True
    return False


def _line(item: Item, number: int, since: "_Since", first: bool) -> Iterator[Candidate]:
    text = item.text
    content = "constraints" if text.startswith(labels.RULE) else item.content  # whatever heading it stood under
    order = _OLDEST + number
    if content == "goal":
        newest = text.startswith(labels.NEWEST_ASK) and not since.asked
        score = _FIRST_ASK if first else _NEWEST_ASK if newest else _SCORES["goal"]
        yield Candidate("goal", labels.aged(text) if since.asked else text, score, order, must=first or newest)
        return
    if content == "constraints" and (text.startswith(labels.RULE) or binding(text) != PREFERENCE):
        # What is no preference was an order, or a line that another summarizer found worth keeping.
        yield Candidate(content, text, RULE_SCORE, order, must=True)
        return
    if content == "in_progress":
        content, text = _moved(text, since)
    elif content == "next_steps" and since.finished(text):
        content = "done"
    if content == "next_steps" and since.new_list and text.startswith("["):
        return
    if content == "blocked" and since.solved(text):
        return
    yield Candidate(content, text, _SCORES[content], order)


def _moved(text: str, since: "_Since") -> tuple[str, str]:
    """Where an item that was in progress belongs now, and its text without the label of the moment."""
    plain = labels.plain(text)
    if plain == text:
        return ("done" if since.finished(text) else "in_progress"), text
    if _FAILED.search(plain):
        command = re.match(r"`([^`]+)`", plain)
        looked = command is not None and read_command(command.group(1)).looks
        return ("critical" if looked else "blocked"), plain
    return ("done" if text.startswith(labels.LAST_CALL) else "critical"), plain


class _Since:
    """What the new messages say about old items."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._worked = {fact.subject for fact in facts if fact.kind is Kind.OUTCOME and len(fact.subject) > 2}
        self._reports = [fact.text for fact in facts if fact.kind is Kind.REPORT]
        self.asked = any(fact.kind is Kind.ASK for fact in facts)
        plans = [fact.text for fact in facts if fact.kind is Kind.PLAN]
        self._completed = [text.removeprefix("[completed] ") for text in plans if text.startswith("[completed]")]
        self.new_list = any(text.startswith("[") for text in plans)

    def finished(self, item: str) -> bool:
        """Whether the assistant or its list said that what ``item`` is about is finished."""
        if any(done in item for done in self._completed):
            return True
        named = [*paths_in(item), *re.findall(r"`([^`]{4,80})`", item)]
        return any(name in report for name in named for report in self._reports)

    def solved(self, item: str) -> bool:
        """Whether what failed in ``item`` worked later: the same program, the same file, or a report that names it."""
        match = re.match(r"`([^`]+)`", item)
        if match:
            return read_command(match.group(1)).program in self._worked
        if any(re.search(rf"(?<![\w/]){re.escape(subject)}(?!\w)", item) for subject in self._worked):
            return True
        return self.finished(item)
