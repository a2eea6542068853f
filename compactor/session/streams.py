"""Streams of a guarded call: the chunks pass through as they come, and the usage is noted."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Self

from compactor.tokens.usage import read_usage

NoteUsage = Callable[[Any], None]


class _Watched:
    """What both kinds have in common: the first chunk, which is fetched before anything is handed on, and the usage.

    Everything else is the attributes of the client's own stream.
    """

    def __init__(self, stream: Any, chunks: Any, note_usage: NoteUsage, *, swallow: bool) -> None:
        self._stream = stream
        self._chunks = chunks
        self._note_usage = note_usage
        self._swallow = swallow
        self._first: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy asks for these before there is a stream
            raise AttributeError(name)
        return getattr(self._stream, name)

    def _is_for_host(self, chunk: Any) -> bool:
        """Notes what a chunk says of the usage; whether the chunk is the host's, who may not have asked for usage."""
        usage = usage_of(chunk) or usage_of(_part(chunk, "message"))
        if read_usage(usage) is None:
            return True
        self._note_usage(usage)
        return not self._swallow or bool(_part(chunk, "choices"))


class Stream(_Watched):
    """A synchronous stream. It can be closed, and used in ``with``."""

    @classmethod
    def begun(cls, stream: Any, note_usage: NoteUsage, *, swallow: bool) -> "Stream":
        """A stream whose first chunk has arrived. Raises what the client raises until then."""
        watched = cls(stream, iter(stream), note_usage, swallow=swallow)
        watched._first = [chunk for chunk in [next(watched._chunks, None)] if chunk is not None]
        return watched

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while True:
            chunk = self._first.pop() if self._first else next(self._chunks)
            if self._is_for_host(chunk):
                return chunk

    def close(self) -> None:
        """Closes the client's stream."""
        self._first.clear()
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(_Watched):
    """An asynchronous stream. It can be closed, and used in ``async with``."""

    @classmethod
    async def begun(cls, stream: Any, note_usage: NoteUsage, *, swallow: bool) -> "AsyncStream":
        """A stream whose first chunk has arrived. Raises what the client raises until then."""
        watched = cls(stream, aiter(stream), note_usage, swallow=swallow)
        watched._first = [chunk for chunk in [await anext(watched._chunks, None)] if chunk is not None]
        return watched

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while True:
            chunk = self._first.pop() if self._first else await anext(self._chunks)
            if self._is_for_host(chunk):
                return chunk

    async def close(self) -> None:
        """Closes the client's stream."""
        self._first.clear()
        close = getattr(self._stream, "aclose", None) or getattr(self._stream, "close", None)
        closing = None if close is None else close()
        if inspect.isawaitable(closing):
            await closing

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def usage_of(response: Any) -> Any:
    """The usage in a response or a chunk of one, an object or a dictionary; None where there is none."""
    return _part(response, "usage")


def _part(value: Any, name: str) -> Any:
    try:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    except Exception:  # an attribute of a client's own: the answer must not be lost for it
        return None
