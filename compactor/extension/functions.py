"""A plain function as a summariser."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from compactor.errors import PluginError
from compactor.extension.protocols import Summarizer, SummaryReply, SummaryRequest

Answer = SummaryReply | str
Function = Callable[[SummaryRequest], Answer | Awaitable[Answer]]


class FunctionSummarizer:
    """Wraps a function ``(SummaryRequest) -> str``; ``async def`` works as well, from both kinds of caller."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def summarize(self, request: SummaryRequest) -> Answer:
        answer = self._function(request)
        if not inspect.isawaitable(answer):
            return answer
        # In a thread of its own: the caller's thread may already run an event loop.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, _awaited(answer)).result()

    async def asummarize(self, request: SummaryRequest) -> Answer:
        if inspect.iscoroutinefunction(self._function):
            answer: Answer | Awaitable[Answer] = self._function(request)
        else:
            answer = await asyncio.to_thread(self._function, request)
        return await answer if inspect.isawaitable(answer) else answer


def as_summarizer(given: Summarizer | Function) -> Summarizer:
    """``given`` where it is a summariser already, else the function wrapped as one.

    Raises ``PluginError`` for what is neither.
    """
    if isinstance(given, Summarizer):
        return given
    if not callable(given):
        raise PluginError(f"{given!r} is no summarizer: it has no method 'summarize' and is no function")
    return FunctionSummarizer(given)


async def _awaited(answer: Awaitable[Answer]) -> Answer:
    return await answer
