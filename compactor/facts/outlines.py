"""Outlines: the definitions in code that a tool showed."""

import re

# The line break in front is a literal that the search can jump to; an editor's line numbers may follow it.
_DEFINITION = re.compile(
    r"\n(?:[ \t]*\d+[→\t:|-])?[ \t]*("
    r"(?:(?:export|default|pub|async|static|public|private|protected|abstract|override)(?:\([a-z]+\))? )*"
    r"(?:def|class|func|fn|type|interface|struct|enum|const|function|impl|trait|module|resource)[ \t(][^\n]{3,300})"
)
_LONGEST = 40_000  # code points of one text that are searched


def definitions(text: str, most: int = 80, limit: int = _LONGEST) -> list[str]:
    """The lines of ``text`` that define something, in order, at most ``most``; bodies' opening marks are left off.

    Only whole lines within the first ``limit`` code points are looked at.
    """
    found: list[str] = []
    shown = text if len(text) <= limit else text[: text.rfind("\n", 0, limit) + 1]
    for match in _DEFINITION.finditer(f"\n{shown}"):
        found.append(match.group(1).rstrip(" {:\r"))
        if len(found) >= most:
            break
    return found
