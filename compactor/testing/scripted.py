"""A summariser that answers from a script."""

from collections.abc import Iterable

from compactor.extension.protocols import SummaryReply, SummaryRequest

Line = str | SummaryReply | Exception


class ScriptedSummarizer:
    """Gives the next line of its script to every request; an exception is raised instead.

    The last line is repeated when the script is at its end. ``requests`` are the requests so far.
    """

    def __init__(self, script: Iterable[Line]) -> None:
        self._script = list(script)
        self.requests: list[SummaryRequest] = []

    def summarize(self, request: SummaryRequest) -> SummaryReply | str:
        self.requests.append(request)
        line = self._script[min(len(self.requests), len(self._script)) - 1]
        if isinstance(line, Exception):
            raise line
        return line

    async def asummarize(self, request: SummaryRequest) -> SummaryReply | str:
        return self.summarize(request)
