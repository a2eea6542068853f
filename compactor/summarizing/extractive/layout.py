"""The layout of a summary: which headings there are, which content goes under which, and how it is written out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compactor.policy.models import Section

NOTHING = "(nothing recorded)"

# What the facts are sorted into, and where each goes when the policy has no such heading (REFERENCE section 6).
FALLBACKS: Mapping[str, tuple[str, ...]] = {
    "goal": ("critical",),
    "constraints": ("goal", "decisions", "critical"),
    "done": ("progress", "critical"),
    "in_progress": ("progress", "next_steps", "critical"),
    "blocked": ("progress", "critical"),
    "decisions": ("constraints", "critical"),
    "files": ("critical",),
    "next_steps": ("in_progress", "progress", "critical"),
    "critical": ("decisions", "files"),
    "tools": (),
}
# What the title of a user's own heading suggests; the first pattern that fits decides.
_SUGGESTIONS = (
    ("next_steps", r"next|to-?do|remaining|plan\b|open (?:tasks|items)|follow"),
    ("blocked", r"block|stuck|unresolved|problem|issue|error|fail"),
    ("in_progress", r"in progress|current|doing|now\b|state|status"),
    ("done", r"done|complet|finish|accomplish|progress|change|history"),
    ("constraints", r"constrain|prefer|rule|require|must|instruction"),
    ("decisions", r"decision|why|rationale|reason|choice|design"),
    ("files", r"file|code|path|artifact|modul"),
    ("tools", r"tool|pattern|command"),
    ("goal", r"goal|ask|request|want|task|objective|intent|purpose|user"),
    ("critical", r"critical|context|fact|value|detail|note|key|summary|finding|knowledge|data|everything"),
)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for items: ``heading`` is the line above them, ``id`` the id in the policy, ``title`` for people."""

    id: str
    title: str
    heading: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The headings of a policy in order, and where each kind of content belongs among them.

    ``lines`` has every heading, also those of sections with parts, which hold no items themselves; ``places`` maps
    the content ids of ``FALLBACKS`` to the heading that takes them.
    """

    lines: tuple[str, ...]
    slots: tuple[Slot, ...]
    places: Mapping[str, str]

    def render(self, items: Mapping[str, Sequence[str]], empty: str | None = NOTHING) -> str:
        """The summary; ``items`` are the lines by heading.

        ``empty`` stands under a heading that has none; with None such headings are left out.
        """
        holders = {slot.heading for slot in self.slots}
        blocks = []
        for heading in self.lines:
            lines = [f"- {item}" for item in items.get(heading, ())]
            if heading in holders and not lines:
                if empty is None:
                    continue
                lines = [empty] if empty else []
            blocks.append("\n".join([heading, *lines]))
        if empty is None:  # a heading of parts that are all gone
            blocks = [block for block, after in zip(blocks, [*blocks[1:], "## "], strict=False) if _holds(block, after)]
        return ("\n\n" if empty else "\n").join(blocks)


def _holds(block: str, after: str) -> bool:
    """Whether a heading has lines or parts under it."""
    return "\n" in block or (block.startswith("## ") and after.startswith("### "))


def layout_of(sections: Sequence[Section]) -> Layout:
    """The layout for the policy's ``sections``; without any there is one unnamed place for everything."""
    lines: list[str] = []
    slots: list[Slot] = []
    for section in sections:
        heading = f"## {section.title}"
        lines.append(heading)
        if not section.parts:
            slots.append(Slot(section.id, section.title, heading))
        for part in section.parts:
            lines.append(f"### {part.title}")
            slots.append(Slot(part.id, part.title, f"### {part.title}"))
    if not slots:
        slots.append(Slot("critical", "Summary", "## Summary"))
        lines.append("## Summary")
    return Layout(tuple(lines), tuple(slots), _places(slots))


def _places(slots: Sequence[Slot]) -> dict[str, str]:
    """The heading for each kind of content: by id, by what titles suggest, then by the fallbacks."""
    direct = {slot.id: slot.heading for slot in slots if slot.id in FALLBACKS or slot.id == "progress"}
    for slot in slots:
        if slot.id not in direct:
            wanted = suggested(slot.title)
            if wanted:
                direct.setdefault(wanted, slot.heading)
    last = slots[-1].heading
    places = {}
    for content, others in FALLBACKS.items():
        near = next((direct[other] for other in (content, *others) if other in direct), "")
        if near or content != "tools":
            places[content] = near or last
    return places


def suggested(title: str) -> str:
    """The content id that a heading's ``title`` suggests, "" for none."""
    return next((content for content, pattern in _SUGGESTIONS if re.search(pattern, title, re.I)), "")
