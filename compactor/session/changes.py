"""What is found when a conversation is looked at again."""

from dataclasses import dataclass
from enum import Enum, auto

from compactor.messages.body import BodySize


class Change(Enum):
    """What has become of a conversation since it was last looked at."""

    FIRST = auto()
    """It is looked at for the first time."""
    GROWN = auto()
    """Messages were added, or none."""
    REWOUND = auto()
    """Some of the newest are gone or different."""
    NEW = auto()
    """It is another one, as far as one can tell."""


@dataclass(frozen=True, slots=True)
class Update:
    """A look at a conversation: the host's messages from place ``start`` on are new.

    Places are those of the host's list without leading system messages. ``handed_back``: the host has gone on with what
    it was handed: in place of so many messages (covered) it now has so many (kept), of which so many at the end are its
    own (verbatim). ``led_anew``: the leading system messages, or the system prompt, are others.
    """

    change: Change
    start: int = 0
    handed_back: tuple[int, int, int] | None = None
    led_anew: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """``tokens`` of the whole request as the policy's counter counts; ``messages`` with the system prompt; ``body`` is
    None where nobody asked for it."""

    tokens: int
    messages: int
    body: BodySize | None
