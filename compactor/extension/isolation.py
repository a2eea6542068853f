"""Calling a plugin's hook so that it can neither break nor hold up a compaction."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Hook:
    """One implementation of a hook, and what the policy says about its plugin.

    ``deadline`` is in seconds; ``max_tokens`` bounds what it may return; ``required``: its failure is the
    compaction's.
    """

    plugin: str
    name: str
    function: Callable[[Any], Any]
    deadline: float
    max_tokens: int
    required: bool


@dataclass(frozen=True, slots=True)
class HookCall:
    """A step for the driver of a compaction: call this hook with this event."""

    hook: Hook
    event: Any


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What came of a call: ``value`` as returned, or ``failure`` in a sentence; ``seconds`` that it took.

    ``error`` is what it raised, None also when it did not come back in time.
    """

    value: Any = None
    failure: str | None = None
    seconds: float = 0.0
    error: BaseException | None = None


def call_hook(call: HookCall) -> HookAnswer:
    """Runs the hook in a thread of its own, its event loop with it where it is ``async``, until its deadline.

    Whatever it raises, ``SystemExit`` and the like included, is its failure. A hook that does not come back is left
    behind: nobody waits for it any more, and it does not keep the process alive.
    """
    answers: list[HookAnswer] = []
    done = threading.Event()

    def answered(answer: HookAnswer) -> None:
        answers.append(answer)
        done.set()

    started = time.perf_counter()
    _start(call, answered)
    done.wait(call.hook.deadline)
    return answers[0] if answers else _late(call, started)


async def call_hook_async(call: HookCall) -> HookAnswer:
    """As ``call_hook``, without holding up the event loop; a cancellation does not wait for the hook."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[HookAnswer] = loop.create_future()

    def resolve(answer: HookAnswer) -> None:
        if not future.done():
            future.set_result(answer)

    def answered(answer: HookAnswer) -> None:
        with suppress(RuntimeError):  # the loop may be closed by then
            loop.call_soon_threadsafe(resolve, answer)

    started = time.perf_counter()
    _start(call, answered)
    try:
        return await asyncio.wait_for(future, call.hook.deadline)
    except TimeoutError:
        return _late(call, started)


def described(value: object) -> str:
    """A value, mostly an error, as text; whatever its own methods do."""
    try:
        return str(value)[:4000].encode("utf-8", "replace").decode("utf-8")
    except BaseException:
        return "(it cannot be shown)"


def _start(call: HookCall, answered: Callable[[HookAnswer], None]) -> None:
    started = time.perf_counter()

    def run() -> None:
        try:
            value = call.hook.function(call.event)
            if inspect.isawaitable(value):
                value = asyncio.run(_awaited(value))
            answered(HookAnswer(value, None, time.perf_counter() - started))
        except BaseException as error:
            answered(_failed(error, started))

    try:
        name = f"compactor-{call.hook.plugin}-{call.hook.name}"
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:  # no thread can be had
        answered(_failed(error, started))


def _failed(error: BaseException, started: float) -> HookAnswer:
    failure = f"{type(error).__name__}: {described(error)}"
    return HookAnswer(None, failure, time.perf_counter() - started, error)


def _late(call: HookCall, started: float) -> HookAnswer:
    return HookAnswer(None, f"no answer within {call.hook.deadline:g} s", time.perf_counter() - started)


async def _awaited(value: Any) -> Any:
    return await value
