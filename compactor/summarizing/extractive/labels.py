"""The words in front of items, in one place: what writes them and what reads them back must agree."""

FIRST_ASK = "First ask in this part: "
MORE_OF_ASK = "(first ask) "
ASK = "Asked: "
NEWEST_ASK = "Newest ask in this part: "
LAST_SAID = "Last said: "
LAST_CALL = "Last call: "
ROOT, ROOT_IS = "…/", "Here …/ stands for "


def aged(text: str) -> str:
    """The text of an ask that was the newest once."""
    return ASK + text.removeprefix(NEWEST_ASK) if text.startswith(NEWEST_ASK) else text


def plain(text: str) -> str:
    """``text`` without a label that was true at its time only."""
    return text.removeprefix(LAST_SAID).removeprefix(LAST_CALL)
