"""Remembered counts: a text that was counted once is not counted again."""

from collections.abc import Callable

# Characters that are remembered before the oldest half goes: ten conversations of a million tokens' window.
MAX_CHARACTERS = 32_000_000

# What an entry costs apart from its text, in characters, so that many tiny texts are bounded, too.
ENTRY_COST = 100


class CountCache:
    """A function ``text -> tokens`` that remembers its results, keyed by the text itself.

    Two generations: new counts go to the young one; when that holds half of ``max_characters`` it becomes the
    old one and the former old one goes. A text that is still in use is found in the old one and moves up. Safe
    to share between threads: the worst that a race can do is to count a text twice.
    """

    __slots__ = ("_characters", "_count", "_half", "_old", "_young")

    def __init__(self, count: Callable[[str], int], max_characters: int = MAX_CHARACTERS) -> None:
        self._count = count
        self._half = max_characters // 2
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._characters = 0

    def __call__(self, text: str) -> int:
        tokens = self._young.get(text)
        if tokens is not None:
            return tokens
        tokens = self._old.get(text)
        if tokens is None:
            tokens = self._count(text)
        self._keep(text, tokens)
        return tokens

    def _keep(self, text: str, tokens: int) -> None:
        cost = len(text) + ENTRY_COST
        if cost > self._half:
            return
        if self._characters + cost > self._half:
            self._old, self._young, self._characters = self._young, {}, 0
        self._young[text] = tokens
        self._characters += cost
