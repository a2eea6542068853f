"""Filling: which candidates the budget buys, and the summary that they make."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from compactor.extension.protocols import Counter
from compactor.facts.prose import clip, one_line
from compactor.summarizing.extractive.candidate import Candidate
from compactor.summarizing.extractive.layout import NOTHING, Layout
from compactor.summarizing.extractive.salience import Salience

# The share of the budget that a kind of content has for itself; what it leaves is for the best of all others.
SHARES: Mapping[str, float] = {
    "goal": 0.14,
    "constraints": 0.08,
    "done": 0.14,
    "in_progress": 0.05,
    "blocked": 0.05,
    "decisions": 0.07,
    "files": 0.14,
    "next_steps": 0.04,
    "critical": 0.14,
    "tools": 0.02,
}
# What a line's worth is made of, beside the score of its candidate (about 0 to 3). Measured by forward recall.
_NAMED = 1.5  # the names in it
_FOCUSED = 1.5  # the words of the focus in it
_MUST = 9.0  # more than everything else together
_MUST_SHARE = 0.25  # of the budget, for each of the lines that may not be missing; longer ones are cut to it
_STALE = 0.5  # the part of its worth that a line loses when all its names are in the summary already

_SPARE = 0.02  # of the budget; less is not worth a second round
_SHORTEST = 24  # code points below which a cut line says nothing
_SMALLEST = 8  # tokens that no line of use is below
_PATIENCE = 40  # lines too long for what is left, after which the search ends


def fill(layout: Layout, pool: Iterable[Candidate], salience: Salience, budget: int, counter: Counter) -> str:
    """The summary of the best candidates of ``pool`` that fits ``budget`` tokens as ``counter`` counts.

    Where not even the headings fit, as many of them as do.
    """
    empty, room = NOTHING, budget - counter.text(layout.render({}))
    if room < 0:
        empty, room = "", budget - counter.text(layout.render({}, empty=""))
    if room < 0:
        return _bare(layout, budget, counter)
    buyer = _Buyer((candidate for candidate in pool if candidate.content in layout.places), salience, counter)
    buyer.buy_musts(room * _MUST_SHARE)
    for content, share in SHARES.items():
        buyer.buy_for(content, room * share, room)
    buyer.buy_any(room)
    text = _write(layout, buyer.bought, empty)
    # Lines were counted one by one and generously, and where items stand no "nothing" does: spend what is over.
    spare = budget - counter.text(text)
    if spare > budget * _SPARE:
        buyer.buy_any(room + spare)
        text = _write(layout, buyer.bought, empty)
    return _trimmed(layout, buyer.bought, empty, budget, counter) if counter.text(text) > budget else text


def _trimmed(layout: Layout, bought: Sequence[Candidate], empty: str, budget: int, counter: Counter) -> str:
    """The summary without its least useful lines, for counters by which a whole costs more than its lines."""
    kept = sorted(bought, key=lambda candidate: (candidate.must, candidate.score), reverse=True)
    text = _write(layout, kept, empty)
    while kept and counter.text(text) > budget:
        del kept[-max(len(kept) // 50, 1) :]
        text = _write(layout, kept, empty)
    return text


def _write(layout: Layout, chosen: Sequence[Candidate], empty: str) -> str:
    items: dict[str, list[str]] = {}
    for candidate in sorted(chosen, key=lambda candidate: candidate.order):
        items.setdefault(layout.places[candidate.content], []).append(candidate.text)
    return layout.render(items, empty)


def _bare(layout: Layout, budget: int, counter: Counter) -> str:
    """Headings only, as many as fit; at least the first."""
    lines = list(layout.lines)
    while len(lines) > 1 and counter.text("\n".join(lines)) > budget:
        lines.pop()
    return "\n".join(lines)


class _Offer(NamedTuple):
    """A candidate on offer; ``rank`` is its worth, negative so that the smallest is the best."""

    rank: float
    number: int
    candidate: Candidate
    names: dict[str, float]


class _Buyer:
    """Buys lines for tokens, the best first; a line is worth less when its names were bought before."""

    def __init__(self, pool: Iterable[Candidate], salience: Salience, counter: Counter) -> None:
        self.bought: list[Candidate] = []
        self._spent = 0
        self._counter = counter
        self._covered: set[str] = set()
        self._offers: dict[str, list[_Offer]] = {}
        for number, candidate in enumerate(_unique(pool)):
            names = salience.weights(candidate.text)
            worth = candidate.score + _NAMED * _saturated(sum(names.values()))
            worth += _FOCUSED * salience.focused(candidate.text) + _MUST * candidate.must
            self._offers.setdefault(candidate.content, []).append(_Offer(-worth, number, candidate, names))

    def buy_musts(self, tokens: float) -> None:
        """Buy the lines that may not be missing before all others, each cut to at most ``tokens``."""
        for content, offers in self._offers.items():
            self._offers[content] = [offer for offer in offers if not offer.candidate.must]
            for offer in sorted(offers):
                if offer.candidate.must:
                    self._buy_cut(offer, tokens)

    def _buy_cut(self, offer: _Offer, tokens: float) -> None:
        text = offer.candidate.text
        while (cost := self._cost(text)) > tokens and len(text) > _SHORTEST:
            text = clip(text, max(min(int(len(text) * tokens / cost), len(text) - 1), _SHORTEST))
        if cost <= tokens:
            self._take(offer._replace(candidate=replace(offer.candidate, text=text)), cost)

    def buy_for(self, content: str, tokens: float, total: float) -> None:
        """Buy among the candidates for ``content``, for at most ``tokens``, while ``total`` is not spent."""
        self._offers[content] = self._buy(self._offers.get(content, []), min(tokens, total - self._spent))

    def buy_any(self, total: float) -> None:
        """Buy among all candidates that are left until ``total`` tokens are spent, earlier purchases included."""
        offers = [offer for offers in self._offers.values() for offer in offers]
        self._offers = {"": self._buy(offers, total - self._spent)}

    def _buy(self, offers: list[_Offer], tokens: float) -> list[_Offer]:
        """Spend ``tokens`` on the best of ``offers``; those not bought are returned."""
        heapq.heapify(offers)
        passed: list[_Offer] = []
        left = tokens
        while offers and left >= _SMALLEST and len(passed) < _PATIENCE:
            offer = heapq.heappop(offers)
            now = self._now(offer)
            if now.rank > offer.rank and offers and now.rank > offers[0].rank:
                heapq.heappush(offers, now)
                continue
            cost = self._cost(offer.candidate.text)
            if cost > left:
                passed.append(offer)
                continue
            left -= cost
            self._take(offer, cost)
        return offers + passed

    def _cost(self, text: str) -> int:
        """Tokens of a line: one more than counted, since a counter may round down."""
        return self._counter.text(f"- {text}\n") + 1

    def _take(self, offer: _Offer, cost: int) -> None:
        self._spent += cost
        self.bought.append(offer.candidate)
        self._covered.update(offer.names)

    def _now(self, offer: _Offer) -> _Offer:
        """``offer`` at its present worth, which falls with the share of its names that are bought already."""
        fresh = {name: weight for name, weight in offer.names.items() if name not in self._covered}
        if len(fresh) == len(offer.names):
            return offer
        stale = 1 - sum(fresh.values()) / sum(offer.names.values())
        return offer._replace(rank=offer.rank * (1 - _STALE * stale), names=fresh)


def _unique(pool: Iterable[Candidate]) -> Iterable[Candidate]:
    """Each text once, as the candidate that ranks highest."""
    best: dict[str, Candidate] = {}
    for candidate in pool:
        if not candidate.text.isprintable():
            candidate = replace(candidate, text=one_line(candidate.text))
        held = best.get(candidate.text)
        if held is None or candidate.score > held.score:
            best[candidate.text] = candidate
    return best.values()


def _saturated(weight: float) -> float:
    """Many names in one line count less and less: 0 for none, towards 1."""
    return weight / (weight + 4)
