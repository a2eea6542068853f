"""The envelope: the last line of a summary message, by which we find our own summaries again.

It says which version wrote it, what kind of summary it is, the how-manieth compaction of the conversation made it,
how long the text above it is, where in that the summary stands, and a digest. The digest tells our summary from a
message that merely looks like one; length and place keep the reader independent of the wording around the summary,
and of what a host may have put before or behind it.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["summary", "static"]

MARK = "[compactor v1 kind="

_LINE = re.compile(
    r"\n\[compactor v1 kind=(?P<kind>summary|static) count=(?P<count>\d{1,9})"
    r" body=(?P<start>\d{1,9})\+(?P<length>\d{1,9}) size=(?P<size>\d{1,9}) digest=(?P<digest>[0-9a-f]{16})\]"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """``summary`` is what a later compaction reads back: for a ``static`` note the summary it carries, if any."""

    kind: Kind
    count: int
    summary: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """A summary message of ours in a text, and what stands before and behind it there."""

    envelope: Envelope
    before: str
    after: str

    @property
    def alone(self) -> bool:
        """Whether the text is nothing but the summary message."""
        return not (self.before or self.after)

    @property
    def rest(self) -> str:
        """The text without the summary message."""
        return f"{self.before}\n\n{self.after}" if self.before and self.after else self.before or self.after


def seal(before: str, summary: str, after: str, *, kind: Kind, count: int) -> str:
    """The whole text of a summary message: ``before + summary + after`` and the envelope line."""
    lead = before.lstrip()
    body = f"{lead}{summary}{after}".rstrip()
    place = f"body={len(lead)}+{len(summary)} size={len(body)}"
    return f"{body}\n{MARK}{kind} count={count} {place} digest={_digest(body)}]"


def find_summary(text: str) -> Found | None:
    """Our summary message in a text; None when there is none that is whole.

    Line ends of another system and blanks around the message do not matter.
    """
    if MARK not in text:
        return None
    text = text.replace("\r\n", "\n")
    for line in _LINE.finditer(text):
        begin = line.start() - int(line["size"])
        body = text[max(begin, 0) : line.start()]
        if begin >= 0 and _digest(body) == line["digest"]:
            start = int(line["start"])
            summary = body[start : start + int(line["length"])].strip()
            kind: Kind = "static" if line["kind"] == "static" else "summary"
            envelope = Envelope(kind, int(line["count"]), summary or None)
            return Found(envelope, text[:begin].strip(), text[line.end() :].strip())
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
