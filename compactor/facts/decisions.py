"""Sentences of an assistant that decide, plan or report: what kind each one is."""

import re

from compactor.facts.fact import Kind

_DECISION = re.compile(
    r"\b(?:(?:i|we)(?:'ll|’ll| will) use|decided?|because|instead of|rather than|root cause"
    r"|the (?:real )?(?:problem|issue|bug|reason|culprit|fix) (?:is|was)|turns out|so (?:i|we) (?:should|need)|chose"
    r"|opt(?:ed)? for|trade-?off|better (?:to|approach)"
    r"|the (?:right|best|simplest|cleanest) (?:way|approach|fix|option)"
    r"|this means|weil|stattdessen|entschieden|ursache|parce que|plutôt que|décidé|porque|en lugar de|decidido"
    r"|la causa)\b"
    r"|因为|决定|而不是|根本原因|问题是|原因|なので|ため、|代わりに|問題は"
)
_PLAN = re.compile(
    r"^(?:next\b|then i|now (?:i|let)|remaining|to-?do\b|still (?:need|to)|let me|let's"
    r"|i(?:'ll|’ll| will) (?:now|then|start|also)|i(?:'m|’m| am) going to|\[ \]"
    r"|als nächstes|ensuite|a continuación|接下来|下一步|然后我|次に)"
    r"|\b(?:next(?: step)?,? (?:i|we|is)|i(?:'ll|’ll| will) (?:next|then)|then (?:i|we)(?:'ll|’ll| will)"
    r"|needs? to|remains? to|still (?:need|missing)|left to do|not yet|follow-?up|before (?:i|we) can)\b"
)
_REPORT = re.compile(
    r"\b(?:fixed|added|updated|implemented|removed|created|completed?|finished|committed|pushed|renamed|moved"
    r"|refactored|rewrote|replaced|deleted|verified|confirmed|installed|merged|deployed|booked|cancel+ed"
    r"|(?:now|all) (?:pass(?:es|ing)?|works?|green)|tests? pass(?:es|ed)?|done"
    r"|erledigt|hinzugefügt|behoben|ajouté|corrigé|terminé|añadido|corregido)\b"
    r"|完成|已修复|已添加|修正しました|追加しました|完了"
)
# What takes a report back: it is negated, conditional, wished for, or still going on.
_UNDONE = re.compile(
    r"\b(?:not|isn[’']t|wasn[’']t|hasn[’']t|haven[’']t|partially|supposed|should|would|could|if|once|when"
    r"|until|to be|will|[’']ll|going to|need|still|nicht|pas|sin|no)\b"
    r"|^(?:i[’']m|let|now|checking|running)\b|\?|未|没|ない"
)


def classify(sentence: str) -> tuple[Kind, float]:
    """The kind of an assistant's ``sentence`` and its weight as evidence of that kind."""
    lowered = sentence.lower()  # patterns in lower case are several times faster than case-blind ones
    if _PLAN.search(lowered):
        return Kind.PLAN, 0.6
    if _DECISION.search(lowered):
        return Kind.DECISION, 0.8
    if _REPORT.search(lowered) and not _UNDONE.search(lowered):
        return Kind.REPORT, 0.7
    return Kind.STATEMENT, 0.5
