"""A compaction that is made while the agent goes on."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence

from compactor.compaction import Compaction
from compactor.errors import CompactorError
from compactor.messages.as_json import compact_json
from compactor.messages.message import Raw
from compactor.perform import perform
from compactor.result import CompactionResult
from compactor.session.telemetry import spanned
from compactor.steps import drive


class BackgroundCompaction:
    """Runs a compaction in a thread of its own, which does not keep the process alive.

    ``lead`` is how many of its messages are leading system messages, ``length`` how many follow these.
    """

    def __init__(self, compaction: Compaction, lead: int) -> None:
        covered = compaction.conversation.raw[lead:]
        self.lead = lead
        self.length = len(covered)
        self._compaction = compaction
        self._covered = digest(covered)
        self._outcome: CompactionResult | Exception | None = None
        self._thread = threading.Thread(target=self._run, name="compactor-background", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> None:
        """Waits until there is, at most ``timeout`` seconds."""
        self._thread.join(timeout)

    async def awaited(self) -> None:
        """As ``wait``, without holding up the event loop."""
        await asyncio.to_thread(self._thread.join)

    def result_for(self, messages: Sequence[Raw]) -> CompactionResult | None:
        """The result, if the messages behind the leading ones still begin with those that it was made from, else None.

        Raises what the compaction raised.
        """
        self._thread.join()
        if len(messages) < self.length or digest(messages[: self.length]) != self._covered:
            return None
        if isinstance(self._outcome, Exception):
            raise CompactorError(f"the compaction in the background failed: {self._outcome!r}") from self._outcome
        return self._outcome

    def _run(self) -> None:
        try:
            self._outcome = drive(spanned(self._compaction), perform)
        except Exception as error:  # it has nobody to tell here
            self._outcome = error


def digest(messages: Sequence[Raw]) -> str:
    """A hash of messages, the same for equal ones."""
    found = hashlib.sha256()
    for message in messages:
        found.update(compact_json(message).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
