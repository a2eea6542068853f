"""What a store keeps, on either database: messages as they came, and what compactions, undo and rewind make of them."""

import base64
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, select

from compactor import CompactionState, Outcome
from compactor.errors import StoreError
from compactor.messages.formats.document import dump_json, read_json
from compactor.result import CompactionResult, Report
from compactor.session.store.records import Claim, Commit, Revision, SessionRecord
from compactor.session.store.store import Store
from compactor.session.store.tables import archived
from compactor.testing import assistant, call, result, system, user

Raw = dict[str, Any]
SUMMARY = user("[summary]")


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def turns(count: int, start: int = 0) -> list[Raw]:
    return [(user, assistant)[turn % 2](f"turn {turn}") for turn in range(start, start + count)]


def made(
    covered: int,
    left: Sequence[Raw],
    *,
    count: int | None = None,
    number: int = 1,
    rotate: bool = True,
    fates: dict[int, tuple[str, str]] | None = None,
    **more: Any,
) -> Commit:
    """A compaction of the first ``covered`` positions, ``count`` of them still there, that left ``left``."""
    report = Report(
        policy="hermes",
        model="gpt-4o",
        counter="rough",
        window=8_000,
        window_source="policy",
        threshold_tokens=4_000,
        target_tokens=None,
        trigger="preflight",
        messages_before=covered,
        messages_after=len(left),
        tokens_before=5_000,
        tokens_after=1_000,
    )
    state = CompactionState(summary="## Goal\nShip it.", count=number)
    compacted = CompactionResult(Outcome.COMPACTED, "done", tuple(left), state, report, summary=state.summary)
    return Commit(
        result=compacted,
        covered=covered,
        count=covered if count is None else count,
        lead=(),
        left=tuple(left),
        archived=fates or {},
        rotate=rotate,
        **more,
    )


def committed(store: Store, conversation: str, what: Commit) -> bool:
    claimed = store.claim(conversation)
    assert claimed is not None
    return store.commit(claimed, what)


def said(store: Store, conversation: str) -> list[Any]:
    return [message.raw for message in store.everything(conversation)[2]]


def begun(store: Store, messages: Sequence[Raw] = (), **options: Any) -> str:
    record = store.begin(**options)
    store.append(record.conversation_id, messages)
    return record.conversation_id


# Messages


def test_a_new_conversation(open_store: Callable[..., Store]) -> None:
    clock = Clock()
    store = open_store(clock=clock)
    record = store.begin(
        lead=[system("You help.")], title="Fix login bug", source="slack", model="gpt-4o", policy="hermes"
    )
    assert record == SessionRecord(
        id=record.id,
        conversation_id=record.conversation_id,
        parent_id=None,
        number=1,
        title="Fix login bug",
        source="slack",
        model="gpt-4o",
        policy="hermes",
        started_at=clock.now,
        ended_at=None,
        end_reason=None,
        messages=0,
        base="Fix login bug",
    )
    view = store.view(record.conversation_id)
    assert (view.messages, view.system, view.covered, view.state) == (
        [system("You help.")],
        None,
        0,
        CompactionState(),
    )


def test_what_was_appended_is_there_when_the_store_is_opened_again(open_store: Callable[..., Store]) -> None:
    clock = Clock()
    store = open_store(clock=clock)
    conversation = begun(store, turns(3), lead=[system("You help.")], system=[{"type": "text", "text": "Apart."}])
    clock.now += 5
    (more,) = store.append(conversation, [user("more")])
    store.close()
    again = open_store()
    lead, apart, messages = again.everything(conversation)
    assert (lead, apart) == ([system("You help.")], [{"type": "text", "text": "Apart."}])
    assert [message.raw for message in messages] == [*turns(3), user("more")]
    assert [message.position for message in messages] == [0, 1, 2, 3]
    assert (messages[-1].id, messages[-1].said_at) == (more[0], clock.now)
    assert again.view(conversation).messages == [system("You help."), *turns(3), user("more")]
    assert again.view(conversation).system == [{"type": "text", "text": "Apart."}]
    assert again.view(conversation).session.messages == 4


def test_ids_and_positions_of_what_is_appended(store: Store) -> None:
    first, second = begun(store), begun(store)
    added = [store.append(first, turns(2)), store.append(second, turns(2)), store.append(first, turns(1))]
    assert [[position for _, position in places] for places in added] == [[0, 1], [0, 1], [2]]
    names = [name for places in added for name, _ in places]
    assert names == sorted(set(names))
    assert store.append(first, []) == []
    assert store.message(names[3]).raw == turns(2)[1]


JSONS = {
    "the order of keys": '{"content": "x", "role": "user", "b": 1, "a": {"z": 1, "y": [{"k": 1, "c": 2}]}}',
    "numbers": '{"role": "user", "content": "x", "n": [1.0, 1, 1e5, 1E5, -0, -0.0, 1.50, 1e400, 12345678901234567890]}',
    "nothing": '{"role": "assistant", "content": null, "tool_calls": [], "refusal": null}',
    "no content": '{"role": "assistant"}',
    "half of a pair": '{"role": "user", "content": "a\\ud800b \\udfff", "\\ud83d": 1}',
    "NUL": '{"role": "tool", "tool_call_id": "c\\u0000", "content": "a\\u0000b\\u0000"}',
    "controls": '{"role": "user", "content": "\\u0001\\u001b[0m\\r\\n\\t\\u2028\\u007f\\ufffe"}',
    "scripts": '{"role": "user", "content": "登录失败 😀 é e\\u0301 ﷽ \\ud83d\\ude00"}',
    "blocks": '{"role": "user", "content": [{"type": "text", "text": ""}, {"type": ["odd"], "x": {}}, "plain"]}',
    "odd values": '{"role": "user", "content": {"a": [true, false, null]}, "name": 7}',
    "a backslash": '{"role": "user", "content": "C:\\\\new \\\\u0000 \\\\ud800 \\"quoted\\""}',
    "odd calls": '{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": null}, null, 3]}',
    "odd arguments": '{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", '
    '"function": {"name": "f\\u0000", "arguments": {"a": "\\ud800"}}}]}',
}


@pytest.mark.parametrize("source", JSONS.values(), ids=JSONS)
def test_messages_come_back_as_they_were(shared: Store, source: str) -> None:
    given = read_json(source)
    conversation = begun(shared, [given], lead=[{**given, "role": "system"}], system=given)
    lead, apart, (message,) = shared.everything(conversation)
    assert dump_json(message.raw) == dump_json(given)
    assert dump_json(apart) == dump_json(given)
    assert dump_json(lead) == dump_json([{**given, "role": "system"}])
    assert committed(shared, conversation, made(1, [given]))
    assert dump_json(shared.view(conversation).left) == dump_json([given])


HUGE: dict[str, Callable[[], str]] = {
    "one word again and again": lambda: "build " * 160_000,
    "words that are all different": lambda: " ".join(f"{number:x}" for number in range(170_000)),
    "paths that are all different": lambda: " ".join(f"/src/{number:x}/a-b.py" for number in range(54_000)),
    "no blanks": lambda: base64.b64encode(os.urandom(720_000)).decode(),
    "Chinese": lambda: "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(950_000)),
    "Chinese words": lambda: " ".join(
        chr(0x4E00 + number % 20_000) + chr(0x4E00 + number // 7 % 20_000) for number in range(320_000)
    ),
    "joined Chinese words": lambda: " ".join(
        chr(0x4E00 + number % 20_000) + "-" + chr(0x4E00 + number // 7 % 20_000) for number in range(240_000)
    ),
}


@pytest.mark.parametrize("kind", HUGE)
def test_a_text_of_a_megabyte(shared: Store, kind: str) -> None:
    text = f"needle {HUGE[kind]()}"
    assert 900_000 < len(text) < 1_000_000
    conversation = begun(shared, [result("c", text)])
    assert said(shared, conversation) == [result("c", text)]
    for words in ("needle", text[-30:]):
        (hit,) = shared.search(words, conversation=conversation)
        assert len(hit.snippet) < 600


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_what_is_taken_back_is_hidden_but_not_deleted(store: Store, at: int) -> None:
    conversation = begun(store, turns(4))
    before = store.everything(conversation)[2]
    assert store.take_back(conversation, at) == max(4 - at, 0)
    assert store.take_back(conversation, at) == 0
    assert said(store, conversation) == turns(4)[:at] == store.view(conversation).messages
    assert [store.message(message.id) for message in before] == before
    assert store.stats().messages == 4
    ((_, position),) = store.append(conversation, [user("instead")])
    assert position == 4, "a position is given out once"
    assert said(store, conversation) == [*turns(4)[:at], user("instead")]


def test_leading_messages_are_kept_as_they_are_now(shared: Store) -> None:
    conversation = begun(shared, turns(1), lead=[system("Old.")])
    lead = [system("New."), system("Newer.")]
    shared.keep_lead(conversation, lead, "apart", (lead, "apart"))
    assert shared.everything(conversation)[:2] == ([system("New."), system("Newer.")], "apart")
    assert shared.view(conversation).messages == [system("New."), system("Newer."), *turns(1)]


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.append("nowhere", turns(1)),
        lambda store: store.claim("nowhere"),
        lambda store: store.undo("nowhere"),
        lambda store: store.take_back("nowhere", 0),
        lambda store: store.revise("nowhere", Revision(None, 1, ())),
        lambda store: store.view("nowhere"),
        lambda store: store.everything("nowhere"),
        lambda store: store.message(10**9),
        lambda store: store.message(2**70),
        lambda store: store.session("nowhere"),
        lambda store: store.session("a\0b"),
        lambda store: store.session(""),
    ],
)
def test_what_is_not_there_is_a_store_error(shared: Store, act: Callable[[Store], Any]) -> None:
    with pytest.raises(StoreError, match=r"there is no|cannot"):
        act(shared)


def test_a_message_of_another_conversation(shared: Store) -> None:
    one, other = begun(shared, turns(1)), begun(shared, turns(2))
    name = shared.everything(one)[2][0].id
    assert shared.message(name, one).raw == turns(1)[0]
    with pytest.raises(StoreError, match=f"there is no message {name}"):
        shared.message(name, other)
    with pytest.raises(StoreError, match="there is no message"):
        shared.rewind(other, name)
    assert said(shared, other) == turns(2)


# Compactions


def test_a_compaction_that_rotates(open_store: Callable[..., Store]) -> None:
    clock = Clock()
    store = open_store(clock=clock)
    conversation = begun(store, turns(6), title="X", source="slack", model="gpt-4o", policy="default")
    clock.now += 60
    left = [SUMMARY, *turns(2, 4)]
    assert committed(store, conversation, made(6, left, title="X #2", model="claude"))
    store.append(conversation, turns(1, 6))
    first, second = store.lineage(conversation)
    assert (first.ended_at, first.end_reason, first.messages) == (clock.now, "compression", 6)
    assert (second.parent_id, second.number, second.title, second.base) == (first.id, 2, "X #2", "X")
    assert (second.source, second.model, second.policy) == ("slack", "claude", "hermes")
    assert (second.started_at, second.ended_at, second.messages) == (clock.now, None, 1)
    view = store.view(conversation)
    assert view.session == second
    assert view.messages == [*left, *turns(1, 6)]
    assert view.state == CompactionState(summary="## Goal\nShip it.", count=1)
    assert said(store, conversation) == turns(7)
    assert store.claim(conversation) is not None, "the lease was given back"


def test_a_compaction_in_place(shared: Store) -> None:
    conversation = begun(shared, turns(6))
    before = shared.lineage(conversation)[0]
    assert committed(shared, conversation, made(6, [SUMMARY], rotate=False))
    assert shared.lineage(conversation) == [before]
    assert shared.view(conversation).messages == [SUMMARY]
    assert said(shared, conversation) == turns(6)


def test_what_became_of_each_message_is_kept(store: Store, where: str) -> None:
    conversation = begun(store, turns(4))
    fates = {1: ("folded", "into the summary"), 2: ("pruned", "longer than 200")}
    assert committed(store, conversation, made(4, [SUMMARY], fates=fates, rotate=False))
    engine = create_engine(where if "://" in where else f"sqlite:///{where}")
    with engine.connect() as connection:
        rows = connection.execute(select(archived.c.message_id, archived.c.fate, archived.c.reason)).all()
    engine.dispose()
    names = [message.id for message in store.everything(conversation)[2]]
    assert sorted(map(tuple, rows)) == [(names[1], *fates[1]), (names[2], *fates[2])]


@pytest.mark.parametrize("rotate", [True, False])
def test_undo_after_two_compactions_brings_everything_back(store: Store, rotate: bool) -> None:
    conversation = begun(store, turns(8), lead=[system("You help.")])
    original = store.view(conversation)
    assert committed(store, conversation, made(8, [SUMMARY, *turns(2, 6)], rotate=rotate))
    store.append(conversation, turns(4, 8))
    once = store.view(conversation)
    assert committed(store, conversation, made(12, [user("[second]")], number=2, rotate=rotate))
    store.append(conversation, turns(1, 12))

    back = store.undo(conversation)
    assert back is not None
    assert back.messages == [*once.messages, *turns(1, 12)]
    assert (back.state, back.session.id) == (once.state, once.session.id)
    back = store.undo(conversation)
    assert back is not None
    assert dump_json(back.messages) == dump_json([system("You help."), *turns(13)])
    assert (back.state, back.session.id) == (original.state, original.session.id)
    assert store.undo(conversation) is None
    assert store.view(conversation) == back
    ends = [record.end_reason for record in store.lineage(conversation)]
    assert ends == ([None, "undo", "undo"] if rotate else [None])
    numbers = store.stats()
    assert (numbers.compactions, numbers.undone, numbers.saved_tokens) == (2, 2, 0)


def test_after_an_undo_it_is_compacted_anew(shared: Store) -> None:
    conversation = begun(shared, turns(4))
    assert committed(shared, conversation, made(4, [SUMMARY]))
    shared.undo(conversation)
    assert committed(shared, conversation, made(4, [user("[anew]")]))
    assert shared.view(conversation).messages == [user("[anew]")]
    first, undone, child = shared.lineage(conversation)
    assert (first.end_reason, undone.end_reason, child.end_reason) == ("compression", "undo", None)
    assert child.parent_id == first.id


@pytest.mark.parametrize(
    ("keep", "expected", "compactions"),
    [
        (12, [user("[second]"), *turns(1, 12)], 2),
        (11, [user("[second]")], 2),
        (10, [SUMMARY, *turns(3, 8)], 1),
        (8, [SUMMARY, *turns(1, 8)], 1),
        (7, [SUMMARY], 1),
        (6, turns(7), 0),
        (0, turns(1), 0),
    ],
)
def test_rewind_across_compactions(shared: Store, keep: int, expected: list[Raw], compactions: int) -> None:
    conversation = begun(shared, turns(8))
    assert committed(shared, conversation, made(8, [SUMMARY]))
    shared.append(conversation, turns(4, 8))
    assert committed(shared, conversation, made(12, [user("[second]")], number=2))
    shared.append(conversation, turns(1, 12))
    name = shared.everything(conversation)[2][keep].id
    view = shared.rewind(conversation, name)
    assert view.messages == expected
    assert view.state.count == compactions
    assert view.session == shared.lineage(conversation)[compactions]
    assert view.session.end_reason is None
    assert said(shared, conversation) == turns(13)[: keep + 1]
    assert shared.view(conversation) == view
    shared.append(conversation, [user("on")])
    assert shared.view(conversation).messages == [*expected, user("on")]


def test_the_end_of_what_a_compaction_left_can_be_taken_off(shared: Store) -> None:
    conversation = begun(shared, turns(6))
    assert committed(shared, conversation, made(6, [SUMMARY, *turns(3, 3)]))
    version = shared.view(conversation).version
    assert shared.revise(conversation, Revision(4, 0, ())) == []
    view = shared.view(conversation)
    assert view.messages == [SUMMARY, *turns(1, 3)]
    assert (view.covered, view.state.count) == (4, 1)
    assert view.version > version
    undone = shared.undo(conversation)
    assert undone is not None
    assert undone.messages == turns(4)


def test_what_is_appended_while_a_compaction_is_made_comes_after_it(shared: Store) -> None:
    conversation = begun(shared, turns(4))
    claimed = shared.claim(conversation)
    assert claimed is not None
    shared.append(conversation, turns(2, 4))
    assert shared.commit(claimed, made(4, [SUMMARY]))
    assert shared.view(conversation).messages == [SUMMARY, *turns(2, 4)]


def test_a_lease_is_for_one(open_store: Callable[..., Store]) -> None:
    clock = Clock()
    one, other = open_store(clock=clock), open_store(clock=clock)
    conversation, apart = begun(one, turns(2)), begun(one, turns(2))
    held = one.claim(conversation)
    assert held is not None
    assert other.claim(conversation) is None
    assert one.claim(conversation) is None
    assert other.claim(apart) is not None, "a lease is of one conversation"
    other.release(Claim(conversation, "stranger", held.version))
    assert not other.renew(Claim(conversation, "stranger", held.version))
    assert other.claim(conversation) is None, "a stranger cannot release it"
    one.release(held)
    assert other.claim(conversation) is not None


def test_a_lease_runs_out_unless_it_is_renewed(open_store: Callable[..., Store]) -> None:
    clock = Clock()
    store = open_store(clock=clock)
    conversation = begun(store, turns(4))
    held = store.claim(conversation)
    assert held is not None
    clock.now += 20
    assert store.renew(held)
    clock.now += 20
    assert store.claim(conversation) is None, "it was renewed"
    clock.now += 20
    taken = store.claim(conversation)
    assert taken is not None, "it ran out"
    assert not store.renew(held)
    store.release(held)
    assert store.claim(conversation) is None, "who lost it cannot give it back"
    assert not store.commit(held, made(4, [SUMMARY]))
    assert store.view(conversation).messages == turns(4)
    assert store.commit(taken, made(4, [SUMMARY]))


def _released(store: Store, conversation: str, claimed: Claim) -> None:
    store.release(claimed)


def _appended_inside(store: Store, conversation: str, claimed: Claim) -> None:
    store.append(conversation, [user("of another worker")])


def _taken_back(store: Store, conversation: str, claimed: Claim) -> None:
    store.take_back(conversation, 4)


def _undone(store: Store, conversation: str, claimed: Claim) -> None:
    store.undo(conversation)


def _shortened(store: Store, conversation: str, claimed: Claim) -> None:
    store.revise(conversation, Revision(None, 1, ()))


@pytest.mark.parametrize("meanwhile", [_released, _appended_inside, _taken_back, _undone, _shortened])
def test_nothing_is_committed_where_the_conversation_has_changed(
    store: Store, meanwhile: Callable[[Store, str, Claim], None]
) -> None:
    conversation = begun(store, turns(4))
    assert committed(store, conversation, made(4, [SUMMARY, *turns(1, 3)]))
    store.append(conversation, turns(1, 4))
    claimed = store.claim(conversation)
    assert claimed is not None
    meanwhile(store, conversation, claimed)
    ((_, last),) = store.append(conversation, [user("newest")])
    before = store.view(conversation), store.lineage(conversation), store.stats().compactions
    # It knows of five messages and of the newest; not of what another worker has said between.
    covered, count = (last + 1, 6) if meanwhile is _appended_inside else (5, 5)
    assert not store.commit(claimed, made(covered, [user("[never]")], count=count, number=2))
    assert (store.view(conversation), store.lineage(conversation), store.stats().compactions) == before


# Sessions


def test_sessions_and_lineages(open_store: Callable[..., Store]) -> None:
    clock = Clock()
    store = open_store(clock=clock)
    one = begun(store, turns(2), title="one")
    clock.now += 1
    other = begun(store, turns(2), title="other")
    clock.now += 1
    assert committed(store, one, made(2, [SUMMARY], title="one #2"))
    assert [record.title for record in store.sessions()] == ["one #2", "other", "one"]
    assert [record.title for record in store.sessions(limit=2)] == ["one #2", "other"]
    assert [record.title for record in store.lineage(one)] == ["one", "one #2"]
    assert [record.title for record in store.lineage(other)] == ["other"]
    assert store.lineage("nowhere") == []
    numbers = store.stats()
    assert (numbers.conversations, numbers.sessions, numbers.messages) == (2, 3, 4)
    assert (numbers.compactions, numbers.undone, numbers.saved_tokens) == (1, 0, 4_000)
    assert numbers.where == store.where
    assert (numbers.bytes > 0) == (store.path is not None)


def test_a_session_by_the_beginning_of_its_id(open_store: Callable[..., Store]) -> None:
    clock = Clock()
    store = open_store(clock=clock)
    first = store.begin()
    clock.now += 86_400
    second, third = store.begin(), store.begin()
    assert store.session(first.id) == first
    assert store.session(first.id[:9]) == first
    with pytest.raises(StoreError) as several:
        store.session(second.id[:9])
    assert all(name in str(several.value) for name in (second.id, third.id))
    for wild in ("%", "_", "2%", "20_"):
        with pytest.raises(StoreError, match="there is no session"):
            store.session(wild)


# Search


def _tell(store: Store) -> tuple[str, str]:
    """A conversation of two sessions, and another one."""
    conversation = begun(
        store,
        [
            user("The login page fails after the upgrade of Werkzeug."),
            assistant(None, call("c1", "read_file", {"path": "src/app.py"})),
            result("c1", "def login(): raise KeyError('session') # 100% wrong"),
            assistant("登录失败是因为会话密钥已更改。"),
        ],
        title="Fix login bug",
    )
    assert committed(store, conversation, made(4, [SUMMARY], title="Fix login bug #2"))
    store.append(conversation, [user("Naïve RETRY: login works in under_score_name now."), result("c2", "login " * 50)])
    return conversation, begun(store, [user("The upgrade of the database is for tomorrow.")], title="Upgrade")


@pytest.fixture
def told(store: Store) -> tuple[Store, str, str]:
    """A store with nothing but what ``_tell`` tells."""
    return store, *_tell(store)


FOUND = {
    "werkzeug": ["user"],
    "LOGIN upgrade": ["user"],
    "upgrade": ["user", "user"],
    "login": ["tool", "tool", "user", "user"],
    "pp.py": ["assistant"],
    "src/app.py": ["assistant"],
    "app.py": ["assistant"],
    "read_file": ["assistant"],
    "KeyErr": ["tool"],
    "100% wrong": ["tool"],
    "under_score_name": ["user"],
    "登录失败": ["assistant"],
    "会话密钥": ["assistant"],
    "ogi%fails": [],
    "fter_the": [],
    "login zebra": [],
    "zebra": [],
    "summary": [],
    "": [],
    "  \n": [],
}


def test_search(told: tuple[Store, str, str]) -> None:
    store, *_ = told
    assert {query: sorted(hit.role for hit in store.search(query)) for query in FOUND} == FOUND


ODD = [
    *(
        '"',
        '""',
        "'",
        "AND",
        "OR",
        "NOT",
        "*",
        "-",
        "+",
        "^",
        "(",
        ")",
        "%",
        "_",
        "\\",
        ":",
        ":*",
        "!",
        "&",
        "|",
        "<->",
    ),
    *(
        "login AND",
        "NOT login",
        'login"',
        "'login",
        "log*",
        "-login",
        "text:login",
        "NEAR(login page)",
        "login)",
        "{a}",
    ),
    *(
        "\0",
        "login\0",
        "zebra\0",
        "zebra \ud800",
        "login \ud800",
        "\ud800",
        "😀",
        "zebra 😀",
        "_ login",
        "_ zebra",
        "é",
    ),
    *("x" * 20_000, "登" * 20_000, "a " * 5_000, " ".join(f"word{number}" for number in range(3_000))),
]


def test_no_query_is_an_error(told: tuple[Store, str, str]) -> None:
    store, conversation, _ = told
    for query in ODD:
        for within in (None, conversation):
            assert isinstance(store.search(query, conversation=within), list), query[:50]


def test_operators_are_no_operators(told: tuple[Store, str, str]) -> None:
    store, *_ = told
    plain = [hit.message_id for hit in store.search("page")]
    assert len(plain) == 1
    for query in ('page"', "'page", "-page", "page)", "page\0", "(page) & !", "^page:*", "text:page | page"):
        words = query.replace("text", "login")
        assert [hit.message_id for hit in store.search(words)] == plain, query


def test_search_within(told: tuple[Store, str, str]) -> None:
    store, conversation, other = told
    first, second = (record.id for record in store.lineage(conversation))

    def roles(query: str, **within: Any) -> list[str]:
        return sorted(hit.role for hit in store.search(query, **within))

    assert roles("login", session=first) == ["tool", "user"]
    assert {hit.session_id for hit in store.search("login", session=second)} == {second}
    assert roles("login", conversation=conversation) == ["tool", "tool", "user", "user"]
    assert roles("login", conversation=other) == []
    assert roles("upgrade", conversation=other) == ["user"]
    assert roles("pp.py", session=second) == [], "pieces are looked for in the same place"
    assert roles("pp.py", session=first) == ["assistant"]
    assert len(store.search("login", limit=2)) == 2
    assert len(store.search("ogi", limit=2)) == 2


def test_a_hit(told: tuple[Store, str, str]) -> None:
    store, *_ = told
    (hit,) = store.search("Werkzeug upgrade")
    message = store.message(hit.message_id)
    assert message.raw == user("The login page fails after the upgrade of Werkzeug.")
    assert (hit.session_id, hit.said_at) == (message.session_id, message.said_at)
    assert (hit.title, hit.role) == ("Fix login bug", "user")
    assert hit.snippet == "The login page fails after the **upgrade** of **Werkzeug**."


def test_the_snippet_of_a_long_text(store: Store) -> None:
    begun(store, [user(f"{'before ' * 500}\nthe Needle\n\t here {'after ' * 500}")])
    (hit,) = store.search("needle")
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "the **Needle** here after" in hit.snippet
    assert len(hit.snippet) < 300


def test_the_better_match_comes_first(store: Store) -> None:
    begun(store, [user("timeout " + "other words " * 200), user("timeout timeout timeout"), user("nothing")])
    assert store.search("timeout")[0].snippet == "**timeout** **timeout** **timeout**"


def test_what_recall_found_is_not_found_again(store: Store) -> None:
    begun(store, [user("Where is the needle?"), result("c1", "[recall_history] Found: - handle 1: the needle")])
    assert [hit.role for hit in store.search("needle")] == ["user"]
    assert [hit.role for hit in store.search("needl")] == ["user"]


# Places


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "sessions.db"
    for where in (path, str(path), f"sqlite:///{path}"):
        store = Store(where)
        store.begin()
        assert (store.path, store.where) == (path, str(path))
        store.close()
    assert path.exists()


def _folder(path: Path) -> str:
    path.mkdir()
    return str(path)


def _not_a_database(path: Path) -> str:
    path.write_text("Dear diary, today nothing happened. " * 100)
    return str(path)


def _behind_a_file(path: Path) -> str:
    path.write_text("x")
    return str(path / "sessions.db")


def _unreadable(path: Path) -> str:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path.write_bytes(b"")
    path.chmod(0)
    return str(path)


PLACES: dict[str, tuple[str | Callable[[Path], str], str]] = {
    "a folder": (_folder, "unable to open|directory"),
    "a text": (_not_a_database, "not a database"),
    "behind a file": (_behind_a_file, "exists|directory"),
    "unreadable": (_unreadable, "unable to open|permission"),
    "nobody listens": ("postgresql+psycopg://me:s3cret@127.0.0.1:1/x", "refused|connection"),
    "password apart": ("postgresql+psycopg://127.0.0.1:1/x?user=me&password=s3cret", "refused|connection"),
    "no such driver": ("postgresql+nothing://me:s3cret@127.0.0.1:1/x", "nothing"),
    "another database": ("mysql://me:s3cret@127.0.0.1/x", "neither SQLite nor PostgreSQL"),
    "another scheme": ("https://me:s3cret@127.0.0.1/x", "neither SQLite nor PostgreSQL"),
    "no port": ("postgresql+psycopg://me:s3cret@127.0.0.1:port/x", "URL|port"),
    "no URL": ("://me:s3cret@", "URL"),
    "no file": ("sqlite://", "unable to open|directory|file"),
}


@pytest.mark.parametrize(("place", "said"), PLACES.values(), ids=PLACES)
def test_a_place_where_no_store_can_be(tmp_path: Path, place: str | Callable[[Path], str], said: str) -> None:
    where = place if isinstance(place, str) else place(tmp_path / "there")
    start = time.monotonic()
    with pytest.raises(StoreError, match=f"(?i)the session store .*({said})") as refused:
        Store(where)
    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert time.monotonic() - start < 2, "it waits for nothing that could change"
