"""A compaction that is made while the agent goes on."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from typing import Any

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

    ``covered`` is how many of the host's messages it covers.
    """

    def __init__(self, compaction: Compaction, covered: int) -> None:
        self.covered = covered
        self._compaction = compaction
        self._prefix = digest(compaction.conversation.raw, compaction.conversation.system)
        self._length = len(compaction.conversation.raw)
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

    def result_for(self, messages: Sequence[Raw], system: Any) -> CompactionResult | None:
        """The result, if the messages still begin with those that it was made from; None if they do not.

        Raises what the compaction raised.
        """
        self._thread.join()
        if len(messages) < self._length or digest(messages[: self._length], system) != self._prefix:
            return None
        if isinstance(self._outcome, Exception):
            raise CompactorError(f"the compaction in the background failed: {self._outcome!r}") from self._outcome
        return self._outcome

    def _run(self) -> None:
        try:
            self._outcome = drive(spanned(self._compaction), perform)
        except Exception as error:  # it has nobody to tell here
            self._outcome = error


def digest(messages: Sequence[Raw], system: Any) -> str:
    """A hash of messages and system prompt, the same for equal ones."""
    found = hashlib.sha256()
    for value in (system, *messages):
        found.update(compact_json(value).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
