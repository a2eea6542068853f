"""The envelope: the last line of a summary message, by which we find our own summaries again.

It says which version wrote it, what kind of summary it is, the how-manieth compaction of the conversation made it,
where in the text the summary stands, and a digest of the text. The digest tells our summary from a message that
merely quotes one; the place keeps the reader independent of the wording around the summary.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["summary", "static"]

_LINE = re.compile(
    r"\n\[compactor v1 kind=(?P<kind>summary|static) count=(?P<count>\d{1,9})"
    r" body=(?P<start>\d{1,9})\+(?P<length>\d{1,9}) digest=(?P<digest>[0-9a-f]{16})\]\s*\Z"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """``summary`` is what a later compaction reads back: for a ``static`` note the summary it carries, if any."""

    kind: Kind
    count: int
    summary: str | None


def seal(before: str, summary: str, after: str, *, kind: Kind, count: int) -> str:
    """The whole text of a summary message: ``before + summary + after`` and the envelope line."""
    lead = before.lstrip()
    body = f"{lead}{summary}{after}".rstrip()
    line = f"[compactor v1 kind={kind} count={count} body={len(lead)}+{len(summary)} digest={_digest(body)}]"
    return f"{body}\n{line}"


def read_envelope(text: str) -> Envelope | None:
    """What a text's envelope says; None when it has none, or when the text around it is not the one it sealed."""
    match = _LINE.search(text, max(0, len(text) - 200))
    if match is None:
        return None
    body = text[: match.start()].strip()
    if _digest(body) != match["digest"]:
        return None
    start = int(match["start"])
    summary = body[start : start + int(match["length"])].strip()
    return Envelope("static" if match["kind"] == "static" else "summary", int(match["count"]), summary or None)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
