"""Making the calls that a compaction asks for: of summarisers and of plugins' hooks."""

import asyncio

from compactor.errors import SummarizerFailed
from compactor.extension.isolation import HookAnswer, HookCall, call_hook, call_hook_async, described
from compactor.extension.protocols import SummaryReply
from compactor.summarizing.chain import Ask

Step = Ask | HookCall
Answer = SummaryReply | str | HookAnswer


def perform(step: Step) -> Answer:
    """Makes a call. What a summariser raises that is no ``Exception`` becomes ``SummarizerFailed``."""
    if isinstance(step, HookCall):
        return call_hook(step)
    try:
        return step.summarizer.summarize(step.request)
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise SummarizerFailed(f"{type(error).__name__}: {described(error)}") from error


async def perform_async(step: Step) -> Answer:
    """As ``perform``, awaiting it; a real cancellation goes through."""
    if isinstance(step, HookCall):
        return await call_hook_async(step)
    try:
        return await step.summarizer.asummarize(step.request)
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # somebody cancels us; the summariser did not make it up
        raise SummarizerFailed(f"{type(error).__name__}: {described(error)}") from error
