"""Sessions that are kept: lineage, going on, undo, rewind, several workers on one, and the tool that recalls."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from compactor import CompactionResult, EventKind, Outcome, Session, SessionEvent
from compactor.errors import StoreError
from compactor.messages.formats.document import dump_json
from compactor.session.store.records import SessionRecord
from compactor.session.store.store import Store
from compactor.testing import ScriptedSummarizer, assistant, call, filler, result, system, user

Raw = dict[str, Any]
GOOD = "## Goal\nShip it."
TAG = "[CONTEXT COMPACTION]"
TOOL = "recall_history"
WINDOW = {"window.context_length": 4_000, "counter": "estimate"}


def make(store: Any, *, summarizer: Any = None, overrides: dict[str, Any] | None = None, **options: Any) -> Session:
    options = {"model": "gpt-4o", "environ": {}, **options}
    return Session(
        "default",
        overrides={**WINDOW, **(overrides or {})},
        summarizer=summarizer or ScriptedSummarizer([GOOD]),
        store=store,
        **options,
    )


def turn(number: int, chars: int = 600) -> list[Raw]:
    return [user(f"ask {number} {filler(chars)}"), assistant(f"answer {number} {filler(chars)}")]


def conversation(turns: int = 8, chars: int = 600) -> list[Raw]:
    return [system("You help."), *(message for number in range(turns) for message in turn(number, chars))]


def talk(session: Session, turns: int = 24) -> list[Raw]:
    """What a host holds after so many turns, each of them sent; several compactions were due."""
    host = [system("You help.")]
    for number in range(turns):
        ask, answer = turn(number)
        host.append(ask)
        session.before_call(host)
        host.append(answer)
    session.save(host)
    assert session.state.count > 1
    return host


def record(store: Store, session: Session) -> SessionRecord:
    assert session.id is not None
    return store.session(session.id)


def lineage(store: Store, session: Session) -> list[SessionRecord]:
    return store.lineage(record(store, session).conversation_id)


def everything(store: Store, name: str | None) -> list[Any]:
    assert name is not None
    lead, _, said = store.everything(store.session(name).conversation_id)
    return [*lead, *(message.raw for message in said)]


def sent(store: Store, session: Session) -> list[Any]:
    return store.view(record(store, session).conversation_id).messages


def summaries(messages: Any) -> list[str]:
    return [str(message["content"]) for message in messages if TAG in str(message["content"])]


# Lineage


def test_a_conversation_that_rotates(shared: Store) -> None:
    session = make(shared, title="Fix login bug", source="slack")
    host = talk(session)
    assert everything(shared, session.id) == host
    assert sent(shared, session) == list(session.messages)
    assert len(summaries(session.messages)) == 1
    records = lineage(shared, session)
    count = session.state.count
    assert len(records) == count + 1
    assert all(re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{6}", kept.id) for kept in records)
    assert [kept.number for kept in records] == list(range(1, count + 2))
    assert [kept.title for kept in records] == [
        "Fix login bug",
        *(f"Fix login bug #{number}" for number in range(2, count + 2)),
    ]
    assert [kept.end_reason for kept in records] == ["compression"] * count + [None]
    assert [kept.parent_id for kept in records] == [None, *(kept.id for kept in records[:-1])]
    assert {(kept.source, kept.model, kept.policy, kept.base) for kept in records} == {
        ("slack", "gpt-4o", "default", "Fix login bug")
    }
    assert records[-1].id == session.id
    assert sum(kept.messages for kept in records) == len(host) - 1


def test_a_conversation_in_place(shared: Store) -> None:
    session = make(shared, title="Fix login bug", overrides={"session.lineage": "in_place"})
    host = talk(session)
    (kept,) = lineage(shared, session)
    assert (kept.id, kept.title, kept.parent_id, kept.end_reason) == (session.id, "Fix login bug", None, None)
    assert kept.messages == len(host) - 1
    assert everything(shared, session.id) == host
    assert sent(shared, session) == list(session.messages)
    assert len(session.messages) < len(host)


def test_titles(shared: Store) -> None:
    untitled = make(shared)
    talk(untitled)
    assert {kept.title for kept in lineage(shared, untitled)} == {None}
    assert {kept.source for kept in lineage(shared, untitled)} == {"cli"}
    numbered = make(shared, title="Fix", overrides={"session.title": "{{ n }}. {{ base }}"})
    talk(numbered)
    assert [kept.title for kept in lineage(shared, numbered)][:3] == ["Fix", "2. Fix", "3. Fix"]


def test_both_lineages_send_the_same(shared: Store) -> None:
    sessions = [make(shared, overrides={"session.lineage": how}) for how in ("rotate", "in_place")]
    for session in (*sessions, memory := make(None)):
        talk(session)
    assert list(sessions[0].messages) == list(sessions[1].messages) == list(memory.messages)


@pytest.mark.parametrize(
    ("host", "overrides", "outcome"),
    [
        (conversation(1, 20), {}, Outcome.NOTHING_TO_GAIN),
        (conversation(12), {"summary.on_failure": "abort"}, Outcome.FAILED),
    ],
)
def test_a_compaction_that_changes_nothing_is_no_boundary(
    store: Store, host: list[Raw], overrides: dict[str, Any], outcome: Outcome
) -> None:
    session = make(store, overrides=overrides, summarizer=ScriptedSummarizer([RuntimeError("no")]))
    session.save(host)
    name = session.id
    assert session.compact(host).outcome is outcome
    assert session.id == name
    assert [kept.end_reason for kept in store.sessions()] == [None]
    assert store.stats().compactions == 0
    assert sent(store, session) == host
    assert not session.undo()


def test_another_conversation_is_another_lineage(shared: Store) -> None:
    session = make(shared)
    one = [system("You help."), user("About trains."), assistant("Yes?")]
    other = [system("You help."), user("About boats."), assistant("Yes?")]
    session.save(one)
    first = session.id
    session.save(other)
    assert session.id != first
    assert (everything(shared, first), everything(shared, session.id)) == (one, other)


def test_what_a_host_takes_back_is_taken_back(shared: Store) -> None:
    session = make(shared)
    host = [*conversation(3), user("wrong")]
    session.save(host)
    name = session.id
    host[-1:] = [user("right"), assistant("Thanks.")]
    session.save(host)
    assert session.id == name
    assert everything(shared, name) == host
    session.save(host[:-1])
    assert everything(shared, name) == host[:-1]


def test_a_system_prompt_that_is_written_anew(shared: Store) -> None:
    session = make(shared)
    host = conversation(3)
    session.save(host)
    name = session.id
    again = [system("It is Tuesday."), *host[1:]]
    session.save(again)
    assert (session.id, everything(shared, name)) == (name, again)


# Going on


@pytest.mark.parametrize("how", ["rotate", "in_place"])
@pytest.mark.parametrize("handed_back", [False, True], ids=["own list", "handed back"])
def test_another_process_goes_on(shared: Store, how: str, handed_back: bool) -> None:
    first = make(shared, title="X", overrides={"session.lineage": how})
    host = talk(first, turns=20)
    before = list(first.messages)
    again = make(shared, session_id=first.id, overrides={"session.lineage": how})
    assert again.id == first.id
    assert list(again.messages) == before
    assert (again.state.count, again.state.summary) == (first.state.count, first.state.summary)
    mine = [*(again.messages if handed_back else json.loads(json.dumps(host))), user("And now?")]
    out = again.before_call(mine)
    assert out.result is None, "nothing is due"
    assert list(out.messages) == [*before, user("And now?")]
    assert everything(shared, again.id) == [*host, user("And now?")]
    compacted = again.compact(mine)
    assert compacted.outcome is Outcome.COMPACTED
    assert again.state.count == first.state.count + 1
    assert sent(shared, again) == list(again.messages)
    assert everything(shared, again.id) == [*host, user("And now?")]


def test_a_session_is_found_by_the_beginning_of_its_id_or_by_one_that_has_ended(shared: Store) -> None:
    first = make(shared)
    talk(first)
    assert first.id is not None
    assert make(shared, session_id=first.id[:20]).id == first.id
    ended = lineage(shared, first)[0]
    assert make(shared, session_id=ended.id).id == first.id, "it goes on where the lineage is now"


def test_the_handed_back_list_is_kept_like_the_hosts_own(shared: Store) -> None:
    session = make(shared)
    host: list[Raw] = [system("You help.")]
    said = list(host)
    for number in range(24):
        host.append(turn(number)[0])
        host = [*session.before_call(host).messages, turn(number)[1]]
        said += turn(number)
    session.save(host)
    assert session.state.count > 1
    assert everything(shared, session.id) == said
    while session.undo():
        pass
    assert dump_json(list(session.messages)) == dump_json(said)


# Undo and rewind


@pytest.mark.parametrize("how", ["rotate", "in_place"])
def test_undo_until_everything_is_back(kept: Store | None, how: str) -> None:
    session = make(kept, overrides={"session.lineage": how})
    host = [*conversation(8), {"content": "7 < 8 \ud800", "role": "user", "n": 1.0, "z": {"b": 1, "a": None}}]
    assert not session.undo(), "nothing was said yet"
    session.save(host)
    assert not session.undo()
    assert session.compact(host).outcome is Outcome.COMPACTED
    once = list(session.messages)
    more = turn(9, 4_000)
    assert session.compact([*host, *more, *turn(10, 100)]).outcome is Outcome.COMPACTED
    assert session.state.count == 2
    assert session.undo()
    assert list(session.messages)[1:] == [*once[1:], *more, *turn(10, 100)]
    assert session.state.count == 1
    assert session.undo()
    assert dump_json(list(session.messages)) == dump_json([*host, *more, *turn(10, 100)])
    assert session.state.count == 0
    assert not session.undo()


def test_after_an_undo_the_host_goes_on(shared: Store) -> None:
    session = make(shared)
    host = conversation(4)
    session.compact(host)
    compacted = list(session.messages)
    session.undo()
    out = session.before_call([*host, user("And now?")])
    assert (out.result, list(out.messages)) == (None, [*host, user("And now?")])
    session.undo()
    again = make(shared, session_id=session.id)
    assert list(again.messages) == [*host, user("And now?")]
    assert again.compact([*host, user("And now?")]).outcome is Outcome.COMPACTED
    assert len(again.messages) <= len(compacted) + 1


@pytest.mark.parametrize("number", [0, 11, 23])
def test_rewind_to_any_message(kept: Store | None, number: int) -> None:
    session = make(kept)
    host = talk(session)
    (hit,) = [hit for hit in session.search(f"answer {number}") if f"**answer** **{number}**" in hit.snippet]
    session.rewind(hit.message_id)
    stay = host[: 2 * number + 3]
    assert session.messages[-1] == stay[-1]
    while session.undo():
        pass
    assert dump_json(list(session.messages)) == dump_json(stay)
    out = session.before_call([*stay, user("Another way.")])
    assert out.messages[-1] == user("Another way.")


def test_a_message_that_is_not_of_this_conversation(kept: Store | None) -> None:
    session, other = make(kept), make(kept)
    with pytest.raises(StoreError, match="nothing was said yet"):
        session.rewind(1)
    session.save(conversation(2))
    other.save(conversation(3))
    foreign = other.search("answer 2")[0].message_id
    for name in (0, -1, 10**12, foreign):
        with pytest.raises(StoreError, match=f"there is no message {name}"):
            session.rewind(name)
    assert list(session.messages) == conversation(2)


# Several workers


class Blocking:
    """A summariser that waits until it is let go on."""

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()

    def summarize(self, request: Any) -> str:
        self.asked.set()
        assert self.go_on.wait(30)
        return "## Goal\nOf the slow one."


@contextmanager
def compacting(session: Session, host: list[Raw], summarizer: Blocking) -> Iterator[list[CompactionResult]]:
    """A compaction in a thread, which waits for its summariser; at the end its result is in the list."""
    results: list[CompactionResult] = []
    thread = threading.Thread(target=lambda: results.append(session.compact(host)))
    thread.start()
    try:
        assert summarizer.asked.wait(30)
        yield results
    finally:
        summarizer.go_on.set()
        thread.join(30)


def test_of_two_workers_one_compacts(shared: Store) -> None:
    slow, unasked = Blocking(), ScriptedSummarizer([GOOD])
    one, host = make(shared, summarizer=slow.summarize), conversation()
    one.save(host)
    other = make(shared, session_id=one.id, summarizer=unasked)
    with compacting(one, host, slow) as results:
        busy = other.compact(host)
        assert busy.outcome is Outcome.BUSY
        assert "another worker is compacting this session just now" in busy.reason
        assert list(busy.messages) == host
        out = other.before_call(host)
        assert list(out.messages) == host
        other.save([*host, user("meanwhile")])
    assert [made.outcome for made in results] == [Outcome.COMPACTED]
    assert sent(shared, one) == [*one.messages, user("meanwhile")]
    late = other.compact([*host, user("meanwhile")])
    assert late.outcome is Outcome.BUSY
    assert list(other.messages) == list(late.messages) == sent(shared, one)
    assert other.id == one.id
    assert other.state.count == 1
    assert unasked.requests == []
    assert len(lineage(shared, one)) == 2
    assert list(other.before_call([*host, user("meanwhile")]).messages) == sent(shared, one)


def test_who_lost_the_lease_gets_what_the_other_made(open_store: Callable[..., Store]) -> None:
    now = [1_800_000_000.0]
    store = open_store(clock=lambda: now[0])
    slow = Blocking()
    one, host = make(store, summarizer=slow.summarize), conversation()
    one.save(host)
    other = make(store, session_id=one.id)
    with compacting(one, host, slow) as results:
        now[0] += 120
        assert other.compact(host).outcome is Outcome.COMPACTED
    (late,) = results
    assert late.outcome is Outcome.BUSY
    assert list(late.messages) == list(one.messages) == list(other.messages) == sent(store, other)
    assert (one.id, one.state.count) == (other.id, 1)
    assert "Of the slow one" not in dump_json(sent(store, one))
    assert store.stats().compactions == 1


def test_a_host_that_does_not_know_what_another_worker_said(shared: Store) -> None:
    one, host = make(shared), conversation(4)
    one.save(host)
    before = one.id
    other = make(shared, session_id=one.id)
    other.save([*host, user("of the other")])
    mine = [*host, user("mine")]
    overtaken = one.compact(mine)
    assert overtaken.outcome is Outcome.BUSY
    assert list(one.messages) == [*host, user("of the other"), user("mine")]
    mine += [assistant("of my model"), user("on")]
    out = one.before_call(mine)
    assert list(out.messages) == mine
    assert one.id != before, "it goes on in a session of its own"
    assert everything(shared, one.id) == mine
    assert everything(shared, before) == [*host, user("of the other"), user("mine")]


def test_a_host_that_takes_over_what_another_worker_said(shared: Store) -> None:
    one, host = make(shared), conversation(4)
    one.save(host)
    before = one.id
    make(shared, session_id=one.id).save([*host, user("of the other")])
    one.compact([*host, user("mine")])
    assert one.compact([*one.messages, assistant("ok")]).outcome is Outcome.COMPACTED
    assert everything(shared, one.id) == [*host, user("of the other"), user("mine"), assistant("ok")]
    assert lineage(shared, one)[0].id == before


def test_a_message_is_kept_once(store: Store) -> None:
    session, host = make(store), conversation(2)
    for _ in range(3):
        session.save(json.loads(json.dumps(host)))
    assert store.stats().messages == len(host) - 1
    assert len(session.search("answer 1")) == 1
    host[-1]["content"] = "It was written to."
    session.save(host)
    assert everything(store, session.id) == host


@pytest.mark.parametrize("copied", [False, True], ids=["objects", "copies"])
def test_who_takes_over_what_another_worker_compacted_stays_in_its_session(shared: Store, copied: bool) -> None:
    one, host = make(shared), conversation()
    one.save(host)
    other = make(shared, session_id=one.id)
    theirs = [*host, user("of the other")]
    assert other.compact(theirs).outcome is Outcome.COMPACTED
    assert one.compact(host).outcome is Outcome.BUSY
    mine = list(one.messages)
    assert mine == list(other.messages)
    mine = json.loads(json.dumps(mine)) if copied else mine
    out = one.before_call([*mine, assistant("ok")])
    assert list(out.messages) == [*mine, assistant("ok")]
    assert one.id == other.id
    assert everything(shared, one.id) == [*theirs, assistant("ok")]


def test_five_ends_of_a_compaction_are_told_in_five_ways(store: Store) -> None:
    events: list[SessionEvent] = []
    broken = ScriptedSummarizer([RuntimeError("no")])
    listen = {"on_event": events.append}

    make(store, summarizer=broken, overrides={"summary.on_failure": "abort"}, **listen).compact(conversation())
    slow = Blocking()
    winner, host = make(store, summarizer=slow.summarize), conversation()
    winner.save(host)
    with compacting(winner, host, slow):
        make(store, session_id=winner.id, **listen).compact(host)
    make(store, **listen).compact(conversation(1, 20))
    make(store, summarizer=broken, overrides={"summary.on_failure": "static"}, **listen).compact(conversation())
    make(store, **listen).compact(conversation())

    ends = [event for event in events if event.kind is not EventKind.COMPACTING]
    assert [event.kind for event in ends] == [
        EventKind.FAILED,
        EventKind.BUSY,
        EventKind.NOTHING_TO_GAIN,
        EventKind.NO_SUMMARY,
        EventKind.COMPACTED,
    ]
    assert len({event.message for event in ends}) == 5
    done = [event.message.startswith("context compacted") for event in ends]
    assert done == [False, False, False, True, True]


# Search and recall


def test_what_was_folded_is_found(kept: Store | None) -> None:
    session = make(kept)
    assert session.search("ask") == session.search("ask", within="session") == []
    host = [*conversation(2), user("The needle is in haystack.py."), *conversation(12)[1:]]
    session.save(host)
    session.compact(host)
    assert "haystack" not in dump_json(list(session.messages))
    (hit,) = session.search("needle")
    assert hit.snippet == "The **needle** is in haystack.py."
    assert session.search("answer", limit=3) == session.search("answer")[:3]


def test_where_it_is_looked_for(store: Store) -> None:
    session, other = make(store), make(store)
    other.save([user("A needle of another conversation.")])
    host = [system("You help."), user("The needle."), *conversation(8)[1:]]
    session.compact(host)
    session.save([*host, user("That needle again.")])
    found = {within: len(session.search("needle", within=within)) for within in ("session", "lineage", "all")}
    assert found == {"session": 1, "lineage": 2, "all": 3}


def test_the_tool_that_recalls(shared: Store) -> None:
    session = make(shared)
    tool = session.recall_tool()
    parameters = tool.schema["function"]["parameters"]
    Draft202012Validator.check_schema(parameters)
    assert (tool.schema["type"], tool.schema["function"]["name"], tool.name) == ("function", TOOL, TOOL)
    for asked in ({"search": "needle"}, {"expand": 7}, {"expand": 7, "offset": 8_000}):
        assert Draft202012Validator(parameters).is_valid(asked)
    tool.schema["function"]["name"] = "changed"
    assert tool.schema["function"]["name"] == TOOL, "who is given it may change it"

    long = "".join(f"line {number}: {filler(60)}\n" for number in range(300))
    host = [system("You help."), user("Read it."), assistant(None, call("c1")), result("c1", f"needle\n{long}")]
    host += conversation(8)[1:]
    session.compact(host)
    found = tool('{"search": "needle"}')
    handles = re.findall(r"handle (\d+) \((\w+)\)", found)
    assert [role for _, role in handles] == ["tool"]
    handle, read = int(handles[0][0]), ""
    for _ in range(10):
        part = tool({"expand": handle, "offset": len(read)})
        assert len(part) < 8_200
        body = part.split("\n", 1)[1]
        more = re.search(r"\n\[[\d,]+ more characters: offset (\d+)\]$", body)
        read += body[: more.start()] if more else body
        if more is None:
            break
        assert int(more[1]) == len(read)
    assert read == f"needle\n{long}"
    assert tool({"expand": handle, "offset": 10**6}).endswith("(tool):\n")
    ((call_handle, _),) = re.findall(r"handle (\d+) \((assistant)\)", tool({"search": "run"}))
    assert '"tool_calls"' in tool({"expand": call_handle}), "a message that is more than text is read whole"

    host += [assistant(None, call("c2", TOOL)), result("c2", found), user("And now?")]
    session.compact(host)
    assert tool({"search": "needle"}).count("- handle") == 1, "what it found is not found in its place"


def test_the_tool_sees_nothing_of_other_conversations(shared: Store) -> None:
    session, other = make(shared), make(shared)
    session.save(conversation(2))
    other.save([user("The password of another user is xyzzy.")])
    tool = session.recall_tool()
    assert "xyzzy" not in tool({"search": "password of another"})
    secret = other.search("xyzzy")[0].message_id
    refused = tool({"expand": secret})
    assert "xyzzy" not in refused
    assert f"there is no message {secret}" in refused


def test_odd_arguments_of_the_tool(kept: Store | None) -> None:
    session = make(kept)
    tool = session.recall_tool()
    assert "Nothing was said" in tool({"search": "anything"}), "nothing was said yet"
    assert "Nothing was said" in tool({"expand": 1})
    session.save(conversation(2))
    odd: list[Any] = [
        *("", "{bad", "[]", "null", "3", '"text"', "[1, 2]", "{}", '{"search": ""}', '{"search": null}'),
        *(
            '{"search": 5}',
            '{"search": ["a"]}',
            '{"search": {"a": 1}}',
            '{"search": "\\u0000"}',
            '{"search": "\\ud800"}',
        ),
        *(
            '{"expand": "x"}',
            '{"expand": -1}',
            '{"expand": 0}',
            '{"expand": [1]}',
            '{"expand": {}}',
            '{"expand": NaN}',
            '{"expand": Infinity}',
        ),
        *('{"expand": 99999999999999999999}', '{"expand": 3, "offset": "x"}', '{"other": 1}', '{"search": "(\\"*"}'),
        *(None, {}, [], 7, {"expand": None}, {"search": "x" * 50_000}),
    ]
    for arguments in odd:
        answer = tool(arguments)
        assert answer.startswith(f"[{TOOL}] "), arguments
        assert len(answer) < 2_000, arguments
    handle = session.search("answer 1")[0].message_id
    assert "answer 1" in tool({"expand": str(handle), "offset": -5})


@pytest.mark.parametrize("summarizer", [GOOD, RuntimeError("no")], ids=["summary", "static note"])
def test_a_summary_names_the_tool_from_when_it_is_there(shared: Store, summarizer: Any) -> None:
    session = make(shared, summarizer=ScriptedSummarizer([summarizer]), overrides={"summary.on_failure": "static"})
    host = conversation()
    session.compact(host)
    assert len(summaries(session.messages)) == 1
    assert TOOL not in dump_json(list(session.messages))
    session.recall_tool()
    host += conversation()[1:]
    session.compact(host)
    (summary,) = summaries(session.messages)
    assert TOOL in summary


# Which store


def test_a_place_in_the_place_of_a_store(where: str, open_store: Callable[..., Store]) -> None:
    with make(where) as session:
        session.compact(conversation())
        store = open_store()
        assert everything(store, session.id) == conversation()
        assert sent(store, session) == list(session.messages)
    store.close()
    with make(where, session_id=session.id) as again:
        assert list(again.messages) == list(session.messages)


def test_the_store_of_the_policy(tmp_path: Path) -> None:
    there, named, unused = (tmp_path / name for name in ("there.db", "named.db", "unused.db"))
    with make(None, overrides={"session.store": str(there)}) as first:
        first.save(conversation(2))
    with make(None, overrides={"session.store": str(there)}, session_id=first.id) as again:
        assert list(again.messages) == conversation(2)
    with make(named, overrides={"session.store": str(unused)}) as other:
        other.save(conversation(1))
    assert named.exists()
    assert not unused.exists(), "the program's store comes before the policy's"


def test_the_default_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "mine"))
    with make(None, overrides={"session.store": "default"}) as session:
        session.save(conversation(1))
    assert [path.name for path in (tmp_path / "mine").rglob("*.db")] == ["sessions.db"]
    with make("default", session_id=session.id) as again:
        assert list(again.messages) == conversation(1)


def test_a_session_that_is_not_there(shared: Store) -> None:
    with pytest.raises(StoreError, match="there is no session '20990101_000000_abcdef'"):
        make(shared, session_id="20990101_000000_abcdef")
    with pytest.raises(StoreError, match="no store was named"):
        make(None, session_id="20990101_000000_abcdef")


def test_without_a_store_no_database_is_imported() -> None:
    code = """
import sys
from compactor import Session
session = Session(environ={})
session.before_call([{"role": "user", "content": "hello"}])
session.undo(), session.search("hello"), session.recall_tool()({"search": "hello"})
print([name for name in sys.modules if name.split(".")[0] in ("sqlalchemy", "alembic", "psycopg", "sqlite3")])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_what_a_compaction_left_can_be_compacted_again_without_a_new_message(shared: Store) -> None:
    session, host = make(shared), conversation(16)
    session.before_call(host)
    assert session.state.count == 1
    handed = list(session.messages)
    tighter = make(shared, session_id=session.id, overrides={"target": 0.1, "boundaries.tail_budget_ratio": 0.01})
    assert tighter.compact(handed).outcome is Outcome.COMPACTED
    assert sent(shared, tighter) == list(tighter.messages)
    assert len(tighter.messages) < len(handed)
    assert tighter.undo()
    assert list(tighter.messages) == handed
    while tighter.undo():
        pass
    assert everything(shared, tighter.id) == host
