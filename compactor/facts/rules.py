"""Lists of rules: the items under a line that announces rules, requirements or wishes."""

import re

from compactor.facts.prose import bare, one_line

# The last sentence of the line in front of a list says that its items bind.
_ANNOUNCED = re.compile(
    r"\b(?:rules?|constraints?|requirements?|conditions?|please|for the whole session"
    r"|regeln|vorgaben|bedingungen|anforderungen|bitte|règles|contraintes|exigences|reglas|requisitos|condiciones)\b"
    r"|规则|規則|要求|约束|条件|ルール|规定|규칙|요구",
    re.I,
)
_ITEM = re.compile(r"[ \t]*(?:[-*•·]|\d{1,2}[.)])[ \t]+(?=\S)")
_LONGEST = 300  # code points of an announcing line: what is longer is prose
_MOST = 40  # items of one list: what is longer is a document that somebody pasted
_FENCE = "```"


def rules(text: str) -> tuple[list[str], str]:
    """The items of the rule lists in ``text``, each on one line as it was written, and ``text`` without them.

    A list goes on over blank lines; an item goes on over indented lines.
    """
    if "\n" not in text:
        return [], text
    found: list[str] = []
    rest: list[str] = []
    announced = fenced = False
    items: list[str] = []
    for line in [*text.splitlines(), "."]:
        marked = _ITEM.match(line) if announced else None
        if marked:
            items.append(line[marked.end() :])
        elif announced and items and line[:1] in (" ", "\t") and line.strip():
            items[-1] += f" {line.strip()}"
        elif line.strip():
            (found if len(items) <= _MOST else rest).extend(items)
            items = []
            fenced ^= line.lstrip().startswith(_FENCE)
            announced = not fenced and _announces(line)
            rest.append(line)
    return [shown for item in found if (shown := one_line(bare(item)))], "\n".join(rest[:-1])


def _announces(line: str) -> bool:
    line = line.strip()
    if len(line) > _LONGEST or not (line.endswith((":", "：", "**")) or line.startswith("#")):
        return False
    return bool(_ANNOUNCED.search(re.split(r"[.!?] ", line)[-1]))
