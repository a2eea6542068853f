"""Filling: the summary that a budget of tokens buys."""

from collections.abc import Iterable, Mapping, Sequence

from compactor.extension.protocols import Counter
from compactor.summarizing.extractive.buying import RULES, Buyer, cost_of
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
_MUST_SHARE = 0.25  # of the budget, for each of the lines that may not be missing; longer ones are cut to it
_RULES_SHARE = 0.33  # of the budget, for the orders of users together
_SCARCE_SHARE = 0.9  # the same where the headings alone would be too much
_SPARE = 0.04  # of the budget; less is not worth a second round
_SURE = 0.98  # of the room, since a rate measured on a part is off by a little for the whole
_SAMPLE = 3000  # code points that tell how many bytes a token has
_LEAST = 1.0  # bytes a token, whatever a counter says


def fill(
    layout: Layout,
    pool: Iterable[Candidate],
    salience: Salience,
    budget: int,
    counter: Counter,
    carry: bool = False,
) -> str:
    """The summary of the best candidates of ``pool`` that fits ``budget`` tokens as ``counter`` counts.

    Lines are weighed in bytes at the rate that a sample shows, and the whole is counted at the end. Where the
    headings alone would take most of the budget, those that nothing stands under are left out. With ``carry`` all
    that a previous summary said comes before what is new.
    """
    chosen = [candidate for candidate in pool if candidate.content in layout.places]
    empty, room = _headed(layout, budget, counter)
    rate = _rate(chosen, counter)
    size = room * rate * _SURE
    buyer = Buyer(chosen, salience)
    most = size * (_SCARCE_SHARE if empty is None else _MUST_SHARE)
    buyer.buy_musts(most, size * _SCARCE_SHARE if carry else most)
    asked = buyer.spent
    buyer.buy_rules(min(size * _RULES_SHARE, size - asked))
    ruled = buyer.spent - asked
    if carry:
        buyer.buy_old(size)
    left = min(size, (size - buyer.spent) / sum(SHARES.values()))
    for content, share in SHARES.items():
        buyer.buy_for(content, left * share - (ruled if content == RULES else 0), size)
    buyer.buy_any(size)
    text = _write(layout, buyer.bought, empty)
    spare = budget - (used := counter.text(text))
    if spare > budget * _SPARE and room > 0:
        # Where items stand no "nothing" does, and the rate of the whole is known now.
        buyer.buy_any(buyer.spent + spare * _SURE * len(text.encode()) / max(used, 1))
        text = _write(layout, buyer.bought, empty)
        spare = budget - counter.text(text)
    return _trimmed(layout, buyer.bought, empty, budget, counter) if spare < 0 else text


def _headed(layout: Layout, budget: int, counter: Counter) -> tuple[str | None, int]:
    """What stands under empty headings (None: not even the heading), and the tokens left for items."""
    room = budget - counter.text(layout.render({}))
    if 2 * room >= budget:
        return NOTHING, room
    room = budget - counter.text(layout.render({}, empty=""))
    if 3 * room >= budget:
        return "", room
    return None, max(budget * 2 // 3, 0)


def _rate(pool: Sequence[Candidate], counter: Counter) -> float:
    """The bytes of a token in the lines of ``pool``, told from lines spread over it."""
    if not pool:
        return 4.0
    lines = [candidate.text[:200] for candidate in pool[:: max(len(pool) * 100 // _SAMPLE, 1)]]
    sample = "\n".join(lines)[:_SAMPLE]
    return max(len(sample.encode("utf-8", "replace")) / max(counter.text(sample), 1), _LEAST)


def _trimmed(layout: Layout, bought: Sequence[Candidate], empty: str | None, budget: int, counter: Counter) -> str:
    """The summary without its least useful lines, where it costs more than was reckoned."""
    kept = sorted(bought, key=lambda candidate: (candidate.must, candidate.score, -candidate.order), reverse=True)
    text = _write(layout, kept, empty)
    while kept and (used := counter.text(text)) > budget:
        over = len(text.encode()) * (used - budget) / used
        while kept and over > 0:
            over -= cost_of(kept.pop().text)
        text = _write(layout, kept, empty)
    return text if text and counter.text(text) <= budget else _bare(layout, budget, counter)


def _write(layout: Layout, chosen: Sequence[Candidate], empty: str | None) -> str:
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
