"""Sentences that bind the work: orders, prohibitions, preferences."""

import re

from compactor.facts.phrases import Phrases, words

_STRONG = Phrases(
    "never|always|must|mustn't|do not|don't|don’t|shall|under no circumstances|not allowed|forbidden"
    "|require|required|no matter what"
    "|niemals|immer|muss|müssen|darf nicht|darfst nicht|darf kein|darf keine|dürfen nicht|auf keinen fall|unbedingt"
    "|nicht ändern"
    "|jamais|toujours|il faut|dois|doit|doivent|ne pas|obligatoire|obligatoirement"
    "|nunca|siempre|debe|debes|deben|debemos|tiene que|tienes que|no uses|no hagas|no debes|no toques|no cambies"
    "|no modifiques|prohibido",
    "不要|不得|不能|必须|必須|务必|禁止|请勿|切勿|绝不|始终|一定要"
    "|しないで|してはいけ|必ず|厳禁|なければならない|絶対に|해야|하지 ?마|금지|반드시|절대",
)
_WEAK = Phrases(
    "only|prefer|prefers|preferred|preferably|make sure|ensure|avoid|without|instead of|at most|at least|no more than"
    "|no less than|keep|stick to|should|shouldn't|cannot|can't|please use|rather than|unless|by default"
    "|nur|ausschließlich|bevorzuge|bevorzugt|bitte kein|bitte keine|bitte keinen|sollte|sollten|vermeide|vermeiden"
    "|achte darauf"
    "|uniquement|seulement|évite|éviter|évitez|assure-toi|assurez-vous|préfère|préférez|sans|plutôt que"
    "|solo|sólo|únicamente|evita|asegúrate|prefiero|prefiere|sin",
    "只能|只用|仅|应该|尽量|优先|请用|避免|ください|だけ|のみ|ようにして|べき|ではなく|만 사용|주세요",
)

# Orders without a verb that says so: "No new dependencies.", "Every fix needs a test.", "Only touch src."
_ORDER = re.compile(
    r"(?:(?:and|but|also|please|again|ok|okay)[,:]? )*"
    r"(?:no (?!(?:need|problems?|worries|idea|ideas|thanks?|one|such|longer|matter|doubt|wonder|luck|way|hurry|rush"
    r"|clue|reason|and|but|so|i|it|that|this|these|those|we|you|he|she|they|there|not|the|an?|please|sorry|wait|let)\b)"
    r"[`\w]"
    r"|(?:every|each|all)\b.{1,80}?\b(?:needs?|ha(?:s|ve) to)\b"
    r"|(?:use |touch |edit |change |modify |read |write |run |work |commit |test |add |answer |reply )?only "
    r"(?!(?:if|when|because|then|now|after)\b))"
)
# What follows such an opening where it states how things are. A condition may say so; the order stands before it.
_STATES = re.compile(
    r"\b(?:is|are|was|were|had|did|does|seems?|shows?|showed|appears?|appeared|fails?|failed|found|happens?|happened"
    r"|works?|worked|came|got|gets|matched|matches|exists?|passed|passes|remains?)\b"
)
_CONDITION = re.compile(r"\b(?:before|until|till|unless|without|if|when|where|except|while|that|which)\b")

PREFERENCE = 0.6
"""How strongly a preference binds, where an order binds with 1."""


def binding(sentence: str) -> float:
    """How strongly ``sentence`` binds: 1 for orders and prohibitions, .6 for preferences, 0 for neither."""
    lowered = sentence.lower()
    its_words = words(lowered)
    if _STRONG.found(lowered, its_words):
        return 1.0
    if _ordered(lowered):
        return 1.0
    return PREFERENCE if _WEAK.found(lowered, its_words) else 0.0


def _ordered(lowered: str) -> bool:
    """Whether a sentence opens like an order and does not go on as a statement or question."""
    opening = _ORDER.match(lowered)
    if opening is None or lowered.endswith("?"):
        return False
    return not _STATES.search(_CONDITION.split(lowered[opening.end() :], maxsplit=1)[0])
