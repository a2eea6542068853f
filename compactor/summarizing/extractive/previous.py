"""The previous summary, read back: which items stood under which heading."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compactor.facts.prose import bare, clip
from compactor.summarizing.extractive.layout import NOTHING, Layout, suggested

_HEADING = re.compile(r"^(#{1,6})\s+(\S.*?)\s*#*$")
_LIMIT = 1600  # code points of an item that is carried on: a first ask in full, with its label


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the previous summary and the kind of content (an id of ``layout.FALLBACKS``) that it stood under."""

    content: str
    text: str


def read_back(text: str, layout: Layout) -> list[Item]:
    """The items of ``text``, in order, each once.

    Headings that the policy does not have (any more) give their items to what their title suggests, else to the
    critical ones; so does text that stands under no heading at all.
    """
    contents = {heading: content for content, heading in reversed(list(layout.places.items()))}
    by_title = {heading.lstrip("# ").casefold(): contents.get(heading, "critical") for heading in layout.lines}
    found: dict[str, Item] = {}
    for content, line in _under(text, by_title):
        shown = clip(bare(line), _LIMIT)
        if shown and shown != NOTHING:
            found.setdefault(shown, Item(content if content in layout.places else "critical", shown))
    return list(found.values())


def _under(text: str, by_title: dict[str, str]) -> Iterator[tuple[str, str]]:
    content = "critical"
    for line in text.splitlines():
        match = _HEADING.match(line)
        if match:
            title = match.group(2)
            content = by_title.get(title.casefold()) or suggested(title) or "critical"
        elif line.strip() and not line.lstrip().startswith("```"):
            yield content, line
