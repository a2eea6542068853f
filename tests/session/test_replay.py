"""Real transcripts, lived as an agent lives them: message by message, with a look before every call of the model."""

import json
import logging
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from compactor import CannotFit, Compactor, Outgoing, Session
from compactor.extension.protocols import AdditiveCounter
from compactor.messages.formats.openai_chat import OpenAIChat
from compactor.testing import filler, rounds, system, user
from compactor.tokens.per_text import TextCounter
from compactor.tokens.rough import Rough

from ..laws import rules

Raw = dict[str, Any]
Record = Callable[[str, object], None]

CORPUS = Path(os.environ.get("COMPACTOR_TEST_CORPUS", Path(__file__).parents[2].parent / "shared" / "corpus" / "dev"))
FILES = sorted((CORPUS / "chat").glob("*.json"))
LARGE = [path for path in FILES if path.stat().st_size > 60_000]
BOTH_WAYS = FILES[::3]
"""Transcripts that are lived by two agents at once, to keep the time short."""

MODEL = "gpt-4o"

no_files = f"no real transcripts: {CORPUS.name}/chat is not beside the project"
real_sessions = pytest.mark.skipif(not FILES, reason=no_files)
every_session = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
every_policy = pytest.mark.parametrize("policy", ["default", "hermes"])


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "compactor")


class Refused(Exception):
    """What an OpenAI-compatible client raises."""

    status_code = 400


class Meter:
    """Counts requests by a policy's counter, without any session. It holds what it weighed: no id comes twice."""

    def __init__(self, policy: str) -> None:
        ready = Compactor(policy, model=MODEL, environ={}).prepared
        assert isinstance(ready.counter, AdditiveCounter)
        self._counter, self._format = ready.counter, ready.formats[0]
        self._weighed: dict[int, tuple[Raw, int]] = {}

    def __call__(self, messages: Sequence[Raw], tools: Sequence[Raw] = ()) -> int:
        weight = sum(map(self._weight, messages)) + self._counter.weigh_tools(tools)
        return self._counter.tokens_of(weight, len(messages))

    def _weight(self, message: Raw) -> int:
        if id(message) not in self._weighed:
            self._weighed[id(message)] = message, self._counter.weigh(self._format.parse(message, 0))
        return self._weighed[id(message)][1]


@dataclass
class Provider:
    """Takes requests of up to ``window`` tokens, and counts ``ratio`` for each token of the policy's counter."""

    meter: Meter
    window: int
    ratio: float
    refusals: int = 0

    def tokens(self, messages: Sequence[Raw], tools: Sequence[Raw]) -> int:
        return math.ceil(self.meter(messages, tools) * self.ratio)

    def answer(self, messages: Sequence[Raw], tools: Sequence[Raw]) -> dict[str, int]:
        """The usage of an answer. Raises ``Refused``."""
        tokens = self.tokens(messages, tools)
        if tokens > self.window:
            self.refusals += 1
            raise Refused(
                f"This model's maximum context length is {self.window} tokens. "
                f"However, your messages resulted in {tokens} tokens."
            )
        return {"prompt_tokens": tokens, "completion_tokens": 1}


@dataclass
class Agent:
    """An agent: its list of messages, its session, and what was sent in its name.

    With ``handed_back`` it goes on with what the session hands it, else with a list of its own. With ``reports`` the
    session is told what the provider counted.
    """

    session: Session
    provider: Provider
    tools: Sequence[Raw]
    handed_back: bool = False
    reports: bool = False
    host: list[Raw] = field(default_factory=list)
    sent: list[Raw] = field(default_factory=list)
    known: int = 0
    calls: int = 0
    compactions: int = 0

    def call(self) -> None:
        """A call of the model, made again as long as it is refused. Raises ``CannotFit``."""
        given, before = [*self.sent, *self.host[self.known :]], list(self.host)
        outgoing = self._prepared(given, lambda: self.session.before_call(self.host, tools=self.tools))
        while True:
            try:
                usage = self.provider.answer(outgoing.messages, self.tools)
                break
            except Refused as refusal:
                given, error = list(outgoing.messages), refusal
            outgoing = self._prepared(given, lambda: self.session.on_error(error))  # noqa: B023
        assert same(self.host, before), "the host's list was changed"
        self.calls += 1
        if self.reports:
            self.session.note_usage(usage)
        self.sent = list(outgoing.messages)
        if self.handed_back:
            self.host = list(outgoing.messages)
        self.known = len(self.host)

    def _prepared(self, given: list[Raw], prepare: Callable[[], Outgoing]) -> Outgoing:
        """What is sent in place of ``given``: that itself, or a compaction of it of which everything holds."""
        try:
            outgoing = prepare()
        except CannotFit as error:
            self._assert_true(error, given)
            raise
        messages, result = list(outgoing.messages), outgoing.result
        if result is None or not result.changed:
            assert same(messages, given), "no compaction, and yet it is not what was there"
            return outgoing
        self.compactions += 1
        assert_laws(given, messages)
        assert_newest(given, messages)
        ratio = self.session.state.about(MODEL).ratio
        assert result.report.tokens_before == math.ceil(self.provider.meter(given, self.tools) * ratio)
        return outgoing

    def _assert_true(self, error: CannotFit, given: list[Raw]) -> None:
        assert self.provider.tokens(given, self.tools) > self.provider.window, f"it fits as it is: {error}"
        assert error.largest


def live(messages: Sequence[Raw], *agents: Agent) -> None:
    """Lives through a transcript; all agents have to send the same."""
    for message in messages:
        if message["role"] == "assistant" and agents[0].host:
            for agent in agents:
                agent.call()
                assert agent.sent == agents[0].sent
        for agent in agents:
            agent.host.append(message)


def same(messages: Sequence[Raw], others: Sequence[Raw]) -> bool:
    """Whether two lists hold the very same objects."""
    return list(map(id, messages)) == list(map(id, others))


def rounds_of(messages: Sequence[Raw]) -> list[list[Raw]]:
    """The messages, each with the tool results that follow it."""
    found: list[list[Raw]] = []
    for message in messages:
        if message["role"] == "tool" and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def assert_newest(given: list[Raw], messages: list[Raw]) -> None:
    """The messages that the model has not answered yet are the very ones that came, or cut to fit the window."""
    kept = set(map(id, messages))
    results = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    for message in rounds_of(given)[-1]:
        assert id(message) in kept or "cut to fit the window" in str(results[message["tool_call_id"]])


def assert_laws(given: list[Raw], messages: list[Raw]) -> None:
    """All laws. A message that a summary had joined is one of its own again, and new, when that summary moves on."""
    own = [[text for text in rules.texts(message) if not rules.is_ours(text)] for message in given]
    joined = [rest for message, rest in zip(given, own, strict=True) if rest != rules.texts(message)]
    freed = [message for message in messages if message["role"] == "user" and rules.texts(message) in joined]
    rules.assert_pairs(messages)
    rules.assert_opening(given, messages)
    rules.assert_summary_fits_in(given, messages)
    rules.assert_newest_user(given, messages)
    rules.assert_system(given, messages)
    rules.assert_untouched([*given, *freed], messages)


@cache
def transcript(path: Path) -> tuple[list[Raw], list[Raw]]:
    """Messages and tools. Read once: no life changes them, as ``same`` and the laws make sure."""
    document = json.loads(path.read_text("utf-8"))
    return document["messages"], document.get("tools") or []


@cache
def meter(policy: str) -> Meter:
    return Meter(policy)


def agent_for(
    path: Path,
    policy: str,
    window: int,
    *,
    believed: float = 1,
    ratio: float = 1,
    shrink: bool | None = None,
    **options: bool,
) -> Agent:
    """An agent whose provider takes ``window`` of the counter's tokens; it believes in ``believed`` times as many."""
    takes = math.ceil(window * ratio)
    overrides: Raw = {"window.context_length": int(takes * believed), "summary.summarizers": ["extractive"]}
    if shrink is not None:
        overrides["boundaries.shrink_to_fit"] = shrink
    session = Session(policy, model=MODEL, overrides=overrides, environ={})
    return Agent(session, Provider(meter(policy), takes, ratio), transcript(path)[1], **options)


def largest(path: Path, policy: str) -> int:
    """The tokens of the largest message with the results that belong to it."""
    return max(map(meter(policy), rounds_of(transcript(path)[0])))


def half(path: Path, policy: str) -> int:
    """A window that matters: half of the whole transcript, if four of its largest rounds fit."""
    return max(meter(policy)(*transcript(path)) // 2, 4 * largest(path, policy), 8_000)


def calls(messages: Sequence[Raw]) -> list[int]:
    """The places of the model's answers: what stands before each is what it is asked with."""
    return [place for place, message in enumerate(messages) if message["role"] == "assistant"]


def last_request(path: Path, policy: str) -> int:
    """What the last call costs where nothing is ever compacted."""
    messages, tools = transcript(path)
    return meter(policy)(messages[: calls(messages)[-1]], tools)


def too_small(path: Path) -> int:
    """A window that some message, which the model has to answer, does not fit."""
    messages, _ = transcript(path)
    return max(meter("default")(messages[place - 1 : place]) for place in calls(messages) if place) * 3 // 4


def record(note: Record, *agents: Agent) -> None:
    for name in ("calls", "compactions"):
        note(name, [getattr(agent, name) for agent in agents])
    note("refusals", [agent.provider.refusals for agent in agents])


@real_sessions
@every_policy
@every_session
def test_never_above_the_window_and_the_same_in_both_ways(path: Path, policy: str, record_property: Record) -> None:
    ways = (False, True) if path in BOTH_WAYS else (False,)
    agents = [agent_for(path, policy, half(path, policy), handed_back=handed_back) for handed_back in ways]
    live(transcript(path)[0], *agents)
    record(record_property, *agents)
    for agent in agents:
        # hermes, as its reference, does not look at the tokens of few messages: there the provider has to tell.
        assert agent.provider.refusals <= (0 if policy == "default" else 1)
        assert agent.session.state.count <= agent.compactions
        assert agent.compactions or last_request(path, policy) <= agent.provider.window


@real_sessions
@every_policy
@every_session
def test_a_provider_with_another_tokenizer_and_a_smaller_window(
    path: Path, policy: str, record_property: Record
) -> None:
    window = half(path, policy)
    handed_back = FILES.index(path) % 2 == 1
    agent = agent_for(path, policy, window, believed=3, ratio=1.3, reports=True, handed_back=handed_back)
    live(transcript(path)[0], agent)
    record(record_property, agent)
    assert agent.provider.refusals <= 2
    assert bool(agent.provider.refusals) == (last_request(path, policy) > window)


@real_sessions
@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_results_too_large_for_the_window_are_cut_to_their_ends(path: Path, record_property: Record) -> None:
    """The window is smaller than a message that the model has to answer; only what a user says is never cut."""
    messages, _ = transcript(path)
    window = too_small(path)
    agent = agent_for(path, "default", window)
    try:
        live(messages, agent)
    except CannotFit:
        said = [meter("default")([message]) for message in agent.host if message["role"] != "tool"]
        assert max(said) > window // 4
    record(record_property, agent)
    assert agent.provider.refusals == 0


@real_sessions
@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_what_cannot_fit_is_never_sent(path: Path) -> None:
    """As above, for a policy that cuts nothing that stays."""
    messages, _ = transcript(path)
    window = too_small(path)
    agent = agent_for(path, "default", window, shrink=False)
    with pytest.raises(CannotFit) as raised:
        live(messages, agent)
    assert agent.provider.refusals == 0, "it was sent nevertheless"
    assert f"window of {window:,}" in str(raised.value)


def events(call: Callable[[], object]) -> int:
    """The lines that Python runs, and the functions that it calls, its own and those in C, during ``call``."""
    count = 0

    def traced(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event in ("call", "line")
        return traced

    def profiled(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "c_call"

    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(traced)
    sys.setprofile(profiled)
    try:
        call()
    finally:
        sys.setprofile(profiler)
        sys.settrace(tracer)
    return count


def growing(length: int) -> Iterator[Raw]:
    """A session of so many messages: requests, and tool rounds in between."""
    yield system("You are a coding agent.")
    for number in range(length // 10 + 1):
        yield user(f"Request {number}. {filler(80)}")
        yield from rounds(4, chars=120, first=number * 4)
        yield user(f"No, not that. {filler(50)}")


@pytest.mark.parametrize("call", ["check", "before_call"])
@every_policy
def test_a_check_costs_what_is_new(policy: str, call: str) -> None:
    look = getattr(Session(policy, overrides={"window.context_length": 100_000_000}, environ={}), call)
    host: list[Raw] = []
    taken = {}
    for message in growing(10_000):
        host.append(message)
        if len(host) in (100, 10_000):
            host[-1] = user(f"New at {len(host):>9}.")
            taken[len(host)] = events(lambda: look(host))
        else:
            look(host)
    assert taken[100] > 100
    assert taken[10_000] <= taken[100] * 1.2


@pytest.mark.parametrize("handed_back", [False, True], ids=["own list", "handed back"])
@every_policy
def test_copies_are_neither_read_nor_counted_again(
    policy: str, handed_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = counting(monkeypatch)
    session = Session(policy, overrides={"window.context_length": 100_000_000}, environ={})
    host = list(growing(1_000))
    session.check(host)
    assert done["parse"] >= len(host)
    assert done["weigh"] >= len(host)
    for number in range(5):
        host = json.loads(json.dumps(host))
        host.append(user(f"And {number}?"))
        done.clear()
        outgoing = session.before_call(host)
        assert 1 <= done["parse"] <= 3
        assert 1 <= done["weigh"] <= 3
        if handed_back:
            host = list(outgoing.messages)


def counting(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often messages are parsed and weighed from now on."""
    done: Counter[str] = Counter()
    for owner, name in ((OpenAIChat, "parse"), (TextCounter, "weigh"), (Rough, "weigh")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name), done))
    return done


def counted(method: Callable[..., Any], done: Counter[str]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        done[method.__name__] += 1
        return method(*arguments)

    return call
