"""Running a generator of steps: one body for synchronous and asynchronous callers.

The generator yields what has to be done, and is sent what came of it or has the exception thrown into it.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

Step = TypeVar("Step")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


def drive(steps: Generator[Step, Answer, Result], perform: Callable[[Step], Answer]) -> Result:
    """Performs every step in turn; the generator's return value."""
    try:
        step = next(steps)
        while True:
            try:
                answer = perform(step)
            except Exception as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result


async def drive_async(steps: Generator[Step, Answer, Result], perform: Callable[[Step], Awaitable[Answer]]) -> Result:
    """As ``drive``, awaiting every step."""
    try:
        step = next(steps)
        while True:
            try:
                answer = await perform(step)
            except Exception as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result
