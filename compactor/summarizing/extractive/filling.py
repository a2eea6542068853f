"""Filling: which candidates the budget buys, and the summary that they make."""

import heapq
from collections.abc import Iterable, Mapping, Sequence

from compactor.extension.protocols import Counter
from compactor.summarizing.extractive.candidate import Candidate
from compactor.summarizing.extractive.layout import Layout
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
_NOVELTY = 0.6  # the part of a line's worth that names said before take away


def fill(layout: Layout, pool: Iterable[Candidate], salience: Salience, budget: int, counter: Counter) -> str:
    """The summary of the best candidates of ``pool`` that fits ``budget`` tokens as ``counter`` counts.

    Where not even the headings fit, as many of them as do.
    """
    frame = layout.render({})
    room = budget - counter.text(frame)
    if room < 0:
        return _bare(layout, budget, counter)
    buyer = _Buyer(pool, salience, counter)
    for content, share in SHARES.items():
        buyer.buy(room, room * share, content)
    buyer.buy(room, room)
    chosen = sorted(buyer.bought, key=lambda candidate: candidate.order)
    text = _write(layout, chosen)
    spare = sorted(chosen, key=lambda candidate: (candidate.must, candidate.score))
    while spare and counter.text(text) > budget:
        # Counts of lines do not quite add up to the count of the whole: give up the least useful lines.
        for _ in range(max(len(spare) // 50, 1)):
            chosen.remove(spare.pop(0))
        text = _write(layout, chosen)
    return text


def _write(layout: Layout, chosen: Sequence[Candidate]) -> str:
    items: dict[str, list[str]] = {}
    for candidate in chosen:
        items.setdefault(layout.places[candidate.content], []).append(candidate.text)
    return layout.render(items)


def _bare(layout: Layout, budget: int, counter: Counter) -> str:
    """Headings only, as many as fit; at least the first."""
    lines = list(layout.lines)
    while len(lines) > 1 and counter.text("\n".join(lines)) > budget:
        lines.pop()
    return "\n".join(lines)


class _Buyer:
    """Buys lines for tokens, the best first; a line is worth less when its names were bought before."""

    def __init__(self, pool: Iterable[Candidate], salience: Salience, counter: Counter) -> None:
        self.bought: list[Candidate] = []
        self.spent = 0
        self._counter = counter
        self._seen: set[str] = set()
        self._covered: dict[str, float] = {}
        self._waiting: dict[str, list[tuple[float, int, Candidate, dict[str, float]]]] = {}
        unique: dict[str, Candidate] = {}
        for candidate in pool:
            held = unique.get(candidate.text)
            if held is None or candidate.score > held.score:
                unique[candidate.text] = candidate
        for number, candidate in enumerate(unique.values()):
            weights = salience.weights(candidate.text)
            total = sum(weights.values())
            value = candidate.score + total / (total + 4) + 1.5 * salience.focused(candidate.text) + 9.0 * candidate.must
            self._waiting.setdefault(candidate.content, []).append((-value, number, candidate, weights))

    def buy(self, room: float, share: float, content: str | None = None) -> None:
        """Buy among the candidates for ``content`` (None: among all) for at most ``share``, within ``room`` in all."""
        if content is not None:
            queue = self._waiting.pop(content, [])
        else:
            queue = [entry for queue in self._waiting.values() for entry in queue]
            self._waiting = {}
        heapq.heapify(queue)
        left = min(share, room - self.spent)
        kept = []
        misses = 0
        while queue and misses < 40 and left > 8:
            value, number, candidate, weights = heapq.heappop(queue)
            current = self._current(value, weights)
            if queue and current > queue[0][0] + 1e-9 and current != value:
                heapq.heappush(queue, (current, number, candidate, {w: x for w, x in weights.items() if w not in self._covered}))
                continue
            cost = self._counter.text(f"- {candidate.text}\n") + 1
            if cost > left:
                misses += 1
                kept.append((value, number, candidate, weights))
                continue
            left -= cost
            self.spent += cost
            self.bought.append(candidate)
            for word in weights:
                self._covered[word] = 1.0
        if content is not None:
            self._waiting[content] = queue + kept

    def _current(self, value: float, weights: dict[str, float]) -> float:
        """The (negative) worth of a line now: names that are covered no longer count in full."""
        total = sum(weights.values())
        if not total:
            return value
        stale = sum(weight for word, weight in weights.items() if word in self._covered) / total
        return value * (1 - _NOVELTY * stale * 0.5) if stale else value
