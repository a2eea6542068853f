"""The words in front of items, in one place: what writes them and what reads them back must agree."""

FIRST_ASK = "First ask in this part: "
EARLIER_ASK = "First ask, earlier part: "
MORE_OF_ASK = "(first ask) "
ASK = "Asked: "
NEWEST_ASK = "Newest ask in this part: "
LAST_SAID = "Last said: "
LAST_CALL = "Last call: "
RULE = "Rule: "
REVISED = " (later revised)"
ROOT, ROOT_IS = "…/", "Here …/ stands for "


def aged(text: str) -> str:
    """The text of an ask whose label was true of its own part only.

    What is folded later can be older (the start of a conversation loses its protection), so that nobody knows
    which ask was the first of all.
    """
    if text.startswith(NEWEST_ASK):
        return ASK + text.removeprefix(NEWEST_ASK)
    return EARLIER_ASK + text.removeprefix(FIRST_ASK) if text.startswith(FIRST_ASK) else text


def plain(text: str) -> str:
    """``text`` without a label that was true at its time only."""
    return text.removeprefix(LAST_SAID).removeprefix(LAST_CALL)
