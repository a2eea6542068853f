"""Streams of guarded calls: chunk by chunk, through the real clients, against a provider on 127.0.0.1."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest

from compactor import CannotFit, Session
from compactor.testing import assistant, filler, system, user

from .provider_server import Answer, Received, Window, anthropic_stream, openai_answer, openai_stream, serving

Raw = dict[str, Any]
TAG = "[CONTEXT COMPACTION]"
KINDS = ["litellm", "litellm async", "openai", "openai async"]
LITELLM = KINDS[:2]


class Streaming:
    """A host that streams. ``open`` begins a stream, ``next`` takes a chunk of it, ``rest`` takes all that follow."""

    def __init__(self, session: Session, call: Raw, runner: asyncio.Runner | None) -> None:
        self.session = session
        self._call = call
        self._runner = runner

    def open(self, messages: list[Raw], **more: Any) -> Any:
        arguments = {**self._call, "messages": messages, "stream": True, **more}
        if self._runner is None:
            return self.session.completion(**arguments)
        return self._runner.run(self.session.acompletion(**arguments))

    def next(self, stream: Any) -> Any:
        if self._runner is None:
            return next(stream)

        async def one() -> Any:
            return await anext(stream)

        return self._runner.run(one())

    def rest(self, stream: Any) -> list[Any]:
        chunks = []
        while True:
            try:
                chunks.append(self.next(stream))
            except (StopIteration, StopAsyncIteration):
                return chunks

    def close(self, stream: Any) -> None:
        closed = stream.close()
        if self._runner is not None:
            self._runner.run(closed)


@contextmanager
def streaming(kind: str, url: str, **overrides: Any) -> Iterator[Streaming]:
    name, _, way = kind.partition(" ")
    settings: Raw = {"overrides": {"counter": "estimate", **overrides}, "environ": {}}
    call: Raw = {"model": "openai/m" if name == "litellm" else "m"}
    kept: Raw = {"api_key": "k", "max_retries": 0, "timeout": 15}
    with asyncio.Runner() as runner:
        if name == "litellm":
            call |= {"api_base": f"{url}/v1", **kept}
            yield Streaming(Session(**settings), call, runner if way else None)
        elif way:
            client = openai.AsyncOpenAI(base_url=f"{url}/v1", **kept)
            yield Streaming(Session(acomplete=client.chat.completions.create, **settings), call, runner)
            runner.run(client.close())
        else:
            with openai.OpenAI(base_url=f"{url}/v1", **kept) as plain:
                yield Streaming(Session(complete=plain.chat.completions.create, **settings), call, None)


def chat(turns: int, chars: int = 1_000) -> list[Raw]:
    said = [[user(f"Ask {turn}. {filler(chars)}"), assistant(filler(chars))] for turn in range(turns)]
    return [system("You help."), *(message for turn in said for message in turn), user("And now?")]


def raised(ask: Callable[..., Any], *arguments: Any) -> Exception:
    try:
        answer = ask(*arguments)
    except Exception as error:
        return error
    raise AssertionError(f"there was an answer: {answer}")


def text(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def with_usage(chunks: list[Any]) -> list[Any]:
    return [chunk for chunk in chunks if getattr(chunk, "usage", None)]


def unstated(prompt: int, window: int) -> Answer:
    told = "Your input exceeds the context window of this model."
    return Answer(400, {"error": {"message": told, "code": "context_length_exceeded"}})


def stated(prompt: int, window: int) -> Answer:
    told = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens."
    )
    return Answer(400, {"error": {"message": told, "code": "context_length_exceeded"}})


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_pass_through_one_by_one(kind: str) -> None:
    seen = [threading.Event() for _ in range(3)]
    pieces = ["One ", seen[0], "two ", seen[1], "three ", seen[2], "four."]
    with serving(openai_stream(pieces)) as server, streaming(kind, server.url) as host:
        stream = host.open([user("Count.")])
        got = []
        for event in seen:
            got.append(host.next(stream))
            event.set()  # only now does the server send the next one
        got += host.rest(stream)
    assert text(got[:3]) == "One two three "
    assert text(got) == "One two three four."
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_usage_is_noted(kind: str) -> None:
    messages = chat(10)
    with serving(openai_stream(prompt_tokens=3_000)) as server, streaming(kind, server.url) as host:
        asked = {} if kind in LITELLM else {"stream_options": {"include_usage": True}}
        model = "openai/m" if kind in LITELLM else "m"
        assert host.session.check(messages, model=model).variables["reported_tokens"] == 0
        host.rest(host.open(messages, **asked))
        known = host.session.check(messages, model=model).variables
    assert (known["reported_tokens"], known["tokens"]) == (3_000, 3_000)
    assert server.requests[0].body["stream_options"]["include_usage"] is True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", [False, True], ids=["not asked for", "asked for"])
def test_usage_reaches_a_host_that_asked_for_it(kind: str, asked: bool) -> None:
    def reply(request: Received) -> Answer:
        wanted = (request.body.get("stream_options") or {}).get("include_usage")
        answer = openai_stream()
        if wanted:
            return answer
        return Answer(events=[event for event in answer.events or () if not _is_usage(event)])

    more = {"stream_options": {"include_usage": True}} if asked else {}
    with serving(reply=reply) as server, streaming(kind, server.url) as host:
        chunks = host.rest(host.open([user("Hello.")], **more))
    assert text(chunks) == "Fine."
    assert len(with_usage(chunks)) == asked
    assert all(chunk.choices for chunk in chunks) or asked
    if not asked and kind not in LITELLM:
        assert "stream_options" not in server.requests[0].body, "nothing is added to the call of another client"


def _is_usage(event: Any) -> bool:
    return isinstance(event, dict) and "usage" in event


@pytest.mark.parametrize("kind", KINDS)
def test_an_overflow_before_the_first_chunk_is_recovered(kind: str) -> None:
    provider, messages = Window(6_000, stated), chat(20)
    with serving(reply=provider) as server, streaming(kind, server.url) as host:
        assert text(host.rest(host.open(messages))) == "Fine."
    assert (provider.refused, len(provider.prompts)) == (1, 2)
    assert TAG in json.dumps(server.requests[1].body)
    assert server.requests[1].body["stream"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_an_overflow_as_the_first_event_is_recovered(kind: str) -> None:
    refusal = {"error": {"message": "This model's maximum context length is 6000 tokens.", "code": 400}}
    with serving(openai_stream([], error=refusal), openai_stream()) as server, streaming(kind, server.url) as host:
        assert text(host.rest(host.open(chat(20)))) == "Fine."
    assert len(server.requests) == 2
    assert TAG in json.dumps(server.requests[1].body)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_is_always_refused_ends_in_one_clear_error(kind: str) -> None:
    with (
        serving(reply=Window(0, unstated)) as server,
        streaming(kind, server.url) as host,
        pytest.raises(CannotFit, match="max_attempts") as caught,
    ):
        host.open(chat(50, 2_000))
    assert len(server.requests) == 4
    assert caught.value.largest
    assert caught.value.__cause__ is not None


BROKEN = {
    "overflow": {"error": {"message": "This model's maximum context length is 6000 tokens.", "code": 400}},
    "breaks off": None,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", BROKEN)
def test_an_error_after_the_first_chunk_is_raised_and_not_tried_again(kind: str, way: str) -> None:
    broken = openai_stream(["Once upon "], error=BROKEN[way], breaks_off=BROKEN[way] is None)
    with serving(broken, openai_stream()) as server, streaming(kind, server.url) as host:
        stream = host.open(chat(20))
        got = [host.next(stream)]
        error = raised(host.rest, stream)
        assert text(got) == "Once upon "
        assert not isinstance(error, CannotFit)
        assert type(error).__module__.partition(".")[0] in ("litellm", "openai", "httpx", "httpcore")
        assert len(server.requests) == 1
        assert host.session.state.count == 0
        assert text(host.rest(host.open(chat(20)))) == "Fine.", "the session goes on"


@pytest.mark.parametrize("kind", KINDS)
def test_closing_early_is_fine(kind: str) -> None:
    never = threading.Event()
    with (
        serving(openai_stream(["One ", never, "two."]), openai_stream()) as server,
        streaming(kind, server.url) as host,
    ):
        stream = host.open([user("Count.")])
        assert text([host.next(stream)]) == "One "
        host.close(stream)
        assert kind in LITELLM or stream.response.is_closed
        never.set()
        assert text(host.rest(host.open([user("Count.")]))) == "Fine."
    assert len(server.requests) == 2


def test_a_stream_is_a_context_manager() -> None:
    with serving(openai_stream()) as server, streaming("openai", server.url) as host:
        with host.open([user("Hello.")]) as stream:
            assert text(list(stream)) == "Fine."
        assert stream.response.is_closed, "what the client's own stream has is there"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_stream_is_empty(kind: str) -> None:
    with serving(Answer(events=["[DONE]"])) as server, streaming(kind, server.url) as host:
        assert text(host.rest(host.open([user("Hello.")]))) == ""
    assert len(server.requests) == 1


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_anthropics_events_pass_through_and_their_usage_is_noted(asynchronous: bool) -> None:
    messages = chat(20)[1:]
    call: Raw = {"model": "m", "max_tokens": 50, "messages": messages, "system": "You help.", "stream": True}
    settings: Raw = {"overrides": {"counter": "estimate"}, "environ": {}}
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}

    def sync(url: str) -> tuple[Session, list[Any]]:
        with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
            session = Session(complete=client.messages.create, **settings)
            return session, list(session.completion(**call))

    async def awaited(url: str) -> tuple[Session, list[Any]]:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client:
            session = Session(acomplete=client.messages.create, **settings)
            return session, [event async for event in await session.acompletion(**call)]

    run: Callable[[str], tuple[Session, list[Any]]] = (lambda url: asyncio.run(awaited(url))) if asynchronous else sync
    with serving(anthropic_stream(prompt_tokens=4_000)) as server:
        session, events = run(server.url)
    assert [event.type for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert session.check(messages, system="You help.", model="m").variables["reported_tokens"] == 4_000
    overrides = {"window.unknown_model": 9_000, "threshold": 0.95, "counter": "estimate"}
    settings["overrides"] = overrides
    with serving(Answer(400, refusal), anthropic_stream()) as server:
        session, events = run(server.url)
    assert len(server.requests) == 2
    assert TAG in json.dumps(server.requests[1].body)
    assert events[-1].type == "message_stop"


def test_a_client_that_answers_at_once_though_asked_for_a_stream_is_no_matter() -> None:
    """``stream=False`` is no stream."""
    with serving(openai_answer(prompt_tokens=900)) as server, streaming("openai", server.url) as host:
        answer = host.open([user(filler(4_000))], stream=False)
    assert answer.choices[0].message.content == "Fine."
