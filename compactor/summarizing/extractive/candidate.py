"""A candidate: one line that a summary could hold."""

from typing import NamedTuple


class Candidate(NamedTuple):
    """A line that the summary could hold under the heading for ``content`` (an id of ``layout.FALLBACKS``).

    ``score`` ranks it among all, about 0 to 3; ``order`` places it under its heading, oldest first, and is negative
    for what a previous summary said; ``must`` puts it before all that are not.
    """

    content: str
    text: str
    score: float
    order: float
    must: bool = False
