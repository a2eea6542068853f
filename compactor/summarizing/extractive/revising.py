"""Revising: marking what users took back since it was said."""

from collections.abc import Sequence

from compactor.facts import Fact
from compactor.facts.revisions import taken_back
from compactor.summarizing.extractive import labels
from compactor.summarizing.extractive.candidate import Candidate

_LOWER = 0.5  # of its rank, for a line that no longer holds
_REVISABLE = ("constraints", "decisions")


def revised(lines: list[Candidate], asks: Sequence[Fact], again: bool) -> list[Candidate]:
    """``lines``, those marked and ranked lower that hold a quoted term which a later one of ``asks`` takes back.

    Orders are never marked: a wrong mark would set one free. With ``again`` (there is a previous summary) the first
    ask takes nothing back, since it can be older than the summary, see ``labels.aged``.
    """
    back = [(fact.position, f"`{term}") for fact in asks[1 if again else 0 :] for term in taken_back(fact.text)]
    return [_revised(line, back) for line in lines] if back else lines


def _revised(line: Candidate, back: Sequence[tuple[int, str]]) -> Candidate:
    if line.content not in _REVISABLE or line.must or line.text.endswith(labels.REVISED):
        return line
    if not any(line.order < position and term in line.text for position, term in back):
        return line
    return line._replace(text=line.text + labels.REVISED, score=line.score * _LOWER)
