"""Candidates: the lines that a summary could hold, made from facts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from compactor.facts import Fact, Kind
from compactor.facts.paths import names_file
from compactor.facts.prose import bare, clip, one_line
from compactor.facts.recognize import RULE, TODO
from compactor.summarizing.extractive import labels
from compactor.summarizing.extractive.candidate import Candidate
from compactor.summarizing.extractive.carrying import RULE_SCORE, Carried
from compactor.summarizing.extractive.revising import revised

_FIRST_ASK = 1500  # code points of the first ask on one line; what is longer follows line by line
_EARLY_ASK, _LATER_ASK = 1000, 500
_LATELY = 14  # messages from the end in which a stated plan is still a plan
_ACTED = 0.6  # the weight from which on a failure is that of a call with an effect
_SHARED = 4  # files below a directory from which on its name is stated once
_LAST = 1e7  # behind all that the conversation holds
_FIRST = -1e7  # before all that is carried over
_SYMBOLS = 240  # code points of definitions on one line
_REMEMBERED = 320  # code points of a line that a memory plugin said

# What a kind of detail is worth among the others, before its age and the names in it count.
_DETAILS = {Kind.ERROR: 0.5, Kind.VALUE: 0.5, Kind.STATEMENT: 0.5, Kind.EXCERPT: 0.2, Kind.LOOK: 0.3}


def candidates(facts: Sequence[Fact], count: int, carried: Carried) -> list[Candidate]:
    """The candidates from ``facts`` of ``count`` messages and from what was ``carried`` over."""
    age = _Age(max(count, 1))
    by_kind: dict[Kind, list[Fact]] = {kind: [] for kind in Kind}
    for fact in facts:
        by_kind[fact.kind].append(fact)
    again = any(line.must and line.content == "goal" for line in carried.lines)
    lines = [
        *carried.lines,
        *_asks(by_kind[Kind.ASK], again),
        *_constraints(by_kind[Kind.CONSTRAINT], age),
        *_done(by_kind, age),
        *_in_progress(facts),
        *_blocked(by_kind[Kind.FAILURE], by_kind[Kind.OUTCOME] + by_kind[Kind.LOOK], age),
        *_simple("decisions", by_kind[Kind.DECISION], age, 0.7, 0.4),
        *_files(by_kind[Kind.FILE], age, carried),
        *_symbols(by_kind[Kind.SYMBOL], age),
        *_next_steps(by_kind[Kind.PLAN], age),
        *_details(by_kind, age),
        *_tools(by_kind[Kind.CALL], carried),
    ]
    return revised(lines, by_kind[Kind.ASK], bool(carried.lines))


def remembered(memory: str) -> Iterator[Candidate]:
    """What memory plugins said, line by line and together behind what the conversation itself holds.

    Headings and the plugins' names are left out: alone they say nothing.
    """
    for place, line in enumerate(memory.splitlines()):
        text = one_line(line).strip()
        if text and not text.startswith("#") and not (text.startswith("[") and text.endswith("]")):
            yield Candidate("critical", f"Remembered: {clip(text.lstrip('-* '), _REMEMBERED)}", 0.5, _LAST + place)


@dataclass(frozen=True, slots=True)
class _Age:
    count: int

    def recency(self, index: int) -> float:
        """1 for the newest message, near 0 for the oldest."""
        return (index + 1) / self.count


def _simple(content: str, facts: Sequence[Fact], age: _Age, base: float, fresh: float) -> Iterator[Candidate]:
    for fact in facts:
        yield Candidate(content, fact.text, base * fact.weight + fresh * age.recency(fact.position), fact.position)


def _constraints(facts: Sequence[Fact], age: _Age) -> Iterator[Candidate]:
    """What binds: orders of users may not be missing, whatever else there is."""
    for fact in facts:
        if fact.weight >= 1:
            text = f"{labels.RULE}{fact.text}" if fact.subject == RULE else fact.text
            yield Candidate("constraints", text, RULE_SCORE, fact.position, must=True)
        else:
            yield from _simple("constraints", (fact,), age, 1.0, 0.1)


def _asks(facts: Sequence[Fact], again: bool) -> Iterator[Candidate]:
    """What was asked; ``again`` says that a previous summary has the first ask already."""
    for number, fact in enumerate(facts):
        if number == 0 and not again:
            yield Candidate("goal", labels.FIRST_ASK + clip(fact.text, _FIRST_ASK), 3.0, 0.0, must=True)
            yield from _rest_of_ask(fact.text)
        elif number == len(facts) - 1:
            # One alone beside older asks can be older still, see ``labels.aged``.
            label = labels.NEWEST_ASK if number else labels.ASK
            yield Candidate("goal", label + clip(fact.text, _FIRST_ASK), 2.5, fact.position, must=True)
        elif number == 0:  # it can be the first of all, when the head of a conversation is folded late
            yield Candidate("goal", labels.ASK + clip(fact.text, _EARLY_ASK), 2.0, fact.position, must=True)
        else:
            yield Candidate("goal", labels.ASK + clip(fact.text, _LATER_ASK), 1.5, fact.position)


def _rest_of_ask(text: str) -> Iterator[Candidate]:
    """The lines of a long first ask that its clipped form does not show."""
    shown = 0
    for number, line in enumerate(text.splitlines()):
        line = one_line(line)
        shown += len(line) + 1
        if shown > _FIRST_ASK and len(line) > 3 and not line.startswith("```"):
            yield Candidate("goal", labels.MORE_OF_ASK + clip(bare(line), 400), 0.9, number * 1e-5)


def _done(by_kind: dict[Kind, list[Fact]], age: _Age) -> Iterator[Candidate]:
    yield from _simple("done", by_kind[Kind.OUTCOME], age, 0.9, 0.4)
    for fact in by_kind[Kind.REPORT]:
        score = 0.7 * fact.weight + 0.4 * age.recency(fact.position)
        yield Candidate("done", f"Assistant: “{fact.text}”", score, fact.position)
    newest = max((fact.position for fact in by_kind[Kind.PLAN] if fact.subject == TODO), default=-1)
    for fact in by_kind[Kind.PLAN]:
        if fact.position == newest and fact.text.startswith("[completed]"):
            yield Candidate("done", fact.text, 1.2, fact.position)


def _in_progress(facts: Sequence[Fact]) -> Iterator[Candidate]:
    """The last things said and tried before the cut: that is where the work stands."""
    spoken = (Kind.STATEMENT, Kind.REPORT, Kind.DECISION, Kind.PLAN)
    said = (fact for fact in reversed(facts) if fact.kind in spoken and fact.subject != TODO)
    tried = (fact for fact in reversed(facts) if fact.kind in (Kind.OUTCOME, Kind.FAILURE, Kind.LOOK))
    for rank, fact in enumerate(islice(said, 4)):
        yield Candidate("in_progress", labels.LAST_SAID + fact.text, 1.6 - 0.1 * rank, fact.position)
    for rank, fact in enumerate(islice(tried, 3)):
        yield Candidate("in_progress", labels.LAST_CALL + fact.text, 1.5 - 0.1 * rank, fact.position + 0.5)


def _blocked(failures: Sequence[Fact], successes: Sequence[Fact], age: _Age) -> Iterator[Candidate]:
    """The newest failure of each thing that did not work since; a search that found nothing blocks nobody."""
    solved = {fact.subject: fact.position for fact in successes}
    newest = {fact.subject: fact for fact in failures}
    for fact in failures:
        fresh = age.recency(fact.position)
        if solved.get(fact.subject, -1) > fact.position:
            text = f"Failed before it worked: {fact.text}"
            yield Candidate("critical", text, 0.4 * fact.weight + 0.2 * fresh, fact.position)
        elif fact.weight < _ACTED:
            yield Candidate("critical", fact.text, 0.4 * fact.weight + 0.4 * fresh, fact.position)
        elif newest[fact.subject] is fact:
            yield Candidate("blocked", fact.text, 0.8 * fact.weight + 0.6 * fresh, fact.position)


def _files(done: Sequence[Fact], age: _Age, carried: Carried) -> Iterator[Candidate]:
    actions = {path: Counter(counts) for path, counts in carried.files.items()}
    last = dict.fromkeys(actions, -1)
    for fact in done:
        actions.setdefault(fact.subject, Counter())[fact.text] += 1
        last[fact.subject] = fact.position
    root = _root(actions)
    if root:
        yield Candidate("files", labels.ROOT_IS + root, 2.0, _FIRST, must=True)
    for path, counts in actions.items():
        told = ", ".join(name if times == 1 else f"{name} {times}×" for name, times in counts.most_common())
        changed = any(name != "read" for name in counts)
        score = (0.9 if changed else 0.5) + 0.5 * age.recency(last[path])
        shown = labels.ROOT + path[len(root) :] if root and path.startswith(root) else path
        yield Candidate("files", f"{shown}: {told}", score, last[path])


def _root(paths: Iterable[str]) -> str:
    """The directory, with a slash at its end, that saves most when it is not repeated; "" where none saves much."""
    shared: Counter[str] = Counter()
    for path in paths:
        if path.startswith("/"):
            at = path.find("/", 1)
            while (at := path.find("/", at + 1)) > 0:
                shared[path[: at + 1]] += 1
    best = max(shared, key=lambda root: (len(root) * (shared[root] - 1), root), default="")
    return best if shared[best] >= _SHARED else ""


def _symbols(facts: Sequence[Fact], age: _Age) -> Iterator[Candidate]:
    """The definitions seen in each file, several on a line, beside the line that says what was done to the file."""
    by_path: dict[str, dict[str, Fact]] = {}
    for fact in facts:
        if "/" in fact.subject or names_file(fact.subject):  # else it is a program that showed several files
            by_path.setdefault(fact.subject, {})[fact.text] = fact
    for path, seen in by_path.items():
        last = max(fact.position for fact in seen.values())
        name = "/".join(path.split("/")[-2:])
        for number, run in enumerate(_runs(list(seen.values()))):
            text = f"{name}: {'; '.join(fact.text for fact in run)}"
            score = 0.6 * max(fact.weight for fact in run) + 0.3 * age.recency(last)
            yield Candidate("files", text, score, last + 0.1 + number * 1e-4)


def _runs(facts: Sequence[Fact]) -> Iterator[list[Fact]]:
    """``facts`` in groups that fit on a line each."""
    run: list[Fact] = []
    size = 0
    for fact in facts:
        if run and size + len(fact.text) > _SYMBOLS:
            yield run
            run, size = [], 0
        run.append(fact)
        size += len(fact.text) + 2
    if run:
        yield run


def _next_steps(plans: Sequence[Fact], age: _Age) -> Iterator[Candidate]:
    """Open items of the newest list, and what was planned lately; older plans are only a detail of the way here."""
    newest = max((fact.position for fact in plans if fact.subject == TODO), default=-1)
    for fact in plans:
        if fact.subject == TODO:
            if fact.position == newest and not fact.text.startswith("[completed]"):
                yield Candidate("next_steps", fact.text, 2.0, fact.position)
        elif fact.position >= age.count - _LATELY:
            yield Candidate("next_steps", fact.text, 0.3 + fact.weight * age.recency(fact.position), fact.position)
        else:
            yield Candidate("critical", fact.text, 0.3 * fact.weight + 0.4 * age.recency(fact.position), fact.position)


def _details(by_kind: dict[Kind, list[Fact]], age: _Age) -> Iterator[Candidate]:
    asked = " ".join(one_line(fact.text[:_FIRST_ASK]) for fact in by_kind[Kind.ASK])
    first = next((fact.position for fact in by_kind[Kind.ASK]), None)
    for kind, base in _DETAILS.items():
        facts = by_kind[kind]
        if kind is Kind.VALUE:  # those of the asks are shown with the asks
            facts = [fact for fact in facts if fact.position != first and fact.text not in asked]
        if kind is Kind.LOOK:  # the list of files says that already
            facts = [fact for fact in facts if fact.text != f"read {fact.subject}"]
        yield from _simple("critical", facts, age, base, 0.4)


def _tools(calls: Sequence[Fact], carried: Carried) -> Iterator[Candidate]:
    total = carried.calls + Counter(fact.subject for fact in calls)
    bad = carried.failed_calls + Counter(fact.subject for fact in calls if fact.text == "failed")
    for rank, (name, times) in enumerate(total.most_common(12)):
        failures = f", {bad[name]} failed" if bad[name] else ""
        yield Candidate("tools", f"{name}: {times} call{'s' if times > 1 else ''}{failures}", 0.8 - 0.05 * rank, rank)
