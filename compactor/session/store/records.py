"""What the store gives out: frozen values without a database behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.messages.message import Raw
from compactor.result import CompactionResult
from compactor.state import CompactionState


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: a stretch of a conversation. Times are seconds since the epoch.

    ``number`` is its place in the lineage, from 1; ``base`` the title of the first; ``messages`` is how many were said
    in it.
    """

    id: str
    conversation_id: str
    parent_id: str | None
    number: int
    title: str | None
    source: str
    model: str | None
    policy: str | None
    started_at: float
    ended_at: float | None
    end_reason: str | None
    messages: int = 0
    base: str | None = None


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message as it was said; ``id`` is its handle, ``position`` its place in the conversation."""

    id: int
    position: int
    session_id: str
    raw: Raw
    said_at: float


@dataclass(frozen=True, slots=True)
class View:
    """A conversation as it is sent now.

    ``left`` are the messages that the last compaction left, in place of those at positions below ``covered``;
    ``later`` those that were said since. ``version`` changes with every compaction, undo and rewind.
    """

    session: SessionRecord
    lead: Sequence[Raw]
    system: Any
    left: Sequence[Raw]
    later: Sequence[MessageRecord]
    covered: int
    version: int
    state: CompactionState

    @property
    def messages(self) -> list[Raw]:
        """All messages to be sent, in order."""
        return [*self.lead, *self.left, *(message.raw for message in self.later)]


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to compact a conversation: ``holder`` has it until the lease runs out; ``version`` is its age."""

    conversation_id: str
    holder: str
    version: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A compaction's result as it is to be kept.

    ``covered``: messages of the log at lower positions are covered, and ``count`` of them there were when the
    compaction read them. ``lead``, ``left`` and ``system`` are what it left. ``archived`` says of messages, by
    position, what became of them and why. ``rotate``: a new session begins, with ``title``.
    """

    result: CompactionResult
    covered: int
    count: int
    lead: Sequence[Raw]
    left: Sequence[Raw]
    archived: Mapping[int, tuple[str, str]]
    rotate: bool
    title: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """What is new in a conversation: from position ``start`` on it is taken back (None: nothing is), and the last
    ``dropped`` messages of what the newest compaction left beside that; ``messages`` are said instead.
    """

    start: int | None
    dropped: int
    messages: Sequence[Raw]


@dataclass(frozen=True, slots=True)
class CompactionRecord:
    """A compaction as it is kept: of session ``session_id``; ``child_id`` is the session that it began, if it did.

    ``number`` counts those of the conversation from 1; one that was undone gives its number to the next. Times are
    seconds since the epoch; ``undone_at`` None: it was not undone. Tokens are those of the whole request, as the
    policy's counter counts; ``folded`` and ``pruned`` are messages. ``summarizer`` is None where pruning was enough, or
    where nobody made a summary.
    """

    id: int
    number: int
    session_id: str
    child_id: str | None
    outcome: str
    summarizer: str | None
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    folded: int
    pruned: int
    made_at: float
    undone_at: float | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found: its handle, where it was said, and the text around what was looked for."""

    message_id: int
    session_id: str
    title: str | None
    role: str
    snippet: str
    said_at: float


@dataclass(frozen=True, slots=True)
class Stats:
    """Numbers of a whole store. ``bytes`` is its size where it is a file, else 0; ``saved_tokens`` by compactions."""

    conversations: int
    sessions: int
    messages: int
    compactions: int
    undone: int
    saved_tokens: int
    bytes: int
    version: str
    where: str = field(default="")
