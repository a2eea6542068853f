"""Buying: which candidates a summary has room for, the best first."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from compactor.facts.prose import clip, one_line
from compactor.summarizing.extractive import labels
from compactor.summarizing.extractive.candidate import Candidate
from compactor.summarizing.extractive.salience import Salience, Words

# What a line's worth is made of, beside the score of its candidate (about 0 to 3). Measured by forward recall.
_NAMED = 1.5  # the names in it
_FOCUSED = 1.5  # the words of the focus in it
_HALF = 3000  # the weight of names that counts half of what any weight can count
_STALE = 0.5  # the part of its worth that a line loses when all its names are in the summary already

RULES = "constraints"
"""The content of which as much is bought as binds."""

_SHORTEST = 24  # code points below which a cut line says nothing
_SMALLEST = 30  # bytes that no line of use is below
_PATIENCE = 40  # lines too long for what is left, after which the search ends
_FRAME = 3  # bytes around a line: "- " and the line break


class _Offer(NamedTuple):
    """A candidate on offer; ``rank`` is its worth, negative so that the smallest is the best."""

    rank: float
    number: int
    candidate: Candidate
    names: Words
    weight: int


class Buyer:
    """Buys lines for bytes of UTF-8, which are nearer to tokens than code points, whatever the script.

    A line is worth less when its names were bought before.
    """

    def __init__(self, pool: Iterable[Candidate], salience: Salience) -> None:
        self.bought: list[Candidate] = []
        self.spent = 0
        self._salience = salience
        self._covered: set[bytes] = set()
        self._offers: dict[str, list[_Offer]] = {}
        for number, candidate in enumerate(_unique(pool)):
            names = salience.names(candidate.text)
            weight = salience.weight(names)
            worth = candidate.score + _NAMED * weight / (weight + _HALF) + _FOCUSED * salience.focused(candidate.text)
            offer = _Offer(-worth, number, candidate, names, weight)
            self._offers.setdefault(candidate.content, []).append(offer)

    def buy_musts(self, size: float, old: float) -> None:
        """Buy the lines that may not be missing before all others; rules wait.

        Each is cut to at most ``size``, those that a previous summary had to ``old``.
        """
        for content, offers in self._offers.items():
            if content == RULES:
                continue
            self._offers[content] = [offer for offer in offers if not offer.candidate.must]
            for offer in sorted(offer for offer in offers if offer.candidate.must):
                text = offer.candidate.text
                most = old if offer.candidate.order < 0 else size
                if (cost := cost_of(text)) > most:
                    text = clip(text, max(int(len(text) * (most - _FRAME) / cost) - 3, _SHORTEST))
                if (cost := cost_of(text)) <= most:
                    self._take(offer._replace(candidate=offer.candidate._replace(text=text)), cost)

    def buy_rules(self, size: float) -> None:
        """Buy the rules that may not be missing, the oldest first, word for word, for at most ``size``.

        Those of a list that was given as one come before sentences that only read like orders.
        """
        left: list[_Offer] = []
        for offer in sorted(self._offers.get(RULES, ()), key=_precedence):
            if offer.candidate.must and (cost := cost_of(offer.candidate.text)) <= size:
                size -= cost
                self._take(offer, cost)
            else:
                left.append(offer)
        self._offers[RULES] = left

    def buy_old(self, total: float) -> None:
        """Buy what a previous summary said until ``total`` is spent, earlier purchases included."""
        for content, offers in self._offers.items():
            old = [offer for offer in offers if offer.candidate.order < 0]
            new = [offer for offer in offers if offer.candidate.order >= 0]
            self._offers[content] = new + self._buy(old, total - self.spent)

    def buy_for(self, content: str, size: float, total: float) -> None:
        """Buy among the candidates for ``content``, for at most ``size``, while ``total`` is not spent."""
        self._offers[content] = self._buy(self._offers.get(content, []), min(size, total - self.spent))

    def buy_any(self, total: float) -> None:
        """Buy among all candidates that are left until ``total`` is spent, earlier purchases included."""
        offers = [offer for offers in self._offers.values() for offer in offers]
        self._offers = {"": self._buy(offers, total - self.spent)}

    def _buy(self, offers: list[_Offer], size: float) -> list[_Offer]:
        """Spend ``size`` on the best of ``offers``; those not bought are returned."""
        if size < _SMALLEST:
            return offers
        heapq.heapify(offers)
        passed: list[_Offer] = []
        left = size
        while offers and left >= _SMALLEST and len(passed) < _PATIENCE:
            offer = heapq.heappop(offers)
            now = self._now(offer)
            if now.rank > offer.rank and offers and now.rank > offers[0].rank:
                heapq.heappush(offers, now)
                continue
            cost = cost_of(offer.candidate.text)
            if cost > left:
                passed.append(offer)
                continue
            left -= cost
            self._take(offer, cost)
        return offers + passed

    def _take(self, offer: _Offer, cost: int) -> None:
        self.spent += cost
        self.bought.append(offer.candidate)
        self._covered |= offer.names

    def _now(self, offer: _Offer) -> _Offer:
        """``offer`` at its present worth, which falls with the share of its names that are bought already."""
        if self._covered.isdisjoint(offer.names):
            return offer
        fresh = offer.names - self._covered
        weight = self._salience.weight(fresh)
        rank = offer.rank * (1 - _STALE * (1 - weight / offer.weight))
        return _Offer(rank, offer.number, offer.candidate, fresh, weight)


def _precedence(offer: _Offer) -> tuple[bool, float]:
    return not offer.candidate.text.startswith(labels.RULE), offer.candidate.order


def cost_of(text: str) -> int:
    """The bytes that a line takes."""
    return _FRAME + (len(text) if text.isascii() else len(text.encode()))


def _unique(pool: Iterable[Candidate]) -> Iterable[Candidate]:
    """Each text once, as the candidate that ranks highest."""
    best: dict[str, Candidate] = {}
    for candidate in pool:
        if not candidate.text.isprintable():
            candidate = candidate._replace(text=one_line(candidate.text))
        held = best.get(candidate.text)
        if held is None or candidate.score > held.score:
            best[candidate.text] = candidate
    return best.values()
