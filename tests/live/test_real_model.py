"""A session around a real model: its window, its refusals, its streams, its figures. What it says does not matter."""

import asyncio
import time
from typing import Any

import openai
import pytest

from compactor import EventKind, Outcome, Session, SessionEvent
from compactor.session.provider_errors import error_table
from compactor.summarizing.llm import litellm
from compactor.testing import assistant, call, filler, result, system, user

from .llama_server import WINDOW

pytestmark = [
    pytest.mark.live,
    # litellm looks through the attributes of a pydantic object when a stream reports its usage.
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
]

MODEL = "openai/smollm2"
SYSTEM = system("You are a short-spoken assistant in a repository.")
SHIPS = [SYSTEM, user("Tell me about ships, please.")]
TOO_MUCH = [SYSTEM, user(filler(8_000))]

Raw = dict[str, Any]


class Live:
    """A session with the real model, its events, and what each of its calls takes beside the messages."""

    def __init__(self, url: str, *, window: int = WINDOW, **overrides: Any) -> None:
        self.events: list[SessionEvent] = []
        self.arguments = {"api_base": url, "api_key": "none", "temperature": 0, "max_tokens": 40, "max_retries": 0}
        self.session = Session(
            model=MODEL,
            overrides={"window.context_length": window, **overrides},
            environ={},
            on_event=self.events.append,
        )

    @property
    def kinds(self) -> list[EventKind]:
        return [event.kind for event in self.events]

    def ask(self, messages: list[Raw], **more: Any) -> Any:
        return self.session.completion(messages=messages, **{**self.arguments, **more})

    def reported(self, messages: list[Raw]) -> int:
        """The size that the provider reported, as the session remembers it."""
        return self.session.check(messages).variables["reported_tokens"]


def chat(turns: int, chars: int) -> list[Raw]:
    """A conversation with two messages a turn, each of ``chars`` characters and a few more."""
    said = [
        [
            user(f"Step {turn}: mend src/part_{turn}.py. {filler(chars)}."),
            assistant(f"Step {turn} done. {filler(chars)}."),
        ]
        for turn in range(turns)
    ]
    return [SYSTEM, *(message for turn in said for message in turn), user("What is next?")]


def test_a_loop_that_would_overflow_the_window_goes_on(url: str) -> None:
    live, host = Live(url), [SYSTEM]
    for turn in range(24):
        host.append(user(f"Step {turn}: look at src/module_{turn}.py and say in one sentence what it could be for."))
        if turn % 4 == 3:
            code = f"def total_{turn}(rows):\n    return sum(row.amount for row in rows)\n" * 2
            host.append(assistant(None, call(f"call_{turn}", "read_file", {"path": f"src/module_{turn}.py"})))
            host.append(result(f"call_{turn}", code))
        response = live.ask(host)
        (choice,) = response.choices
        assert choice.message.content.strip()
        assert choice.finish_reason in ("stop", "length")
        assert 0 < response.usage.prompt_tokens < WINDOW
        assert 0 < response.usage.completion_tokens <= 40
        assert live.reported(host) == response.usage.prompt_tokens
        host.append(assistant(choice.message.content))
    assert live.session.state.count >= 2
    assert live.kinds.count(EventKind.COMPACTED) == live.session.state.count
    assert not {EventKind.REFUSED, EventKind.CANNOT_FIT, EventKind.NO_SUMMARY} & set(live.kinds)
    # Without the session there would be no answer any more.
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    with client, pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model="smollm2", messages=host, max_tokens=1)
    assert raised.value.type == "exceed_context_size_error"


def test_a_refusal_teaches_the_window_and_the_call_succeeds(url: str) -> None:
    live = Live(url, window=8_000)
    response = live.ask(chat(turns=10, chars=300))
    assert response.choices[0].message.content.strip()
    assert 0 < response.usage.prompt_tokens < WINDOW
    assert live.kinds == [EventKind.REFUSED, EventKind.COMPACTING, EventKind.COMPACTED]
    assert str(WINDOW) in live.events[0].message
    assert live.session.state.count == 1
    assert live.session.state.about(MODEL).window == WINDOW
    decision = live.session.check(SHIPS)
    assert decision.variables["context_length"] == WINDOW


def through_openai(url: str, *, stream: bool) -> None:
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        client.chat.completions.create(model="smollm2", messages=TOO_MUCH, stream=stream)


def through_litellm(url: str, *, stream: bool) -> None:
    litellm().completion(model=MODEL, messages=TOO_MUCH, api_base=url, api_key="none", max_retries=0, stream=stream)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("send", [through_openai, through_litellm])
def test_the_real_refusal_is_known(url: str, send: Any, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        send(url, stream=stream)
    refusal = error_table().classify(raised.value)
    assert (refusal.kind, refusal.status, refusal.limit) == ("context_overflow", 400, WINDOW)
    assert refusal.prompt_tokens is not None
    assert refusal.prompt_tokens > WINDOW


def test_a_stream_passes_through_chunk_by_chunk(url: str) -> None:
    live = Live(url)
    begun, chunks, arrived = time.monotonic(), [], []
    for chunk in live.ask(SHIPS, stream=True):
        chunks.append(chunk)
        arrived.append(time.monotonic() - begun)
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert sum(bool(text) for text in texts) > 1
    assert "".join(text or "" for text in texts).strip()
    assert arrived[-1] - arrived[0] > 0.1 * arrived[-1]  # one burst at the end would be a thousandth
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")
    assert all(chunk.choices for chunk in chunks)  # no chunk that is only about usage: nobody asked for it
    whole = Live(url).ask(SHIPS, max_tokens=1)
    assert live.reported(SHIPS) == whole.usage.prompt_tokens > 0


def test_the_usage_of_a_stream_is_noted_and_passed_on(url: str) -> None:
    live = Live(url)
    chunks = list(live.ask(SHIPS, stream=True, stream_options={"include_usage": True}))
    (usage,) = [chunk.usage for chunk in chunks if getattr(chunk, "usage", None)]
    assert 0 < usage.completion_tokens <= 40
    assert live.reported(SHIPS) == usage.prompt_tokens > 0


def test_a_refused_stream_is_recovered_before_its_first_chunk(url: str) -> None:
    live = Live(url, window=8_000)
    chunks = list(live.ask(chat(turns=10, chars=300), stream=True))
    assert any(chunk.choices[0].delta.content for chunk in chunks)
    assert live.kinds == [EventKind.REFUSED, EventKind.COMPACTING, EventKind.COMPACTED]


def test_awaited_calls(url: str) -> None:
    live = Live(url, window=8_000)
    host = chat(turns=10, chars=300)

    async def asked() -> tuple[Any, list[Any]]:
        response = await live.session.acompletion(messages=host, **live.arguments)
        stream = await live.session.acompletion(messages=SHIPS, **live.arguments, stream=True)
        return response, [chunk async for chunk in stream]

    response, chunks = asyncio.run(asked())
    assert response.choices[0].message.content.strip()
    assert 0 < response.usage.prompt_tokens < WINDOW
    assert live.kinds[0] is EventKind.REFUSED
    assert sum(bool(chunk.choices[0].delta.content) for chunk in chunks) > 1
    assert live.reported(SHIPS) > 0


@pytest.mark.parametrize(
    ("host", "more", "failure"),
    [
        pytest.param(
            chat(turns=5, chars=200),
            {"summary.sections": [{"id": "goal", "title": "Goal"}, {"id": "progress", "title": "Progress"}]},
            "the reply",
            id="answers",
        ),
        pytest.param(chat(turns=8, chars=250), {}, "model 'openai/smollm2': ContextWindowExceededError", id="refuses"),
    ],
)
def test_the_model_as_summarizer(url: str, host: list[Raw], more: dict[str, Any], failure: str) -> None:
    options = {"api_base": url, "temperature": 0, "max_tokens": 40, "stop": ["\n\n"]}
    live = Live(url, **{"summary.model": MODEL, "summary.options": options, **more})
    done = live.session.compact(host)
    assert done.outcome is Outcome.COMPACTED
    assert done.report.tokens_after < done.report.tokens_before
    first, *others = done.report.attempts
    assert first.summarizer == "litellm"
    if first.failure is None:
        assert failure == "the reply"
        assert (first.model, done.report.summarizer, others) == (MODEL, "litellm", [])
    else:  # so small a model may as well answer what is no summary
        assert first.failure.startswith(failure)
        assert [attempt.summarizer for attempt in others] == [done.report.summarizer] == ["extractive"]


def test_an_answer_that_reaches_the_end_of_the_window_is_no_error(url: str) -> None:
    live = Live(url, window=8_000)
    response = live.ask([SYSTEM, user("Once upon a time. " * 190 + "Go on with this story.")], max_tokens=200)
    assert response.choices[0].finish_reason == "length"
    assert response.usage.completion_tokens < 200
    assert response.usage.total_tokens == WINDOW
    assert live.kinds == []


def test_a_timeout_is_raised_as_it_is(own_url: str) -> None:
    live, host = Live(own_url), [SYSTEM, user("A long story. " * 60)]
    with pytest.raises(litellm().Timeout):
        live.ask(host, timeout=0.05)
    assert live.kinds == []
    assert live.session.state.count == 0
    assert live.ask(host, max_tokens=5).usage.prompt_tokens == live.reported(host) > 0
