"""What plugins provide is guarded: what one does wrong is an outcome that names it, and the input is safe."""

import asyncio
import copy
import threading
import time
from typing import Any

import pytest

from compactor import Compactor, Outcome, PolicyError
from compactor.result import CompactionResult
from compactor.testing import ScriptedSummarizer

from .conftest import SESSION, Place

HEAD = """
import compactor
from typing import Any
from pydantic import BaseModel
from compactor.extension.protocols import Edit, SummaryReply
from compactor.messages.message import Message, Text, ToolResult
"""

PRUNER = (
    HEAD
    + """
class Mine(BaseModel):
    def prune(self, messages: Any, context: Any) -> Any:
        {body}

@compactor.hookimpl
def register_pruners() -> Any:
    return {{"mine": Mine}}
"""
)
COUNTER = (
    HEAD
    + """
class Mine:
    name = "mine"
    def text(self, text: str) -> Any:
        {body}
    def message(self, message: Any, *, arguments: bool = True) -> Any:
        return self.text(message.text)
    def request(self, messages: Any, tools: Any = ()) -> Any:
        return sum(map(self.message, messages))

@compactor.hookimpl
def register_counters() -> Any:
    return {{"mine": lambda model: Mine()}}
"""
)
REDACTOR = (
    HEAD
    + """
class Mine:
    def redact(self, text: str) -> Any:
        {body}

@compactor.hookimpl
def register_redactors() -> Any:
    return {{"mine": Mine}}
"""
)
SUMMARIZER = (
    HEAD
    + """
import time
def mine(request: Any) -> Any:
    {body}

@compactor.hookimpl
def register_summarizers() -> Any:
    return {{"mine": lambda settings: mine}}
"""
)
STATE = (
    HEAD
    + """
@compactor.hookimpl
def provide_state(event: Any) -> Any:
    {body}
"""
)


def run(place: Place, code: str, body: str, *, scripted: Any = None, **policy: Any) -> CompactionResult:
    plugin = place.write("mine", code.format(body=body))
    session = copy.deepcopy(SESSION)
    compactor = place.compactor(plugin, summarizer=scripted, **policy)
    done = compactor.compact(session, force=True)
    assert session == SESSION, "the input was changed"
    return done


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return [Edit(9999, (), 'r')]", "no edit of one of the messages"),
        ("return [Edit(-1, (), 'r')]", "no edit of one of the messages"),
        ("return [Edit('a', (), 'r')]", "no edit of one of the messages"),
        ("return ['nonsense']", "no edit of one of the messages"),
        ("return [Edit(1, 'hello', 'r')]", "parts for message 1 that are none"),
        ("return [Edit(1, (Text(None),), 'r')]", "a text for message 1 that is none"),
        ("return [Edit(3, (ToolResult(('zzz',), ()),), 'r')]", "changed the tool calls or results of message 3"),
        ("return [Edit(2, (Text('x'),), 'r')]", "changed the tool calls or results of message 2"),
        ("raise SystemExit(3)", "SystemExit"),
        ("return 5", "TypeError"),
    ],
)
def test_a_pruner_that_does_wrong(place: Place, body: str, words: str) -> None:
    done = run(place, PRUNER, body, pruning=[{"use": "mine"}])
    assert done.outcome is Outcome.FAILED
    assert "pruner 'mine'" in done.reason
    assert words in done.reason
    assert list(done.messages) == SESSION


def test_a_pruner_cannot_reach_the_callers_messages(place: Place) -> None:
    body = "[m.raw.__setitem__('content', 'MUT') for m in messages]; return []"
    done = run(place, PRUNER, body, pruning=[{"use": "mine"}])
    assert done.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "body",
    [
        "return -1",
        "return 1.5",
        "return None",
        "return 10 ** 400",
        "return True",
        "raise ValueError",
        "raise SystemExit",
    ],
)
def test_a_counter_that_does_wrong(place: Place, body: str) -> None:
    done = run(place, COUNTER, body, counter="mine")
    assert done.outcome is Outcome.FAILED
    assert "counter 'mine'" in done.reason


@pytest.mark.parametrize(
    "body",
    ["return None, {}", "return 5, {}", "return b'', {}", "return text", "return text, {'a': 'b'}", "raise SystemExit"],
)
def test_a_redactor_that_does_wrong_lets_nothing_out(place: Place, body: str) -> None:
    scripted = ScriptedSummarizer(["## Goal\nGo on."])
    done = run(place, REDACTOR, body, scripted=scripted, redaction={"redactors": ["mine"]})
    assert done.outcome is Outcome.FAILED
    assert "redactor 'mine'" in done.reason
    assert scripted.requests == []


def test_a_redactors_error_does_not_quote_the_secret(place: Place) -> None:
    done = run(place, REDACTOR, "raise ValueError('cannot: ' + text)", redaction={"redactors": ["mine"]})
    assert done.reason == "redactor 'mine' failed: ValueError"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("time.sleep(30)", "no answer within 0.3 s"),
        ("raise SystemExit(4)", "SystemExit: 4"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return 7", "returned int"),
        ("return SummaryReply(None)", "a reply of NoneType"),
        ("return 'x' * 60_000_000", "far longer than what it replaces"),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_plugins_summarizer_that_does_wrong(place: Place, body: str, words: str, asynchronous: bool) -> None:
    plugin = place.write("mine", SUMMARIZER.format(body=body))
    summary = {"summarizers": ["mine", "extractive"], "timeout": 0.3}
    compactor = place.compactor(plugin, summary=summary)
    started = time.perf_counter()
    if asynchronous:
        done = asyncio.run(compactor.acompact(SESSION, force=True))
    else:
        done = compactor.compact(SESSION, force=True)
    assert done.outcome is Outcome.COMPACTED
    assert done.report.summarizer == "extractive"
    assert words in (done.report.attempts[0].failure or "")
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError])
def test_a_summarizer_of_the_caller_that_raises_what_is_no_exception(error: type[BaseException]) -> None:
    def broken(request: Any) -> str:
        raise error()

    compactor = Compactor("default", overrides={"window.context_length": 16_000}, summarizer=broken)
    for done in (compactor.compact(SESSION, force=True), asyncio.run(compactor.acompact(SESSION, force=True))):
        assert done.outcome is Outcome.COMPACTED
        assert error.__name__ in (done.report.attempts[0].failure or "")


def test_a_cancelled_compaction_is_cancelled_at_once(place: Place) -> None:
    plugin = place.write("mine", STATE.format(body="import time; time.sleep(8)"))
    compactor = place.compactor({"use": plugin, "deadline": 8})

    async def cancelled() -> float:
        task = asyncio.create_task(compactor.acompact(SESSION, force=True))
        await asyncio.sleep(0.3)
        started = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.perf_counter() - started

    assert asyncio.run(cancelled()) < 3


def test_state_that_quotes_a_summary_hides_none(place: Place) -> None:
    first = run(place, STATE, "return 'plan'", scripted=ScriptedSummarizer(["## Goal\nUNIQUE one."]))
    sealed = first.messages[first.summary_index or 0]["content"]
    quoted = repr(f"plan:\n{sealed if isinstance(sealed, str) else sealed[0]['text']}\nend")
    place.write("mine", STATE.format(body=f"return {quoted}"))
    scripted = ScriptedSummarizer(["## Goal\nUNIQUE two."])
    compactor = place.compactor("./mine.py", summarizer=scripted)
    second = compactor.compact([*first.messages, *SESSION[2:]], force=True)
    assert scripted.requests[0].previous == "## Goal\nUNIQUE one."
    third = compactor.compact([*second.messages, *SESSION[2:]], force=True)
    assert scripted.requests[1].previous == "## Goal\nUNIQUE two."
    assert third.report.compaction_count == 3


@pytest.mark.parametrize("count", [1, 6])
def test_all_state_together_leaves_room_for_the_rest(place: Place, count: int) -> None:
    code = STATE.format(body="return 'open file and to-do. ' * 2000")
    plugins = [{"use": place.write(f"state_{number}", code), "max_tokens": 4000} for number in range(count)]
    compactor = place.compactor(*plugins, summarizer=ScriptedSummarizer(["## Goal\nGo on."]))
    done = compactor.compact(SESSION, force=True)
    assert done.outcome is Outcome.COMPACTED, done.reason
    assert done.target_missed is None


@pytest.mark.parametrize("cut", ["failure", "text"])
def test_no_secret_is_cut_in_half_before_it_is_recognised(place: Place, cut: str) -> None:
    secret = "hunter2" + "secretpassword"
    url = f" postgres://u:{secret}@host/db"
    body = f"raise ValueError('x' * 471 + {url!r})" if cut == "failure" else f"return '-' * 1567 + {url!r}"
    scripted = ScriptedSummarizer(["## Goal\nGo on."])
    code = STATE.replace("provide_state", "on_pre_compress").format(body=body)
    compactor = place.compactor({"use": place.write("mine", code), "max_tokens": 100}, summarizer=scripted)
    done = compactor.compact(SESSION, force=True)
    said = f"{scripted.requests[0].prompt} {done.report.to_dict()}"
    assert secret[:10] not in said


def test_names_and_ids_are_redacted_and_stay_pairs(place: Place) -> None:
    key = "sk-ant-" + "api03-" + "a1B2c3D4" * 4
    scripted = ScriptedSummarizer(["## Goal\nGo on."])
    call = {"id": key, "type": "function", "function": {"name": key, "arguments": "{}"}}
    turn = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": key, "content": "ok"},
    ]
    odd = {"role": "user", "content": [{"type": key, "x": 1}, {"type": "text", "text": "Go."}]}
    compactor = place.compactor(summarizer=scripted)
    done = compactor.compact([*SESSION[:10], *turn, odd, *SESSION[10:]], force=True)
    assert done.outcome is Outcome.COMPACTED
    request = scripted.requests[0]
    assert key not in request.prompt
    assert key not in str(request.folded)
    place_of = next(number for number, message in enumerate(request.folded) if "redacted" in str(message.parts))
    asked, answered = request.folded[place_of : place_of + 2]
    assert asked.calls[0].ids == answered.results[0].ids


def test_each_plugin_has_an_event_of_its_own(place: Place) -> None:
    spoil = STATE.replace("provide_state", "on_pre_compress").format(
        body="object.__setattr__(event, 'messages', ()); return None"
    )
    count = STATE.replace("provide_state", "on_pre_compress").format(
        body="return f'saw {len(event.messages)} messages'"
    )
    clear = STATE.format(body="event.host.clear()")
    host = {"todos": ["x"]}
    plugins = [place.write("spoil", spoil), place.write("count", count), place.write("clear", clear)]
    place.compactor(*plugins)
    scripted = ScriptedSummarizer(["## Goal\nGo on."])
    compactor = Compactor(place.policy, environ={}, summarizer=scripted, host_state=host)
    done = compactor.compact(SESSION, force=True)
    assert done.outcome is Outcome.COMPACTED
    assert f"saw {len(SESSION)} messages" in scripted.requests[0].prompt
    assert host == {"todos": ["x"]}


NONSENSE = ["{'mine': 5}", "{1: 5}", "[1]", "(_ for _ in ()).throw(SystemExit)"]


@pytest.mark.parametrize(
    ("hook", "made"),
    [
        *(("register_pruners", made) for made in (*NONSENSE, "{'mine': int}")),
        *(("register_counters", made) for made in NONSENSE),
    ],
)
def test_nonsense_is_refused_when_it_is_registered(place: Place, made: str, hook: str) -> None:
    code = f"{HEAD}\n@compactor.hookimpl\ndef {hook}() -> Any:\n    return {made}\n"
    plugin = place.write("mine", code)
    with pytest.raises(PolicyError) as caught:
        place.compactor(plugin)
    assert "plugin 'mine' (" in str(caught.value)
    assert "policy.yaml:" in str(caught.value)


def test_plugins_are_told_how_everything_ended(place: Place) -> None:
    code = (
        HEAD
        + """
TOLD = []

@compactor.hookimpl
def on_post_compress(event: Any) -> None:
    TOLD.append(event.outcome)

@compactor.hookimpl
def on_compaction_failed(event: Any) -> None:
    TOLD.append(event.outcome)
"""
    )
    plugin = place.write("told", code)
    need = {"use": place.write("need", STATE.format(body="raise ValueError")), "required": True}
    reports = [
        place.compactor(plugin, summarizer=ScriptedSummarizer(["## Goal\nGo on."])),
        place.compactor(plugin, boundaries={"protect_first_n": 1000}),
        place.compactor(plugin, need),
        place.compactor(plugin, min_gain=0.99, window={"context_length": 100_000}),
    ]
    outcomes = []
    for compactor in reports:
        done = compactor.compact(SESSION, force=True)
        outcomes.append((str(done.outcome), [call.hook for call in done.report.plugins if call.plugin == "told"]))
    assert outcomes == [
        ("compacted", ["on_post_compress"]),
        ("pruned", ["on_post_compress"]),
        ("failed", ["on_compaction_failed"]),
        ("nothing_to_gain", ["on_compaction_failed"]),
    ]


def test_no_thread_is_left_behind_by_hooks_that_come_back(place: Place) -> None:
    before = threading.active_count()
    run(place, STATE, "return 'fine'", scripted=ScriptedSummarizer(["## Goal\nGo on."]))
    time.sleep(0.2)
    assert threading.active_count() <= before
