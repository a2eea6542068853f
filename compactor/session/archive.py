"""Writes a session through to what keeps it, and knows where in the log each of the host's messages stands."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from compactor.errors import StoreError
from compactor.messages.message import Raw
from compactor.result import CompactionResult
from compactor.session.changes import Change, Update
from compactor.session.ledger import Ledger
from compactor.session.store.protocol import Keeping
from compactor.session.store.records import Claim, Commit, Hit, Revision, SessionRecord, View
from compactor.templates import render_text

_NOTHING = 2**62
"""A place that no message has: nothing is behind."""

RENEW_EVERY = 10.0
"""Seconds after which a lease is renewed: a third of what it runs for."""


@dataclass(frozen=True, slots=True)
class Made:
    """A compaction that was made of what was to be sent: of ``lead`` leading system messages and, behind them, of what
    stands for the host's first ``covered`` messages."""

    result: CompactionResult
    lead: int
    covered: int

    @property
    def left(self) -> Sequence[Raw]:
        """What it left behind the leading system messages."""
        return self.result.messages[self.lead :]


class Archive:
    """One conversation as it is kept.

    ``_positions`` are the places in the log of the host's messages, leading system messages left out; None for one that
    was never said but left by a compaction, where the host goes on with what it was handed.
    """

    def __init__(self, store: Keeping, *, title: str | None = None, source: str = "cli") -> None:
        self.store = store
        self._title, self._source = title, source
        self._record: SessionRecord | None = None
        self._positions: list[int | None] = []
        self._before = 0  # messages of the log that stand before those of the host's list
        self._base = 0  # the position up to which the newest compaction covers the log
        self._version = 0
        self._foreign: set[int] = set()  # what other workers have said, which this host may not know of
        # What is still to be done, also where the store has failed: begin, note the system prompt, keep what is new
        # from a place on.
        self._begins = self._leads_anew = False
        self._behind = _NOTHING

    @property
    def session(self) -> SessionRecord | None:
        """The session that goes on; None before the first message."""
        return self._record

    @property
    def conversation(self) -> str:
        """The id of the conversation, which must have begun."""
        assert self._record is not None
        return self._record.conversation_id

    def resume(self, view: View, ledger: Ledger) -> None:
        """Goes on with a kept conversation as it is now, and has the ledger do so."""
        lead, system, said = self.store.everything(view.session.conversation_id)
        self._record, self._version = view.session, view.version
        positions = [message.position for message in said]
        self._foreign = set(positions).difference(self._positions) if self._positions else set()
        self._positions, self._before, self._base = list(positions), 0, view.covered
        self._begins, self._leads_anew, self._behind = False, False, _NOTHING
        covered = sum(message.position < view.covered for message in said)
        ledger.restore(
            lead,
            system,
            [message.raw for message in said],
            covered=covered,
            left=view.left,
            sent=(view.lead, view.system),
        )

    def follow(self, update: Update, ledger: Ledger, *, model: str | None, policy: str) -> None:
        """Keeps what is new in the host's list, and what could not be kept the last time. Raises ``StoreError``."""
        if update.handed_back is not None:
            covered, kept, verbatim = update.handed_back
            own = self._positions[covered - verbatim : covered]
            self._before += sum(position is not None for position in self._positions[: covered - verbatim])
            self._positions[:covered] = [*[None] * (kept - verbatim), *own]
        start = min(update.start, len(self._positions), self._behind)
        forks = bool(self._foreign.intersection(self._positions[start:]))
        if forks:  # nobody takes back what others have said: who goes on without it does so in a session of its own
            ledger.restart()
        self._begins |= forks or update.change in (Change.FIRST, Change.NEW)
        self._leads_anew |= update.led_anew
        self._behind = start
        if self._begins:
            self._begin(ledger, model, policy)
            start = 0
        elif self._leads_anew:
            self.store.keep_lead(self.conversation, *ledger.given, ledger.sent)
        self._leads_anew = False
        self._replace(start, ledger)
        self._behind = _NOTHING

    def _begin(self, ledger: Ledger, model: str | None, policy: str) -> None:
        lead, system = ledger.given
        self._record = self.store.begin(
            lead=lead, system=system, title=self._title, source=self._source, model=model, policy=policy
        )
        self._positions, self._before, self._base, self._version = [], 0, 0, 0
        self._foreign, self._begins = set(), False

    def search(self, query: str, *, within: str, limit: int) -> list[Hit]:
        """What was said: ``within`` this ``session``, its ``lineage``, or ``all`` that the store keeps."""
        if self._record is None and within != "all":
            return []
        session = self._record.id if self._record and within == "session" else None
        conversation = self.conversation if within == "lineage" else None
        return self.store.search(query, session=session, conversation=conversation, limit=limit)

    def next_title(self, template: str) -> str | None:
        """The title of the session after this one; None where the first has none (REFERENCE section 9)."""
        record = self._record
        if record is None or record.base is None:
            return None
        return render_text(template, {"base": record.base, "n": record.number + 1})

    def claim(self) -> Claim | None:
        """The right to compact; None where somebody else is compacting."""
        return self.store.claim(self.conversation)

    def is_current(self, claimed: Claim) -> bool:
        """Whether nobody has compacted or rewound the conversation since this session looked at it."""
        return claimed.version == self._version

    @contextmanager
    def held(self, claimed: Claim) -> Iterator[None]:
        """Renews the right for as long as the block takes, where somebody else could take it."""
        if not claimed.holder:
            yield
            return
        done = threading.Event()

        def renew() -> None:
            while not done.wait(RENEW_EVERY):
                with suppress(StoreError):  # the commit will tell whether it was lost for that
                    self.store.renew(claimed)

        thread = threading.Thread(target=renew, name="compactor-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def commit(
        self, claimed: Claim, made: Made, ledger: Ledger, *, title: str | None, rotate: bool, logs: bool
    ) -> bool:
        """Keeps a compaction, before the ledger takes it over.

        False where somebody else has changed the conversation meanwhile; nothing is kept then.
        """
        said = [position for position in self._positions[: made.covered] if position is not None]
        commit = Commit(
            result=made.result,
            covered=max(said[-1] + 1 if said else 0, self._base),
            count=self._before + len(said),
            lead=made.result.messages[: made.lead],
            left=made.left,
            archived=self._places(made, ledger),
            rotate=rotate,
            title=title,
            model=made.result.report.model,
        )
        if not self.store.commit(claimed, commit):
            return False
        self._version, self._base = claimed.version + 1, commit.covered
        if rotate and self._record is not None:
            if logs:
                with suppress(StoreError):  # what would stand in it is kept
                    self.store.write_log(self._record.id)
            self._record = self.store.view(claimed.conversation_id).session
        return True

    def _replace(self, start: int, ledger: Ledger) -> None:
        """The host's messages from ``start`` on are those of the ledger; what stood there before is taken back."""
        gone = [position for position in self._positions[start:] if position is not None]
        dropped = len(self._positions[start:]) - len(gone)
        later = ledger.later(start)
        if not (gone or dropped or later):
            return
        revised = Revision(gone[0] if gone else None, dropped, later)
        added = self.store.revise(self.conversation, revised, ledger.format)
        self._version += bool(gone) + bool(dropped)
        if gone:
            self._base = min(self._base, gone[0])
        self._positions[start:] = [position for _, position in added]

    def _places(self, made: Made, ledger: Ledger) -> Mapping[int, tuple[str, str]]:
        """What became of messages, by their position in the log."""
        found = {}
        for entry in made.result.archive:
            place = ledger.said_at(entry.index - made.lead)
            position = None if place is None else self._positions[place]
            if position is not None:
                found[position] = entry.fate, entry.reason
        return found
