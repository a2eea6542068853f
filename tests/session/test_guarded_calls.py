"""Guarded calls through the real clients, against a provider on 127.0.0.1 that counts, reports and refuses."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx
import openai
import pytest

from compactor import CannotFit, EventKind, Outcome, Session, SessionEvent
from compactor.testing import assistant, call, filler, result, system, user

from .provider_server import Answer, ProviderServer, Received, Window, anthropic_answer, openai_answer, serving

Raw = dict[str, Any]
TAG = "[CONTEXT COMPACTION]"
SUMMARY = "## Goal\nShip it."

CLIENTS = [
    "litellm",
    "litellm async",
    "openai",
    "openai async",
    "openai by hand",
    "anthropic",
    "anthropic async",
    "anthropic by hand",
]
OPENAI = [client for client in CLIENTS if not client.startswith("anthropic")]


@dataclass
class Host:
    """A program that talks to a model.

    ``ask`` makes a call under the guard; ``events`` are what the session told; ``raised`` is what the client raised,
    where that can be seen.
    """

    session: Session
    ask: Callable[[list[Any]], Any]
    events: list[SessionEvent]
    raised: list[Exception] = field(default_factory=list)

    @property
    def kinds(self) -> list[EventKind]:
        return [event.kind for event in self.events]

    def say(self, messages: list[Any]) -> str:
        """The text of the answer."""
        answer = self.ask(messages)
        return str(answer.choices[0].message.content if hasattr(answer, "choices") else answer.content[0].text)


@contextmanager
def host(client: str, url: str, *, timeout: float = 10, model: str = "m", **session: Any) -> Iterator[Host]:
    """A host with one of ``CLIENTS``. ``session``: arguments of ``Session``; ``overrides`` are added to."""
    name, _, way = client.partition(" ")
    events: list[SessionEvent] = []
    settings: Raw = {"environ": {}, "on_event": events.append, **session}
    settings["overrides"] = {"counter": "estimate", **session.get("overrides", {})}
    more: Raw = {"max_tokens": 50} if name == "anthropic" else {}
    if name == "litellm":
        base = url if "/" in model and not model.startswith("openai/") else f"{url}/v1"
        guard = Session(model=model if "/" in model else f"openai/{model}", **settings)
        more |= {"api_base": base, "api_key": "k", "max_retries": 0, "timeout": timeout}
        with asyncio.Runner() as runner:

            def ask(messages: list[Any]) -> Any:
                if way == "async":
                    return runner.run(guard.acompletion(messages=messages, **more))
                return guard.completion(messages=messages, **more)

            yield Host(guard, ask, events)
        return
    seen: list[Exception] = []
    kept: Raw = {
        "api_key": "k",
        "base_url": f"{url}/v1" if name == "openai" else url,
        "max_retries": 0,
        "timeout": timeout,
    }
    if way == "async":
        with asyncio.Runner() as runner:
            awaited: Any = openai.AsyncOpenAI(**kept) if name == "openai" else anthropic.AsyncAnthropic(**kept)
            acreate = awaited.chat.completions.create if name == "openai" else awaited.messages.create

            async def acomplete(**arguments: Any) -> Any:
                try:
                    return await acreate(**arguments)
                except Exception as error:
                    seen.append(error)
                    raise

            guard = Session(model=model, acomplete=acomplete, **settings)
            yield Host(guard, lambda said: runner.run(guard.acompletion(**_shaped(name, said), **more)), events, seen)
            runner.run(awaited.close())
        return
    plain: Any = openai.OpenAI(**kept) if name == "openai" else anthropic.Anthropic(**kept)
    create = plain.chat.completions.create if name == "openai" else plain.messages.create

    def complete(**arguments: Any) -> Any:
        try:
            return create(**arguments)
        except Exception as error:
            seen.append(error)
            raise

    def by_hand(messages: list[Any]) -> Any:
        request = _shaped(name, messages)
        sent = guard.before_call(**request)
        while True:
            apart = {"system": sent.system} if "system" in request else {}
            try:
                answer = complete(model=model, messages=list(sent.messages), **apart, **more)
            except (openai.APIError, anthropic.APIError) as error:
                sent = guard.on_error(error)
            else:
                guard.note_usage(answer.usage)
                return answer

    with plain:
        guard = Session(model=model, complete=None if way else complete, **settings)
        yield Host(
            guard, by_hand if way else lambda said: guard.completion(**_shaped(name, said), **more), events, seen
        )


def _shaped(name: str, messages: list[Any]) -> Raw:
    """The messages as a client takes them: Anthropic's has the system prompt apart."""
    if name == "anthropic" and messages[0]["role"] == "system":
        return {"system": messages[0]["content"], "messages": messages[1:]}
    return {"messages": messages}


def stated(prompt: int, window: int) -> Answer:
    """The refusal of OpenAI, with the limit."""
    told = f"This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens"
    return Answer(
        400, {"error": {"message": f"{told}. Please reduce the length of the messages.", "param": "messages"}}
    )


def stated_by_anthropic(prompt: int, window: int) -> Answer:
    """The refusal of Anthropic, with the limit."""
    told = f"prompt is too long: {prompt} tokens > {window} maximum"
    return Answer(400, {"type": "error", "error": {"type": "invalid_request_error", "message": told}})


def unstated(prompt: int, window: int) -> Answer:
    """A refusal without a number."""
    told = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return Answer(400, {"error": {"message": told, "code": "context_length_exceeded", "param": "input"}})


def refusal_for(client: str) -> Callable[[int, int], Answer]:
    return stated_by_anthropic if client.startswith("anthropic") else stated


def raised(ask: Callable[..., Any], *arguments: Any, **more: Any) -> Exception:
    try:
        answer = ask(*arguments, **more)
    except Exception as error:
        return error
    raise AssertionError(f"there was an answer: {answer}")


def chat(turns: int, chars: int = 1_000) -> list[Raw]:
    said = [
        [user(f"Ask {turn}. {filler(chars)}"), assistant(f"Answer {turn}. {filler(chars)}")] for turn in range(turns)
    ]
    return [system("You help."), *(message for turn in said for message in turn), user("And now?")]


def sizes(server: ProviderServer) -> list[int]:
    """Characters of the requests' messages."""
    return [len(json.dumps(request.body["messages"])) for request in server.requests]


def summaries(request: Received) -> int:
    return sum(TAG in json.dumps(message["content"]) for message in request.body["messages"])


def prompt_of(request: Received) -> str:
    """The system prompt, wherever it stands."""
    return json.dumps(request.body.get("system") or request.body["messages"][0]["content"])


@pytest.mark.parametrize("client", CLIENTS)
def test_a_conversation_that_outgrows_the_window_never_gets_an_error(client: str) -> None:
    provider = Window(6_000, refusal_for(client), ratio=1.3, text=filler(1_500))
    messages = [system("You help.")]
    with serving(reply=provider) as server, host(client, server.url) as program:
        for turn in range(30):
            messages.append(user(f"Ask {turn}. {filler(700)}"))
            messages.append(assistant(program.say(messages)))
            assert server.requests[-1].body["messages"][-1]["content"] == messages[-2]["content"]
        window = program.session.check(messages[:-1]).variables["context_length"]
    assert provider.refused == 1, "the window is learnt from the first refusal"
    assert len(provider.prompts) == 31
    assert window == 6_000
    assert program.kinds.count(EventKind.REFUSED) == 1
    assert program.kinds.count(EventKind.COMPACTED) > 3
    assert summaries(server.requests[-1]) == 1
    assert all(told in prompt_of(server.requests[-1]) for told in ("You help.", "[compactor v1 note]"))
    assert len(messages) == 61, "the host's own list only grows"


@pytest.mark.parametrize("client", ["litellm", "openai by hand"])
def test_f3_a_limit_in_the_body_is_learnt(client: str) -> None:
    def refuse(prompt: int, window: int) -> Answer:
        told = f"request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"
        code = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": window}
        return Answer(400, {"error": {"message": told, **code}})

    provider = Window(4_096, refuse)
    with serving(reply=provider) as server, host(client, server.url) as program:
        assert program.say(chat(12)) == "Fine."
        assert program.session.check(chat(12)).variables["context_length"] == 4_096
    assert provider.refused == 1


@pytest.mark.parametrize("client", ["litellm", "openai async", "openai by hand"])
def test_f10_without_a_number_the_window_steps_down_to_the_next_tier(client: str) -> None:
    provider = Window(9_000, unstated)
    messages = chat(20)
    known = {"window.unknown_model": 20_000, "threshold": 0.9}
    with serving(reply=provider) as server, host(client, server.url, overrides=known) as program:
        assert program.say(messages) == "Fine."
        assert program.session.check(messages).variables["context_length"] == 16_000
    assert (provider.refused, len(provider.prompts)) == (1, 2)
    assert provider.prompts[1] < 16_000 * 0.25 * 1.5


@pytest.mark.parametrize("client", OPENAI)
def test_f4_images_go_first_and_no_summary_is_made(client: str) -> None:
    provider = TooLarge(400_000)
    messages = [*chat(40, 2_500)[:-1], *pictures(6, kilobytes=100), user("Which one is red?")]
    with serving(reply=provider) as server, host(client, server.url) as program:
        assert program.say(messages) == "Fine."
    assert [len(images(request)) for request in server.requests] == [6, 1]
    assert images(server.requests[1]) == images(server.requests[0])[-1:], "the newest one stays"
    assert len(server.requests[1].body["messages"]) == len(messages)
    assert summaries(server.requests[1]) == 0
    assert program.kinds == [EventKind.REFUSED, EventKind.COMPACTING, EventKind.PRUNED]


@pytest.mark.parametrize("client", ["litellm", "openai", "openai by hand"])
def test_f4_then_it_is_compacted(client: str) -> None:
    provider = TooLarge(250_000)
    messages = [*chat(40, 2_500)[:-1], *pictures(6, kilobytes=100), user("Which one is red?")]
    with serving(reply=provider) as server, host(client, server.url) as program:
        assert program.say(messages) == "Fine."
    assert [summaries(request) for request in server.requests] == [0, 0, 1]
    assert [len(images(request)) for request in server.requests] == [6, 1, 1]
    done = [kind for kind in program.kinds if kind in (EventKind.PRUNED, EventKind.COMPACTED)]
    assert done == [EventKind.PRUNED, EventKind.COMPACTED]


class TooLarge:
    """Takes bodies up to a number of bytes; the page is that of a proxy."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, request: Received) -> Answer:
        if int(request.headers["content-length"]) > self.most:
            return Answer(413, "<html><head><title>413 Request Entity Too Large</title></head></html>")
        return openai_answer()


def pictures(count: int, *, kilobytes: int) -> list[Raw]:
    turns = []
    for number in range(count):
        url = f"data:image/png;base64,{number:04}{'A' * kilobytes * 1_000}"
        turns.append(user([{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": url}}]))
        turns.append(assistant("A picture."))
    return turns


def images(request: Received) -> list[str]:
    contents = [message["content"] for message in request.body["messages"] if isinstance(message["content"], list)]
    return [part["image_url"]["url"] for content in contents for part in content if part["type"] == "image_url"]


@pytest.mark.parametrize("client", ["litellm", "anthropic", "anthropic async", "anthropic by hand"])
def test_f5_the_long_context_tier_ends_at_200_000(client: str) -> None:
    def refuse(prompt: int, window: int) -> Answer:
        told = "Extra usage is required for long context requests."
        return Answer(429, {"type": "error", "error": {"type": "rate_limit_error", "message": told}})

    provider = Window(200_000, refuse, ratio=1.2)
    messages = chat(40, 10_000)
    known = {"window.context_length": 1_000_000, "counter": "rough"}
    name = "anthropic/m" if client == "litellm" else "m"
    with serving(reply=provider) as server, host(client, server.url, model=name, overrides=known) as program:
        assert program.say(messages) == "Fine."
        assert program.session.check(messages[1:], system="You help.").variables["context_length"] == 200_000
    assert provider.refused == 1
    assert provider.prompts[1] < 100_000


@pytest.mark.parametrize("client", CLIENTS)
def test_f11_a_provider_that_refuses_for_ever_ends_in_one_clear_error(client: str) -> None:
    anthropics = client.startswith("anthropic")
    told = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}
    provider = Window(0, lambda prompt, window: Answer(400, told) if anthropics else unstated(prompt, window))
    messages = [*chat(50, 2_000)[:-1], user(f"Look at this. {filler(4_000)}")]
    with serving(reply=provider) as server, host(client, server.url) as program, pytest.raises(CannotFit) as caught:
        program.ask(messages)
    assert len(server.requests) == 4, "max_attempts compactions, and one request more"
    assert program.kinds.count(EventKind.COMPACTED) == 3
    assert provider.prompts == sorted(provider.prompts, reverse=True)
    assert len(set(provider.prompts)) == 4, "each one is smaller"
    assert "3 compactions (max_attempts) were not enough" in str(caught.value)
    assert caught.value.largest
    assert all(name in str(caught.value) for name in caught.value.largest)
    assert type(caught.value.__cause__).__module__.partition(".")[0] == client.partition(" ")[0]
    if program.raised:
        assert caught.value.__cause__ is program.raised[-1]


@pytest.mark.parametrize("client", ["litellm", "openai", "anthropic by hand"])
def test_f11_without_progress_it_stops_at_once(client: str) -> None:
    provider = Window(0, refusal_for(client))
    messages = [system("You help."), user(f"Read this: {filler(4_000)}")]
    with serving(reply=provider) as server, host(client, server.url) as program, pytest.raises(CannotFit) as caught:
        program.ask(messages)
    assert len(server.requests) == 1
    assert "(user)" in caught.value.largest[0]
    assert caught.value.__cause__ is not None


UNTOUCHED = {
    "F6": Answer(400, {"error": {"message": "Range of max_tokens should be [1, 65536]", "type": "invalid"}}),
    "F7": Answer(400, {"error": {"message": "Prefill memory guard rejected this prompt: reduce context length."}}),
    "F8": Answer(400, {"error": {"message": "Error"}}),
    "F9 rate limit": Answer(429, {"error": {"message": "slow down"}}),
    "F9 500": Answer(500, {"error": {"message": "out of order"}}),
    "F9 503": Answer(503, {"error": {"message": "come back later"}}),
    "F9 timeout": Answer(delay=0.5),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("row", UNTOUCHED)
def test_f6_to_f9_come_out_as_they_are(client: str, row: str) -> None:
    messages = chat(10)
    patience = 0.2 if "timeout" in row else 10
    with serving(UNTOUCHED[row]) as server, host(client, server.url, timeout=patience) as program:
        error = raised(program.ask, messages)
        assert len(server.requests) == 1
        assert server.requests[0].body["messages"][-1] == messages[-1]
        assert program.events == []
        assert program.session.state.count == 0
        assert program.session.check(messages).variables["context_length"] == 128_000
        if client.startswith("litellm"):
            assert_as_litellm_raises(error, server, messages, patience)
        else:
            assert error is program.raised[0]


def assert_as_litellm_raises(error: Exception, server: ProviderServer, messages: list[Raw], timeout: float) -> None:
    import litellm

    call: Raw = {"model": "openai/m", "messages": messages, "api_base": f"{server.url}/v1", "api_key": "k"}
    direct = raised(litellm.completion, **call, max_retries=0, timeout=timeout)
    assert type(error) is type(direct)
    assert not isinstance(error, CannotFit)
    if "Timeout" not in type(error).__name__:  # there litellm states the seconds that it took
        assert str(error) == str(direct)


@pytest.mark.parametrize("client", ["litellm", "openai", "openai async", "openai by hand"])
def test_a_policy_can_tell_of_an_error_that_nobody_knows(client: str) -> None:
    def refuse(prompt: int, window: int) -> Answer:
        return Answer(422, {"error": {"message": f"Too much of it, no more than {window} go in here"}})

    provider, messages = Window(5_000, refuse), chat(15)
    with serving(reply=provider) as server:
        with host(client, server.url) as program, pytest.raises(Exception, match="Too much of it"):
            program.ask(messages)
        own = {
            "id": "proxy",
            "kind": "context_overflow",
            "status": [422],
            "pattern": "no more than (?P<limit>[0-9]+) go",
        }
        with host(client, server.url, overrides={"errors": [own]}) as program:
            assert program.say(messages) == "Fine."
            assert program.session.check(messages).variables["context_length"] == 5_000
    assert (provider.refused, len(provider.prompts)) == (2, 3)


@pytest.mark.parametrize("client", OPENAI)
def test_e3_reported_zeros_are_no_figure(client: str) -> None:
    known = {"window.context_length": 8_000}
    messages = [system("You help.")]
    with serving(openai_answer(prompt_tokens=0)) as server, host(client, server.url, overrides=known) as program:
        for turn in range(14):
            messages.append(user(f"Ask {turn}. {filler(2_000)}"))
            messages.append(assistant(program.say(messages)))
            now = program.session.check(messages).variables
            assert now["reported_tokens"] == 0
            assert now["tokens"] == now["estimated_tokens"]
        assert program.session.state.learned == {}
    assert EventKind.COMPACTED in program.kinds, "the estimate decides"
    assert max(sizes(server)) < 8_000 * 6


@pytest.mark.parametrize("client", CLIENTS)
def test_e5_the_providers_figure_wins_and_scales_the_estimate(client: str) -> None:
    messages = chat(20)
    answer = anthropic_answer if client.startswith("anthropic") else openai_answer
    with serving(reply=lambda request: answer(prompt_tokens=5_000)) as server, host(client, server.url) as program:
        added = assistant(filler(4_000))
        longer = checked(program, client, [*messages, added])["tokens"]
        before = checked(program, client, messages)["tokens"]
        assert before > 7_000
        program.ask(messages)
        after = checked(program, client, messages)
        assert (after["reported_tokens"], after["tokens"]) == (5_000, 5_000)
        grown = checked(program, client, [*messages, added])
        assert grown["tokens"] == grown["estimated_tokens"] == pytest.approx(longer * 5_000 / before, abs=2)


def checked(program: Host, client: str, messages: list[Any]) -> Raw:
    return dict(program.session.check(**_shaped(client.partition(" ")[0], messages)).variables)


@pytest.mark.parametrize("client", OPENAI)
def test_e4_a_report_from_before_a_compaction_is_ignored(client: str) -> None:
    reports = iter([15_000, 0, 0])
    messages = chat(20)
    with (
        serving(reply=lambda request: openai_answer(prompt_tokens=next(reports))) as server,
        host(client, server.url, overrides={"window.context_length": 24_000}) as program,
    ):
        program.ask(messages)
        assert program.kinds == []
        for _ in range(2):
            messages += [assistant("Yes."), user("Go on.")]
            program.ask(messages)
            now = program.session.check(messages)
            assert now.variables["reported_tokens"] == 0
            assert not now.due
    assert [summaries(request) for request in server.requests] == [0, 1, 1]
    assert program.kinds == [EventKind.COMPACTING, EventKind.COMPACTED]


def test_another_model_begins_with_nothing_known_of_it() -> None:
    provider, messages = Window(6_000, stated, ratio=1.5), chat(14)
    with serving(reply=provider) as server, openai.OpenAI(api_key="k", base_url=f"{server.url}/v1") as client:
        guard = Session(complete=client.chat.completions.create, overrides={"counter": "estimate"}, environ={})
        guard.completion(model="small", messages=messages)
        small = guard.check(messages, model="small").variables
        large = guard.check(messages, model="large").variables
        again = guard.check(messages, model="small").variables
    assert small["reported_tokens"] == provider.prompts[-1]
    assert (large["reported_tokens"], large["context_length"]) == (0, 128_000)
    assert large["tokens"] < small["tokens"]
    assert again["context_length"] == 6_000, "what was learnt of a model stays"


@pytest.mark.parametrize("client", OPENAI)
def test_e11_every_call_of_a_tool_loop_is_checked(client: str) -> None:
    asked = iter(range(31))

    def reply(request: Received) -> Answer:
        answer = provider(request)
        if answer.status != 200:
            return answer
        number = next(asked)
        calls = [call(f"call_{number}", "read_file", {"path": f"src/{number}.py"})] if number < 30 else None
        finish = "tool_calls" if calls else "stop"
        more = {"tool_calls": calls} if calls else {}
        return openai_answer("Reading." if calls else "Done.", finish, prompt_tokens=provider.prompts[-1], **more)

    provider = Window(32_000, stated)
    known = {"window.context_length": 32_000, "threshold": 0.8}
    messages: list[Any] = [system("You help."), user(f"Read it all. {filler(66_000)}")]
    with serving(reply=reply) as server, host(client, server.url, overrides=known) as program:
        while True:
            message = program.ask(messages).choices[0].message
            messages.append(message)  # an object of the client
            if not message.tool_calls:
                break
            messages += [result(wanted.id, filler(4_200)) for wanted in message.tool_calls]
    assert message.content == "Done."
    assert len(messages) == 2 + 30 * 2 + 1
    assert provider.prompts[0] > 16_500
    assert sum(map(len, map(str, messages))) / 4 > 48_000
    assert len(provider.prompts) == 31
    assert max(provider.prompts) <= 32_000
    assert EventKind.COMPACTED in program.kinds
    ask = json.dumps(messages[1]["content"])
    assert all(ask in json.dumps(request.body["messages"]) for request in server.requests)


def summarized_by(server: ProviderServer, **more: Any) -> Raw:
    summary = {"summarizers": ["litellm"], "model": "openai/s", "options": {"api_base": f"{server.url}/v1"}, **more}
    return {f"summary.{key}": value for key, value in summary.items()}


class Clock:
    """A clock that is set by hand."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


DUE = {"window.context_length": 24_000, "threshold": 0.3}
"""Above the threshold and below the window: a compaction is due, and can wait."""


@pytest.mark.parametrize("client", ["litellm", "litellm async", "openai", "openai by hand"])
def test_d16_abort_sends_the_input_and_tries_again_after_the_cooldown(client: str) -> None:
    clock, messages, provider = Clock(), chat(20), Window(24_000, stated)
    with (
        serving(Answer(503, {"error": {"message": "no route"}}), openai_answer(SUMMARY)) as model,
        serving(reply=provider) as server,
    ):
        overrides = {**DUE, **summarized_by(model, on_failure="abort"), "summary.cooldown.network": 30}
        with host(client, server.url, overrides=overrides, clock=clock) as program:
            for turn in range(4):
                assert program.say(messages) == "Fine."
                assert server.requests[-1].body["messages"] == messages, "the input comes back"
                messages += [assistant("Fine."), user(f"Go on, {turn}.")]
                clock.now += 5
            assert len(model.requests) == 1, "it cools down"
            assert sum("no route" in event.message for event in program.events) == 1
            assert set(program.kinds) == {EventKind.COMPACTING, EventKind.FAILED}
            clock.now += 30
            assert program.say(messages) == "Fine."
    assert len(model.requests) == 2
    assert summaries(server.requests[-1]) == 1
    assert "Ship it." in json.dumps(server.requests[-1].body)
    assert program.kinds[-1] is EventKind.COMPACTED


@pytest.mark.parametrize("client", ["litellm", "openai async"])
@pytest.mark.parametrize("cause", ["401", "no key"])
def test_d17_a_key_that_is_missing_is_said_once_and_not_tried_on_every_turn(
    client: str, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, messages = Clock(), chat(20)
    refused = Answer(401, {"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}})
    with serving(refused) as model, serving(reply=Window(24_000, stated)) as server:
        summary = summarized_by(model, on_failure="abort")
        if cause == "no key":
            monkeypatch.setenv("OPENAI_API_BASE", f"{model.url}/v1")
            summary["summary.options"] = {}
        with host(client, server.url, overrides={**DUE, **summary}, clock=clock) as program:
            for _ in range(12):
                assert program.say(messages) == "Fine."
                messages += [assistant("Fine."), user("Go on.")]
                clock.now += 3_600
            assert len(model.requests) == (1 if cause == "401" else 0)
            told = [event.message for event in program.events if event.kind is EventKind.FAILED]
            assert sum("key" in message.lower() for message in told) == 1
            clock.now += 86_400
            program.ask(messages)
            assert len(model.requests) == (2 if cause == "401" else 0)


def test_d16_a_cooldown_is_not_told_of_on_every_call() -> None:
    clock, messages = Clock(), chat(20)
    down = Answer(503, {"error": {"message": "no route"}})
    with serving(down) as model, serving(reply=Window(24_000, stated)) as server:
        overrides = {**DUE, **summarized_by(model, on_failure="abort")}
        with host("openai", server.url, overrides=overrides, clock=clock) as program:
            for _ in range(5):
                program.ask(messages)
                messages += [assistant("Fine."), user("Go on.")]
                clock.now += 5
    assert program.kinds == [EventKind.COMPACTING, EventKind.FAILED]


@pytest.mark.parametrize("client", ["litellm", "litellm async", "openai", "openai by hand"])
def test_d16_a_proven_overflow_passes_a_cooldown_once(client: str) -> None:
    clock, messages = Clock(), chat(25)
    provider = Window(24_000, unstated)
    down, fine = Answer(503, {"error": {"message": "no route"}}), openai_answer(SUMMARY)
    with serving(down, down, fine) as model, serving(reply=provider) as server:
        overrides = {**summarized_by(model, on_failure="abort"), "window.unknown_model": 20_000, "threshold": 0.4}
        with host(client, server.url, overrides=overrides, clock=clock) as program:
            assert program.say(messages) == "Fine."
            assert len(model.requests) == 1
            provider.tokens = 5_000
            with pytest.raises(CannotFit) as caught:
                program.ask([*messages, assistant("Fine."), user("Go on.")])
            assert len(model.requests) == 2, "asked in spite of the cooldown, and once"
            assert caught.value.__cause__ is not None
            assert program.say([*messages, assistant("Fine."), user("Go on.")]) == "Fine."
            assert len(model.requests) == 3
    assert summaries(server.requests[-1]) == 1


def test_d16_attempts_after_the_first_keep_to_the_cooldown() -> None:
    provider = Window(0, unstated)
    with (
        serving(Answer(503, {"error": {"message": "no route"}})) as model,
        serving(reply=provider) as server,
        host("openai", server.url, overrides=summarized_by(model, on_failure="static"), clock=Clock()) as program,
        pytest.raises(CannotFit),
    ):
        program.ask(chat(50, 2_000))
    assert len(model.requests) == 1
    assert program.kinds.count(EventKind.NO_SUMMARY) > 1


def test_a_manual_compaction_is_what_the_next_call_goes_on_from() -> None:
    messages = chat(20)
    with serving(openai_answer()) as server, host("openai", server.url, overrides=DUE) as program:
        done = program.session.compact(messages)
        assert done.outcome is Outcome.COMPACTED
        program.ask(messages)
    assert server.requests[0].body["messages"] == list(done.messages)


def test_a_client_that_is_no_client_of_a_model_is_guarded_too() -> None:
    """Any function of that shape: httpx raises its own exceptions."""

    def complete(**arguments: Any) -> Any:
        return httpx.post(f"{server.url}/v1/chat/completions", json=arguments).raise_for_status()

    provider = Window(5_000, stated)
    with serving(reply=provider) as server:
        guard = Session(complete=complete, overrides={"counter": "estimate"}, environ={})
        assert guard.completion(model="m", messages=chat(15)).status_code == 200
    assert (provider.refused, len(provider.prompts)) == (1, 2)
