"""What a session tells: one event for each thing that happens to its conversation, as a value and in the log."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from compactor.result import CompactionResult, Outcome

_log = logging.getLogger("compactor.session")


class EventKind(StrEnum):
    """What happened."""

    COMPACTING = "compacting"
    """A compaction begins, and the agent waits for it."""
    COMPACTED = "compacted"
    """A summary took the place of old turns."""
    NO_SUMMARY = "no_summary"
    """Old turns were removed and nobody could summarise them: a static note says so in their place."""
    PRUNED = "pruned"
    """Pruning was enough."""
    NOTHING_TO_GAIN = "nothing_to_gain"
    """A compaction was due and would not have helped; the conversation is as it was."""
    CANNOT_FIT = "cannot_fit"
    """Even compacted it would not fit; the conversation is as it was."""
    FAILED = "failed"
    """A compaction was due and failed; the conversation is as it was, and there will be another try."""
    INEFFECTIVE = "ineffective"
    """The provider measured that a compaction gained next to nothing."""
    STOPPED = "stopped"
    """No more automatic compactions until something changes."""
    REFUSED = "refused"
    """The provider refused a request as too large; it is compacted and sent again."""
    BUSY = "busy"
    """Another worker is compacting the same session, or has just done so; the conversation is as that left it."""
    BACKGROUND = "background"
    """A compaction was begun in the background, or what it made was thrown away; put to use, it is ``compacted``."""
    POLICY_CHANGED = "policy_changed"
    """The policy's file was edited, and the new one applies."""
    POLICY_REFUSED = "policy_refused"
    """The policy's file was edited and has mistakes; the one before still applies."""


_LEVELS: Mapping[EventKind, int] = MappingProxyType(
    {
        EventKind.NO_SUMMARY: logging.WARNING,
        EventKind.CANNOT_FIT: logging.ERROR,
        EventKind.FAILED: logging.WARNING,
        EventKind.INEFFECTIVE: logging.WARNING,
        EventKind.STOPPED: logging.WARNING,
        EventKind.REFUSED: logging.WARNING,
        EventKind.POLICY_REFUSED: logging.WARNING,
    }
)

_CHANGES = frozenset((EventKind.COMPACTED, EventKind.NO_SUMMARY, EventKind.PRUNED, EventKind.REFUSED))
"""After one of these, what was said before is news again."""

_OUTCOMES: Mapping[Outcome, EventKind] = MappingProxyType(
    {
        Outcome.PRUNED: EventKind.PRUNED,
        Outcome.NOTHING_TO_GAIN: EventKind.NOTHING_TO_GAIN,
        Outcome.CANNOT_FIT: EventKind.CANNOT_FIT,
        Outcome.FAILED: EventKind.FAILED,
        Outcome.BUSY: EventKind.BUSY,
    }
)


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """Something that happened: its kind, one sentence for people, and the compaction's result where it is about one."""

    kind: EventKind
    message: str
    result: CompactionResult | None = field(default=None, repr=False)


Listener = Callable[[SessionEvent], object]


class Events:
    """Hands events to a listener and to the log. As long as nothing changes, the same thing is said once."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._said: set[tuple[EventKind, str]] = set()
        self._warned: set[str] = set()

    def tell(self, kind: EventKind, message: str, result: CompactionResult | None = None) -> None:
        """Tells of one event. What the listener raises is logged and goes no further."""
        if (kind, message) in self._said:
            return
        if kind in _CHANGES:
            self._said.clear()
        else:
            self._said.add((kind, message))
        _log.log(_LEVELS.get(kind, logging.INFO), "%s", message)
        if self._listener is None:
            return
        try:
            self._listener(SessionEvent(kind, message, result))
        except Exception:
            _log.exception("the listener of a session failed")

    def ended(self, result: CompactionResult) -> None:
        """Tells how a compaction ended, and what it warns of."""
        kind = _OUTCOMES.get(
            result.outcome, EventKind.COMPACTED if result.summary is not None else EventKind.NO_SUMMARY
        )
        report = result.report
        if result.outcome is Outcome.FAILED and report.attempts and not any(tried.asked for tried in report.attempts):
            _log.debug("context not compacted: %s", result.reason)  # the failure that it cools down from was told of
            return
        if result.changed:
            saved = f"{report.tokens_before:,} -> {report.tokens_after:,} tokens"
            message = f"context compacted: {saved}; {result.reason}"
        else:
            message = f"context not compacted ({kind.replace('_', ' ')}): {result.reason}"
        self.tell(kind, message, result)
        for warning in report.warnings if result.changed else ():
            if warning not in self._warned:
                self._warned.add(warning)
                _log.warning("%s", warning)
