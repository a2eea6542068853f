"""The fact: one thing of a conversation that later turns may lean on."""

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a fact is about; the value is its name in a ledger."""

    ASK = "ask"  # what a user wants, in the user's words
    CONSTRAINT = "constraint"  # a sentence that binds
    STATEMENT = "statement"  # a sentence of the assistant
    REPORT = "report"  # a sentence in which the assistant says that something is finished
    DECISION = "decision"  # a sentence that chooses or explains
    PLAN = "plan"  # a stated next step
    OUTCOME = "outcome"  # a call with an effect that succeeded, and how it ended
    FAILURE = "failure"  # a call that failed, and how
    LOOK = "look"  # a call that only looked, and what it was for
    FILE = "file"  # something was done to the path ``subject``
    SYMBOL = "symbol"  # a definition seen in the file ``subject``
    ERROR = "error"  # a line that reports an error
    VALUE = "value"  # a value with the words around it
    EXCERPT = "excerpt"  # a telling line of a tool's output
    CALL = "call"  # a tool was called; ``subject`` is its name, the text "ok" or "failed"


class Fact(NamedTuple):
    """A recognised fact.

    ``text`` is one line in the words of the conversation (an ask keeps its line breaks), always encodable as UTF-8;
    ``position`` is that of the message among those that were read; ``weight`` says how likely it is to matter,
    0 to 1, by its kind of evidence alone (not by its age); ``subject`` is what it is about (a path, a command's
    program, a tool), "" where it is about nothing in particular.
    """

    kind: Kind
    text: str
    position: int
    weight: float
    subject: str = ""
