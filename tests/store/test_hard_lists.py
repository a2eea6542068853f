"""Lists, failures and edits that once lost, doubled or wrongly sent messages of a kept session."""

import json
import random
from typing import Any

import pytest

from compactor import CompactionState, InputError, Outcome, PolicyError, Session, Store, StoreError
from compactor.session.memory import MemoryStore
from compactor.testing import ScriptedSummarizer, assistant, filler, system, user

Raw = dict[str, Any]
GOOD = "## Goal\nShip it."


def make(store: Any, **options: Any) -> Session:
    overrides = {"window.context_length": 4_000, "counter": "estimate", "session.logs": False}
    overrides |= options.pop("overrides", {})
    scripted = ScriptedSummarizer([GOOD])
    return Session("default", overrides=overrides, summarizer=scripted, environ={}, store=store, **options)


def turns(count: int, first: int = 0) -> list[Raw]:
    pairs = (
        (user(f"ask {n} {filler(500)}"), assistant(f"answer {n} {filler(500)}")) for n in range(first, first + count)
    )
    return [message for pair in pairs for message in pair]


def conversation(session: Session) -> str:
    return session._keeper.archive.conversation


def kept(store: Any, session: Session) -> list[Raw]:
    """All that was said and not taken back."""
    lead, _, said = store.everything(conversation(session))
    return [*lead, *(message.raw for message in said)]


def sent(store: Any, session: Session) -> list[Raw]:
    return list(store.view(conversation(session)).messages)


@pytest.fixture(params=["store", "memory"])
def keeping(request: pytest.FixtureRequest, where: str) -> Any:
    if request.param == "memory":
        yield None
        return
    store = Store(where)
    yield store
    store.close()


def the_store(session: Session) -> Any:
    return session._keeper.archive.store


@pytest.mark.parametrize("lineage", ["rotate", "in_place"])
@pytest.mark.parametrize("edit", ["edited", "replaced"])
def test_the_kept_tail_of_a_list_that_was_handed_out_can_be_changed(keeping: Any, lineage: str, edit: str) -> None:
    session, host = make(keeping, overrides={"session.lineage": lineage}), [system("You help."), *turns(10)]
    session.compact(host)
    handed = list(session.messages)
    assert handed[-1] == host[-1]
    newest = {**handed[-1], "content": "answer 9, edited"} if edit == "edited" else user("Something else.")
    session.save([*handed[:-1], newest])
    store = the_store(session)
    assert kept(store, session) == [*host[:-1], newest]
    assert sent(store, session) == list(session.messages) == [*handed[:-1], newest]
    assert session.undo()
    assert list(session.messages) == [*host[:-1], newest]


@pytest.mark.parametrize("handed_back", [False, True])
@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5])
def test_a_cut_after_two_compactions_is_the_same_for_store_and_session(
    keeping: Any, handed_back: bool, cut: int
) -> None:
    session, host = make(keeping), [system("You help."), *turns(10)]
    session.compact(host)
    said = list(host)
    if handed_back:
        host = list(session.messages)
    host, said = [*host, *turns(1, 10)], [*said, *turns(1, 10)]
    session.compact(host)
    host, said = [*host[:-cut], user("other")], [*said[:-cut], user("other")]
    session.save(host)
    store = the_store(session)
    assert sent(store, session) == list(session.messages)
    assert kept(store, session)[-1] == user("other")
    if not handed_back:
        assert kept(store, session) == said
    assert store.view(conversation(session)).state.count == session.state.count
    if keeping is not None:
        live = [record for record in store.lineage(conversation(session)) if record.ended_at is None]
        assert len(live) == 1
        again = make(store, session_id=session.id)
        assert list(again.messages) == list(session.messages)
        while again.undo():
            assert sent(store, again) == list(again.messages)
        assert kept(store, again) == list(again.messages)


def test_a_system_prompt_that_changed_after_a_compaction_is_the_one_that_comes_back(keeping: Any) -> None:
    session, host = make(keeping), [system("Old prompt."), *turns(10)]
    session.compact(host)
    host[0] = system("New prompt.")
    session.save(host)
    store = the_store(session)
    assert session.messages[0]["content"].startswith("New prompt.\n\n")
    assert sent(store, session) == list(session.messages)
    if keeping is not None:
        again = make(store, session_id=session.id)
        assert list(again.messages) == list(session.messages)
        assert again.before_call([*host, user("And?")]).messages[0]["content"].startswith("New prompt.\n\n")
        assert again.undo()
        assert again.messages[0] == system("New prompt.")


@pytest.mark.parametrize("method", ["begin", "revise", "keep_lead"])
def test_what_could_not_be_kept_is_kept_the_next_time(where: str, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    store = Store(where)
    session, host = make(store), [system("You help."), *turns(2)]
    if method != "begin":
        session.save(host)

    def fail(*_: Any, **__: Any) -> Any:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(store, method, fail)
        for number in range(2):
            host[0] = system(f"You help, {number}.")
            host += turns(1, 10 + number)
            with pytest.raises(StoreError, match="disk is full"):
                session.before_call(host)
    host += turns(1, 20)
    session.save(host)
    assert kept(store, session) == host
    assert sent(store, session) == list(session.messages) == host
    assert len(store.sessions()) == 1
    store.close()


def test_another_conversation_that_could_not_be_kept_is_no_part_of_the_first(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(where)
    session, first, second = make(store), turns(2), turns(2, 50)
    session.save(first)
    before = conversation(session)
    with monkeypatch.context() as broken:
        broken.setattr(store, "begin", lambda **_: (_ for _ in ()).throw(StoreError("locked")))
        with pytest.raises(StoreError):
            session.save(second)
    second += turns(1, 60)
    session.save(second)
    assert kept(store, session) == second
    assert [message.raw for message in store.everything(before)[2]] == first
    store.close()


@pytest.mark.parametrize("title", ["{{ nope }}", "{{ base", "{{ 1 / 0 }}"])
def test_a_title_that_cannot_be_made_is_refused_with_the_policy(title: str) -> None:
    with pytest.raises(PolicyError, match=r"session\.title"):
        make(None, overrides={"session.title": title})


def test_the_recall_tool_answers_whatever_it_is_asked() -> None:
    session = make(None)
    session.save(turns(2))
    recall = session.recall_tool()
    for odd in ("[" * 100_000, '{"search": "\\ud800"}', '{"expand": 1e400}'):
        recall(odd).encode("utf-8")


def test_a_message_that_is_no_json_is_refused(where: str) -> None:
    round_and_round: Raw = user("Hi.")
    round_and_round["self"] = round_and_round
    for odd in ({"role": "user", "content": {1, 2}}, {"role": "user", "content": b"x"}, round_and_round):
        with Store(where) as store, pytest.raises((StoreError, InputError)):
            make(store).save([odd])


def test_a_home_that_nobody_has() -> None:
    with pytest.raises(StoreError):
        Store("~nobody-has-this-name/a.db")


@pytest.mark.parametrize("seed", range(12))
def test_store_and_session_agree_whatever_a_host_does(keeping: Any, seed: int) -> None:
    chance = random.Random(seed)
    session, host = make(keeping), [system("You help."), *turns(2)]
    handed_back = seed % 2 == 1
    for step in range(30):
        host += turns(1, 100 + step)
        move = chance.randrange(8)
        if move == 0 and len(host) > 6:
            del host[-2:]
        elif move == 1:
            host[-1] = assistant(f"edited {step}")
        elif move == 2:
            session.compact(host)
        elif move == 3:
            host = json.loads(json.dumps(host))  # copies, as from a file
        elif move == 4:
            host[0] = system(f"You help, {step}.")
        elif move == 5 and session.undo():
            host = list(session.messages)
        elif move == 6 and keeping is not None:
            session.save(host)
            session = make(keeping, session_id=session.id)
            host = list(session.messages)
        session.before_call(host)
        store = the_store(session)
        assert sent(store, session) == list(session.messages)
        said = kept(store, session)
        assert said[-1] == host[-1]
        assert len({json.dumps(message) for message in said[1:]}) == len(said[1:]), "something was said twice"
        assert not any("[CONTEXT COMPACTION]" in str(message) for message in said)
        if handed_back:
            host = list(session.messages)
    while session.undo():
        pass
    assert list(session.messages)[1:] == kept(the_store(session), session)[1:]
    assert isinstance(the_store(session), MemoryStore) is (keeping is None)
    assert session.state == CompactionState() or session.state.count == 0
    assert Outcome.BUSY.value == "busy"
