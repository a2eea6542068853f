"""A model call guarded by a session: litellm's, or any function of the same shape."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from compactor.perform import Step, perform, perform_async
from compactor.session.compacting import Wait
from compactor.session.keeper import Keeper
from compactor.session.outgoing import Outgoing
from compactor.session.standing import HostRequest
from compactor.session.streams import AsyncStream, Stream, usage_of
from compactor.summarizing.llm import litellm

Model = Callable[..., Any]
"""Makes a call and returns the response, or an iterable of chunks for ``stream=True``."""

AsyncModel = Callable[..., Awaitable[Any]]
"""As ``Model``, to be awaited; the chunks are those of an asynchronous iterable."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A step: call the model with these arguments."""

    arguments: Mapping[str, Any]


def guarded(keeper: Keeper, call: Mapping[str, Any]) -> Generator[Step | Wait | ModelCall, Any, Any]:
    """Makes the call, again and smaller while the provider refuses it as too large; the response or a stream."""
    request = HostRequest(call["messages"], call.get("system"), call.get("tools") or (), call.get("model"))
    outgoing = yield from keeper.before_call(request)
    while True:
        try:
            return (yield ModelCall(_arguments(call, outgoing)))
        except Exception as error:
            outgoing = yield from keeper.recovered(error)


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs the steps of a guarded call; ``complete`` and ``acomplete`` are litellm's where they are None."""

    keeper: Keeper
    complete: Model | None = None
    acomplete: AsyncModel | None = None

    def now(self, step: Step | Wait | ModelCall) -> Any:
        """Performs a step and waits for it."""
        if isinstance(step, Wait):
            return step.background.wait()
        if not isinstance(step, ModelCall):
            return perform(step)
        swallow, arguments = _with_usage(step.arguments, self.complete is None)
        response = (self.complete or litellm().completion)(**arguments)
        if arguments.get("stream"):
            return Stream.begun(response, self.keeper.note_usage, swallow=swallow)
        self.keeper.note_usage(usage_of(response))
        return response

    async def soon(self, step: Step | Wait | ModelCall) -> Any:
        """Performs a step without holding up the event loop."""
        if isinstance(step, Wait):
            return await step.background.awaited()
        if not isinstance(step, ModelCall):
            return await perform_async(step)
        swallow, arguments = _with_usage(step.arguments, self.acomplete is None)
        response = await (self.acomplete or litellm().acompletion)(**arguments)
        if arguments.get("stream"):
            return await AsyncStream.begun(response, self.keeper.note_usage, swallow=swallow)
        self.keeper.note_usage(usage_of(response))
        return response


def _arguments(call: Mapping[str, Any], outgoing: Outgoing) -> Mapping[str, Any]:
    arguments = {**call, "messages": outgoing.messages}
    if "system" in call:
        arguments["system"] = outgoing.system
    return arguments


def _with_usage(arguments: Mapping[str, Any], of_litellm: bool) -> tuple[bool, Mapping[str, Any]]:
    """Asks for the usage of a stream, which is not sent by itself; whether the chunk with it is for us alone.

    Only of litellm is it known that it takes the question whatever the provider.
    """
    asked = arguments.get("stream_options") or {}
    if not (arguments.get("stream") and of_litellm) or asked.get("include_usage"):
        return False, arguments
    return True, {**arguments, "stream_options": {**asked, "include_usage": True}}
