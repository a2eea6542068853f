"""A session follows its host's messages, however the host keeps them."""

import copy
import json
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from compactor import CompactionState, InputError, Outcome, Session
from compactor.testing import ScriptedSummarizer, assistant, filler, result, rounds, system, user

Raw = dict[str, Any]
GOOD = "## Goal\nShip it."
TAG = "[CONTEXT COMPACTION]"
WINDOW = {"window.context_length": 8_000, "counter": "estimate"}


def session(reply: Any = GOOD, **overrides: Any) -> Session:
    scripted = ScriptedSummarizer(reply if isinstance(reply, list) else [reply])
    return Session("default", overrides={**WINDOW, **overrides}, summarizer=scripted, environ={})


def long(turns: int = 20, chars: int = 2_000) -> list[Raw]:
    said = [[user(f"Ask {turn}. {filler(chars)}"), assistant(filler(chars))] for turn in range(turns)]
    return [system("You help."), *(message for turn in said for message in turn), user("And now?")]


def text(messages: Any) -> str:
    return json.dumps(list(messages), ensure_ascii=False)


def summaries(messages: Any) -> int:
    return sum(TAG in str(message["content"]) for message in messages)


def test_nothing_due_hands_out_the_very_messages() -> None:
    messages = [system("You help."), user("Hello.")]
    sent = session().before_call(messages)
    assert all(one is other for one, other in zip(sent.messages, messages, strict=True))
    assert sent.result is None
    assert not sent.decision.due


@pytest.mark.parametrize("handed_back", [False, True], ids=["own list", "handed back"])
@pytest.mark.parametrize("copied", [False, True], ids=["objects", "copies"])
def test_a_host_may_go_on_with_its_list_or_with_what_it_was_handed(handed_back: bool, copied: bool) -> None:
    host, guard = long(), session()
    before = copy.deepcopy(host)
    sent = guard.before_call(host)
    assert sent.result is not None
    assert sent.result.outcome is Outcome.COMPACTED
    assert host == before
    if handed_back:
        host = list(sent.messages)
    for turn in range(5):
        if copied:
            host = json.loads(json.dumps(host))
        host += [assistant(f"Answer {turn}."), user(f"Next {turn}.")]
        again = guard.before_call(host)
        assert again.result is None, "it was compacted already"
        assert list(again.messages) == [*sent.messages, *host[-2 * (turn + 1) :]]
    assert guard.state.count == 1


def test_both_ways_come_to_the_same() -> None:
    outgoing = []
    for handed_back in (False, True):
        host, guard = long(), session()
        for turn in range(40):
            sent = guard.before_call(host)
            host = list(sent.messages) if handed_back else host
            host += [assistant(f"Answer {turn}. {filler(900)}"), user(f"Next {turn}.")]
        outgoing.append(list(guard.before_call(host).messages))
        assert guard.state.count > 1
    assert outgoing[0] == outgoing[1]
    assert summaries(outgoing[0]) == 1


def test_a_system_prompt_that_is_written_anew_for_each_call_is_no_new_conversation() -> None:
    host, guard = long(), session()
    guard.before_call(host)
    for minute in range(3):
        host[0] = system(f"You help. It is 12:0{minute}.")
        host += [assistant("Fine."), user("Go on.")]
        sent = guard.before_call(host)
        assert sent.result is None
        assert summaries(sent.messages) == 1
        assert sent.messages[0]["content"].startswith(f"You help. It is 12:0{minute}.")
        assert sent.messages[0]["content"].count("[compactor v1 note]") == 1
    assert guard.state.count == 1


def test_a_system_prompt_given_apart_keeps_its_note() -> None:
    host, guard = long()[1:], session()
    first = guard.before_call(host, system="You help.")
    again = guard.before_call(host, system="You help.")
    changed = guard.before_call(host, system="You help. It is Monday.")
    assert first.system == again.system
    assert first.system.startswith("You help.\n\n")
    assert changed.system.startswith("You help. It is Monday.\n\n")
    assert changed.system.count("[compactor v1 note]") == 1
    assert summaries(changed.messages) == 1
    assert guard.state.count == 1


def test_messages_taken_back_after_a_compaction_are_gone() -> None:
    host, guard = long(), session()
    guard.before_call(host)
    host += [assistant("First answer."), user("Again, please.")]
    guard.before_call(host)
    del host[-2:]
    host += [assistant("Second answer.")]
    sent = guard.before_call(host)
    assert "First answer." not in text(sent.messages)
    assert sent.messages[-1] is host[-1]
    assert summaries(sent.messages) == 1


def test_going_back_behind_a_compaction_starts_from_the_full_list() -> None:
    host, guard = long(), session()
    guard.before_call(host)
    shorter = host[:4]
    sent = guard.before_call(shorter)
    assert list(sent.messages) == shorter
    assert guard.state.summary is None


def test_another_conversation_has_nothing_of_the_first() -> None:
    guard = session("## Goal\nThe secret plan.")
    guard.before_call(long())
    other = [message if number else system("Other.") for number, message in enumerate(long(21))]
    other[1] = user("Something else entirely.")
    sent = guard.before_call(other)
    assert sent.result is not None
    assert guard.state.count == 1
    requests = [user("Hello, you.")]
    assert list(guard.before_call(requests).messages) == requests


def test_the_newest_message_may_still_be_written_to() -> None:
    host: list[Raw] = [user("Hello."), {"role": "assistant", "content": ""}]
    guard = session()
    before = guard.check(host).variables["tokens"]
    host[-1]["content"] = filler(4_000)
    host.append(user("And?"))
    assert guard.check(host).variables["tokens"] > before + 500


def test_a_message_changed_in_place_is_seen_when_it_matters() -> None:
    host, guard = long(2), session()
    assert not guard.check(host).due
    host[1]["content"] = filler(20_000)  # nobody can see that without looking at every message
    host.append(assistant(filler(8_000)))
    host.append(user(filler(8_000)))
    sent = guard.before_call(host)
    assert sent.result is not None
    assert sent.result.report.tokens_before > 7_000


class ClientMessage(BaseModel):
    """As clients return messages: an object of their own."""

    role: str
    content: str | None = None
    refusal: str | None = None


def test_messages_that_are_objects_of_a_client_are_read() -> None:
    guard = session()
    host: list[Any] = [user("Hello."), ClientMessage(role="assistant", content="Hi."), user("And?")]
    sent = guard.before_call(host)
    assert list(sent.messages) == [user("Hello."), {"role": "assistant", "content": "Hi."}, user("And?")]
    host += [ClientMessage(role="assistant", content=filler(30_000)), user("Go on.")]
    assert guard.before_call(host).result is not None


@pytest.mark.parametrize("wrong", ["Hello.", [1, 2], ["Hello."], [{"content": "no role"}], [user("a"), None]])
def test_what_is_no_conversation_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError):
        session().before_call(wrong)
    guard = session()
    host: list[Any] = [user("Hello.")]
    guard.before_call(host)
    if isinstance(wrong, list):
        with pytest.raises(InputError):
            guard.before_call([*host, *wrong, 5])
    assert list(guard.before_call(host).messages) == host


def test_a_session_goes_on_from_a_state_and_what_was_sent() -> None:
    host, first = long(), session()
    sent = first.before_call(host)
    state = CompactionState.from_dict(json.loads(json.dumps(first.state.to_dict())))
    scripted = ScriptedSummarizer([GOOD])
    second = Session("default", overrides=WINDOW, summarizer=scripted, environ={}, state=state)
    host = [*sent.messages, assistant("Yes."), user("Go on.")]
    assert second.before_call(host).result is None
    assert second.state.count == 1
    host += [message for number in range(8) for message in (assistant(filler(3_000)), user(f"More {number}."))]
    again = second.before_call(host)
    assert again.result is not None
    assert second.state.count == 2
    assert scripted.requests[0].previous is not None
    assert summaries(again.messages) == 1


def test_messages_that_arrive_while_the_summariser_runs_survive() -> None:
    host = long()

    def summarize(request: Any) -> str:
        host.append(user("Wait, one more thing."))
        return GOOD

    guard = Session("default", overrides=WINDOW, summarizer=summarize, environ={})
    sent = guard.before_call(host)
    assert sent.messages[-1] == user("Wait, one more thing.")
    place = next(number for number, message in enumerate(sent.messages) if summaries([message]))
    assert place < len(sent.messages) - 1
    host += [assistant("Yes?"), user("Never mind.")]
    assert list(guard.before_call(host).messages[-3:]) == host[-3:]


def test_tools_and_the_system_prompt_count() -> None:
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "description": filler(900)}} for n in range(20)]
    guard = session()
    host = [user("Hello.")]
    bare = guard.check(host).variables["tokens"]
    loaded = guard.check(host, tools=tools).variables["tokens"]
    assert loaded > bare + 3_000
    assert guard.check(host, system=filler(4_000)).variables["tokens"] > bare + 500
    assert guard.check(host).variables["tokens"] == bare


def test_the_moment_is_read_off_the_conversation() -> None:
    triggers = [
        {"name": "first", "at": "turn_start", "when": "tokens > 0"},
        {"name": "later", "at": "tool_results", "when": "tokens > 0"},
    ]
    guard = session(triggers=triggers)
    asked = [user("Read it."), *rounds(1)]
    assert guard.check(asked[:1]).rule == "first"
    assert guard.check(asked).rule == "later"
    assert guard.check([*asked, assistant("Done."), user("Thanks.")]).rule == "first"
    assert guard.check([*asked[:-1], result("call_0", "x"), user("Stop.")]).rule == "first"


def test_a_host_that_is_no_list_is_read_too() -> None:
    assert list(session().before_call((user("Hello."),)).messages) == [user("Hello.")]
    with pytest.raises(InputError):
        session().before_call(SimpleNamespace())
