"""Changes of mind: the quoted terms that a user takes back."""

import re

from compactor.facts.prose import sentences

_TAKEN_BACK = re.compile(
    r"\b(?:drop|remove|delete|forget|undo|revert|scrap|get rid of|instead of|rather than|no longer (?:want|need|use)s?)"
    r"(?: (?:the|this|that|every|all|any|traces?|of|option|switch|key|flag|setting|parameter|idea|again|using|about))*"
    r" `([^`\n]{3,60})`(?= (?:and|again|altogether|completely|entirely|now|for now)\b|[^\w ]|$)",
    re.I,
)
# A text that takes something back has one of these; looking for literals is far cheaper than for the pattern.
_SIGNS = (
    "drop ",
    "remove ",
    "delete ",
    "forget ",
    "undo ",
    "revert ",
    "scrap ",
    "rid of ",
    "instead ",
    "rather ",
    "longer ",
)
_LONGEST = 4000  # code points of a text that are looked at: what follows is pasted
_NEGATED = re.compile(r"\b(?:not|never|cannot|no need|without)\b|n[’']t\b", re.I)


def taken_back(text: str) -> list[str]:
    """The terms in backquotes that a user's ``text`` drops or replaces: "Remove every trace of `media:`."

    Only what is itself the object counts; a sentence with a negation in it takes nothing back.
    """
    text = text[:_LONGEST]
    lowered = text.lower() if "`" in text else ""
    if not any(sign in lowered for sign in _SIGNS):
        return []
    said = (sentence for sentence in sentences(text) if not _NEGATED.search(sentence.split("`", 1)[0]))
    return [match.group(1) for sentence in said for match in _TAKEN_BACK.finditer(sentence)]
