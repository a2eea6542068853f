"""Sentences that bind the work: orders, prohibitions, preferences."""

import re

_STRONG = re.compile(
    r"\b(?:never|always|must(?:n't)?|do not|don't|don’t|shall(?: not)?|under no circumstances|not allowed|forbidden"
    r"|required?|no matter what"
    r"|niemals|immer|muss|müssen|darf(?:st)? (?:nicht|kein\w*)|dürfen nicht|auf keinen fall|unbedingt|nicht ändern"
    r"|jamais|toujours|il faut|doi(?:s|t|vent)|ne pas|obligatoire\w*"
    r"|nunca|siempre|deb(?:e|es|en|emos)|tienes? que|no (?:uses|hagas|debes|toques|cambies|modifiques)|prohibido)\b"
    r"|不要|不得|不能|必须|必須|务必|禁止|请勿|切勿|绝不|始终|一定要"
    r"|しないで|してはいけ|必ず|厳禁|なければならない|絶対に|해야|하지 ?마|금지|반드시|절대"
)
_WEAK = re.compile(
    r"\b(?:only|prefer(?:s|red|ably)?|make sure|ensure|avoid|without|instead of|at (?:most|least)|no more than"
    r"|no less than|keep|stick to|should(?:n't| not)?|cannot|can't|please use|rather than|unless|by default"
    r"|nur|ausschließlich|bevorzugt?|bitte kein\w*|sollte?n?|vermeide\w*|achte darauf"
    r"|uniquement|seulement|évite[rz]?|assure[-z]\w*|préfère\w*|sans|plutôt que"
    r"|solo|sólo|únicamente|evita|asegúrate|prefiero|prefiere|sin)\b"
    r"|只能|只用|仅|应该|尽量|优先|请用|避免|ください|だけ|のみ|ようにして|べき|ではなく|만 사용|주세요"
)


def binding(sentence: str) -> float:
    """How strongly ``sentence`` binds: 1 for orders and prohibitions, .6 for preferences, 0 for neither."""
    lowered = sentence.lower()  # patterns in lower case are several times faster than case-blind ones
    if _STRONG.search(lowered):
        return 1.0
    return 0.6 if _WEAK.search(lowered) else 0.0
