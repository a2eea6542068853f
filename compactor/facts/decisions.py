"""Sentences of an assistant that decide, plan or report: what kind each one is."""

import re

from compactor.facts.fact import Kind
from compactor.facts.phrases import Phrases, words

_DECISION = Phrases(
    "i'll use|i’ll use|i will use|we'll use|we’ll use|we will use|decide|decided|root cause"
    "|the problem is|the problem was|the real problem is|the issue is|the issue was|the real issue is|the bug is"
    "|the bug was|the reason is|the culprit is|the culprit was|the fix is|turns out|chose|opted for|trade-off|tradeoff"
    "|better approach|the right way|the right approach|the right fix|the best way|the best approach|the best option"
    "|the simplest way|the simplest approach|the simplest fix|the cleanest way|the cleanest approach|the cleanest fix"
    "|stattdessen|entschieden|ursache|plutôt que|décidé|en lugar de|decidido|la causa",
    "决定|而不是|根本原因|问题是|ため、|代わりに|問題は",
)
# Why something is so: a decision where somebody chose, only an explanation of what was seen elsewhere.
_REASON = Phrases("because|instead of|rather than|weil|parce que|porque", "因为|原因|なので")
_CHOOSER = Phrases("i|we|i'll|i’ll|we'll|we’ll|use|using|keep|kept|ich|wir|je|nous", "我|私")
_PLAN_OPENING = (
    *("next ", "next,", "next:", "then i", "now i", "now let", "remaining", "to-do", "todo", "still need", "still to"),
    *("let me", "let's", "i'll now", "i'll then", "i'll start", "i'll also", "i’ll now", "i’ll then", "i’ll start"),
    *("i will now", "i will then", "i will start", "i will also", "i'm going to", "i’m going to", "i am going to"),
    *("i’ll also", "[ ]", "als nächstes", "ensuite", "a continuación", "接下来", "下一步", "然后我", "次に"),
)
_PLAN = Phrases(
    "next i|next, i|next we|next, we|next step i|next step is|next is|i'll next|i’ll next|i will next|i'll then"
    "|i’ll then|i will then|then i'll|then i’ll|then i will|then we'll|then we’ll|then we will|need to|needs to"
    "|remain to|remains to|still need|still missing|left to do|not yet|follow-up|followup|before i can|before we can"
)
_REPORT = Phrases(
    "fixed|added|updated|implemented|removed|created|complete|completed|finished|committed|pushed|renamed|moved"
    "|refactored|rewrote|replaced|deleted|verified|confirmed|installed|merged|deployed|booked|canceled|cancelled"
    "|now pass|now passes|now passing|all pass|all passing|now works|now work|all work|now green|all green"
    "|tests pass|tests passed|test passes|test passed|done"
    "|erledigt|hinzugefügt|behoben|ajouté|corrigé|terminé|añadido|corregido",
    "完成|已修复|已添加|修正しました|追加しました|完了",
)
# What takes a report back: it is negated, conditional, wished for, or still going on.
_UNDONE = re.compile(
    r"\b(?:not|isn[’']t|wasn[’']t|hasn[’']t|haven[’']t|partially|supposed|should|would|could|if|once|when"
    r"|until|to be|will|[’']ll|going to|need|still|nicht|pas|sin|no)\b"
    r"|^(?:i[’']m|let|now|checking|running)\b|\?|未|没|ない"
)


_OPENING_WORDS = frozenset(word for opening in _PLAN_OPENING for word in words(opening)[:1])


def classify(sentence: str) -> tuple[Kind, float]:
    """The kind of an assistant's ``sentence`` and its weight as evidence of that kind."""
    lowered = sentence.lower()
    its_words = words(lowered)
    opens = not its_words or its_words[0] in _OPENING_WORDS or not lowered.isascii()
    if (opens and lowered.startswith(_PLAN_OPENING)) or _PLAN.found(lowered, its_words):
        return Kind.PLAN, 0.6
    if _DECISION.found(lowered, its_words):
        return Kind.DECISION, 0.8
    if _REASON.found(lowered, its_words) and _CHOOSER.found(lowered, its_words):
        return Kind.DECISION, 0.6
    if _REPORT.found(lowered, its_words) and not _UNDONE.search(lowered):
        return Kind.REPORT, 0.7
    return Kind.STATEMENT, 0.5
