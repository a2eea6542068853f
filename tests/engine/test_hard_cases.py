"""Conversations, hosts and templates that once broke a law; each with the right outcome."""

import json
from typing import Any

import pytest

from compactor import CompactionState, Compactor, Outcome, PluginError, PolicyError
from compactor.result import CompactionResult
from compactor.testing import ScriptedSummarizer, assistant, call, filler, result, rounds, system, user

GOOD = "## Goal\nShip it."
TAG = "[CONTEXT COMPACTION]"
NOTE = "[compactor v1 note]"
Raw = dict[str, Any]


def chat(turns: int = 60, chars: int = 1500) -> list[Raw]:
    said = [[user(f"ask {turn} {filler(chars)}"), assistant(filler(chars))] for turn in range(turns)]
    return [system("You help."), *(message for turn in said for message in turn)]


def run(messages: list[Raw], reply: Any = GOOD, *, policy: Any = "default", **overrides: Any) -> CompactionResult:
    scripted = ScriptedSummarizer(reply if isinstance(reply, list) else [reply])
    compactor = Compactor(policy, overrides={"window.context_length": 20_000, **overrides}, summarizer=scripted)
    done = compactor.compact(messages, force=True)
    assert "law" not in done.reason, done.reason
    return done


def test_a_mention_of_a_thinking_tag_does_not_cut_the_summary() -> None:
    ask = user("Fix the <thinking> tag parser in /srv/app/parse.py. NEVER delete /data/prod.")
    opening = [user("Hello."), assistant("Hi."), ask]
    overrides = {"window.context_length": 20_000, "summary.summarizers": ["extractive"]}
    done = Compactor("default", overrides=overrides).compact([*opening, *rounds(40, chars=2000)], force=True)
    assert done.outcome is Outcome.COMPACTED
    assert len(done.summary or "") > 500


def test_a_result_without_an_id_never_answers_an_older_turn() -> None:
    def asks(name: str) -> Raw:
        return {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": "{}"}}

    answer = {"role": "function", "name": "list_files", "content": "a.txt"}
    tail = [user("Go."), asks("delete_db"), user("No! Stop."), asks("list_files"), answer, user("And?")]
    done = run([*chat(), *tail])
    names = [message.get("name") for message in done.messages if message["role"] == "function"]
    texts = [message["content"] for message in done.messages if message["role"] == "function"]
    assert names == ["delete_db", "list_files"]
    assert texts[0].startswith("[Result from earlier")
    assert texts[1] == "a.txt"


def test_ids_that_are_numbers_are_ids() -> None:
    numbered = [{**call("x"), "id": number} for number in (1, 2)]
    answered = [user("Go."), assistant(None, *numbered), result("1", "one"), {**result("x", "two"), "tool_call_id": 2}]
    done = run([*chat(), *answered, user("And?")])
    assert list(done.messages[-4:-1]) == answered[1:]
    silent = run([*chat(), user("Go."), assistant(None, numbered[0]), user("And?")])
    assert silent.messages[-2]["tool_call_id"] == 1


@pytest.mark.parametrize("content", [{"type": "doc", "v": "SYS"}, 5, [{"type": "doc"}, 7]])
def test_odd_content_of_the_system_prompt_survives_the_note(content: Any) -> None:
    for messages, apart in (([system(content), *chat()[1:]], None), (chat()[1:], content)):
        compactor = Compactor("default", overrides={"window.context_length": 20_000}, summarizer=lambda request: GOOD)
        done = compactor.compact(messages, system=apart, force=True)
        assert done.outcome is Outcome.COMPACTED, done.reason
        now = done.messages[0]["content"] if apart is None else done.system
        for block in content if isinstance(content, list) else [content]:
            assert block in now
        assert NOTE in str(now)


def test_a_new_system_message_in_front_of_a_noted_one() -> None:
    first = run(chat())
    done = run([system("MEMORY: tea"), *first.messages, *chat()[1:]])
    assert done.outcome is Outcome.COMPACTED
    assert str(done.messages).count(NOTE) == 1
    quoting = run([*chat(), system(f"Ignore lines such as {NOTE} here."), *chat(20)[1:]])
    assert NOTE in str(quoting.messages[0])


def test_late_and_repeated_results_of_one_call() -> None:
    tail = [assistant(None, call("c1")), user("Hm?"), result("c1", "one"), user("Well?"), result("c1", "two")]
    done = run([*chat(), *tail, user("And?")])
    assert [message["content"] for message in done.messages if message["role"] == "tool"] == ["two"]


def test_a_user_message_that_is_one_block() -> None:
    block = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    done = run([*chat(), user(block)], **{"boundaries.tail_min_messages": 1, "boundaries.tail_budget_ratio": 0.001})
    assert done.outcome is Outcome.COMPACTED
    last = done.messages[-1]["content"]
    assert last == block or block in last


def test_both_kinds_of_calls_in_one_message() -> None:
    both = {**assistant("Hm.", call("c1")), "function_call": {"name": "run", "arguments": "{}"}}
    tail = [both, result("c1", "ok"), user("And?")]
    dropped = run([*chat(), *tail], **{"assembly.orphan_calls": "drop"})
    assert dropped.messages[-3] == assistant("Hm.", call("c1"))
    only_bare = run([*chat(), both, user("And?")], **{"assembly.orphan_calls": "drop"})
    assert only_bare.messages[-2] == assistant("Hm.")


def test_an_open_call_before_a_system_message_waits_on() -> None:
    waiting = [user("Go."), assistant("Running.", call("c9")), system("It is Tuesday.")]
    done = run([*chat(), *waiting])
    assert list(done.messages[-2:]) == waiting[1:]
    assert done.report.repaired.total == 0


def test_what_is_settled_is_settled_for_these_limits_only() -> None:
    large = Compactor("default", overrides={"window.context_length": 100_000}, summarizer=lambda request: GOOD)
    small = Compactor("default", overrides={"window.context_length": 6000}, summarizer=lambda request: GOOD)
    done = large.compact(chat(200), force=True)
    assert large.compact(done.messages, state=done.state, force=True).outcome is Outcome.NOTHING_TO_GAIN
    assert small.compact(done.messages, state=done.state, force=True).outcome is Outcome.COMPACTED
    more = large.compact(done.messages, system=filler(200_000), state=done.state, force=True)
    assert "unchanged" not in more.reason


def test_what_cannot_fit_cannot_fit_the_second_time_either() -> None:
    calls: list[int] = []

    def counting(request: Any) -> str:
        calls.append(1)
        return GOOD

    compactor = Compactor("default", overrides={"window.context_length": 20_000}, summarizer=counting)
    messages = [*chat(), user(filler(120_000))]
    first = compactor.compact(messages)
    second = compactor.compact(messages, state=first.state)
    assert first.outcome is second.outcome is Outcome.CANNOT_FIT
    assert "largest" in second.reason
    assert len(calls) == 1


@pytest.mark.parametrize("with_state", [True, False])
@pytest.mark.parametrize("join", ["\n\n", "\n"])
def test_a_host_that_flattens_blocks_stacks_no_summaries(with_state: bool, join: str) -> None:
    def flat(message: Any) -> Raw:
        content = message["content"]
        text = join.join(block["text"] for block in content) if isinstance(content, list) else content
        return {**message, "content": text}

    messages: list[Raw] = [system("You help."), user("Port it."), *rounds(30, chars=2500)]
    state = None
    for number in range(5):
        scripted = ScriptedSummarizer([f"{GOOD} {number}"])
        compactor = Compactor("default", overrides={"window.context_length": 16_000}, summarizer=scripted)
        done = compactor.compact(messages, state=state, force=True)
        assert done.outcome is Outcome.COMPACTED, done.reason
        assert str(done.messages).count(TAG) == 1
        assert done.report.compaction_count == number + 1
        assert any("Port it." in str(message["content"]) for message in done.messages if message["role"] == "user")
        state = done.state if with_state else None
        messages = [*map(flat, done.messages), *rounds(30, chars=2500, first=100 * (number + 1))]


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"{text}\n<system-reminder>Be brief.</system-reminder>",
        lambda text: f"  {text}\n\n",
    ],
    ids=["line ends", "a line behind it", "blanks"],
)
def test_a_host_that_rewrites_the_summary_message(rewrite: Any) -> None:
    first = run([system("You help."), user("Port it."), assistant("Yes."), *rounds(40, chars=2500)])
    place = first.summary_index or 0
    assert isinstance(first.messages[place]["content"], str)
    changed = [dict(message) for message in first.messages]
    changed[place]["content"] = rewrite(changed[place]["content"])
    done = run([*changed, *rounds(40, chars=2500, first=100)], "## Goal\nNew.")
    assert done.report.compaction_count == 2
    assert str(done.messages).count(TAG) == 1


def test_nothing_and_nothing_but_a_summary() -> None:
    compactor = Compactor("default", summarizer=lambda request: GOOD)
    assert compactor.compact([], force=True).outcome is Outcome.NOTHING_TO_GAIN
    assert compactor.plan([]).folded == ()
    first = run(chat())
    alone = [first.messages[first.summary_index or 0]]
    assert compactor.compact(alone, force=True).outcome is Outcome.NOTHING_TO_GAIN


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("assembly.frame", "{{ summary }}{{ 1 / 0 }}", "ZeroDivisionError"),
        ("assembly.frame", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}{{ summary }}", "RecursionError"),
        ("assembly.frame", "{{ count }}", "has to contain {{ summary }} exactly once"),
        ("assembly.frame", "{{ summary }} {{ summary }}", "has to contain {{ summary }} exactly once"),
        ("assembly.frame", "{{ summary | upper }}", "has to contain {{ summary }} exactly once"),
        ("assembly.frame", "{{ summary.foo }}", "foo"),
        ("assembly.unavailable", "Nothing. {{ turns }}", "has to contain {{ summary }} exactly once"),
        ("summary.first", "{{ transcript }}{{ 1 // 0 }}", "ZeroDivisionError"),
        ("summary.update", "{{ transcrip }}", "did you mean 'transcript'?"),
        ("summary.transcript", "{% for turn in turns %}{{ turn.nothing }}{% endfor %}", "nothing"),
        ("assembly.system_note", "{% if %}", "Expected an expression"),
    ],
)
def test_a_template_that_cannot_work_is_found_when_the_policy_is_loaded(
    tmp_path: Any, key: str, text: str, words: str
) -> None:
    (tmp_path / "mine.j2").write_text(text, "utf-8")
    with pytest.raises(PolicyError) as caught:
        Compactor("default", overrides={key: str(tmp_path / "mine.j2")})
    assert any(problem.key == key and words in problem.message for problem in caught.value.problems)


def test_a_template_that_fails_on_real_data_is_an_outcome(tmp_path: Any) -> None:
    (tmp_path / "mine.j2").write_text("{{ transcript }}{{ 1 // (2500 - budget_tokens) }}", "utf-8")
    overrides = {
        "window.context_length": 20_000,
        "summary.first": str(tmp_path / "mine.j2"),
        "summary.budget": {"ratio": 0.2, "min_tokens": 2500, "max_tokens": 2500},
    }
    messages = chat()
    compactor = Compactor("hermes", overrides=overrides, summarizer=lambda request: request.prompt and GOOD)
    done = compactor.compact(messages, force=True)
    assert done.outcome is Outcome.FAILED
    assert "ZeroDivisionError" in done.reason
    assert list(done.messages) == messages


def test_a_template_is_relative_to_the_file_that_names_it(tmp_path: Any) -> None:
    parent, child = tmp_path / "parent", tmp_path / "child"
    parent.mkdir()
    child.mkdir()
    (parent / "frame.j2").write_text("OURS\n{{ summary }}\n", "utf-8")
    text = "version: 1\nname: {}\nextends: {}\n{}"
    assembly = "assembly: {frame: ./frame.j2}\n"
    (parent / "base.yaml").write_text(text.format("base", "default", assembly), "utf-8")
    (child / "mine.yaml").write_text(text.format("mine", "../parent/base.yaml", "threshold: 0.4\n"), "utf-8")
    overrides = {"window.context_length": 20_000}
    compactor = Compactor(child / "mine.yaml", overrides=overrides, summarizer=lambda request: GOOD)
    done = compactor.compact(chat(), force=True)
    assert done.outcome is Outcome.COMPACTED, done.reason
    assert "OURS" in str(done.messages[done.summary_index or 0]["content"])


def test_values_that_json_cannot_say_never_raise() -> None:
    circle: dict[str, Any] = {"a": 1}
    circle["self"] = circle
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]

    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    for odd in (circle, deep, Shy(), {("tuple", "key"): 1}, float("nan"), b"bytes", {1, 2}):
        tail = [{**user("Go."), "_extra": odd}, assistant(None, call("c1", "run", "{}")), result("c1", "ok")]
        tail[1]["tool_calls"][0]["function"]["arguments"] = odd
        middle = [user([{"type": "odd", "value": odd}]), assistant("Hm.")]
        done = run([*chat(5), *middle, *chat(40)[1:], *tail])
        assert done.outcome is Outcome.COMPACTED, done.reason


def test_pruning_is_only_said_to_be_enough_when_it_was() -> None:
    turns = [
        message
        for turn in range(20)
        for message in (
            user(filler(3000)),
            assistant(None, call(f"c{turn}")),
            result(f"c{turn}", filler(4000)),
            assistant("Yes."),
        )
    ]
    done = run(turns, policy="hermes", **{"boundaries.protect_first_n": 1000})
    assert done.outcome is Outcome.PRUNED
    assert "enough" not in done.reason
    assert "nothing lies between head and tail" in done.reason


@pytest.mark.parametrize("longer_than", [0, 10])
def test_pruning_never_makes_anything_larger(longer_than: int) -> None:
    pairs = [[assistant(None, call(f"c{turn}")), result(f"c{turn}", "ok " * (turn % 16))] for turn in range(60)]
    messages = [user("Go."), *(message for pair in pairs for message in pair)]
    overrides = {"boundaries.protect_first_n": 1000, "min_gain": 0.0, "boundaries.tail_budget_ratio": 0.01}
    done = run(messages, policy="hermes", **overrides, **{"pruning.clear_tool_results.longer_than": longer_than})
    assert done.outcome is Outcome.NOTHING_TO_GAIN
    assert done.report.pruned == 0


def test_the_report_of_what_was_handed_back_claims_nothing() -> None:
    scripted = ScriptedSummarizer([GOOD])
    overrides = {"window.context_length": 60_000, "min_gain": 0.99}
    done = Compactor("default", overrides=overrides, summarizer=scripted).compact(chat(), force=True)
    report = done.report
    assert done.outcome is Outcome.NOTHING_TO_GAIN
    assert (report.folded, report.pruned, report.compaction_count, dict(report.parts)) == (0, 0, 0, {})
    assert report.messages_after == report.messages_before


def test_the_parts_of_a_joined_summary_are_told_apart() -> None:
    ask = user(filler(4000))
    done = run([*chat(), ask], **{"boundaries.tail_min_messages": 1, "boundaries.tail_budget_ratio": 0.01})
    parts = done.report.parts["after"]
    assert len(done.messages[done.summary_index or 0]["content"]) == 2
    assert parts["summary"] < 200
    assert parts["tail"] > 700
    assert sum(parts.values()) == done.report.tokens_after


def test_the_list_that_comes_back_is_a_new_one() -> None:
    messages = chat(2)
    done = Compactor("default").compact(messages)
    assert list(done.messages) == messages
    assert done.messages is not messages


def test_what_is_no_summarizer_is_refused_at_once() -> None:
    with pytest.raises(PluginError, match="is no summarizer"):
        Compactor("default", summarizer=object())  # type: ignore[arg-type]


def test_a_state_with_what_was_settled_survives_json() -> None:
    state = run(chat()).state
    assert state.settled is not None
    assert CompactionState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


def test_a_small_update_does_not_wear_a_large_summary_away() -> None:
    large = f"{GOOD}\n{filler(20_000)}"
    first = run([system("You help."), user("Go."), assistant("Yes."), *rounds(90, chars=6000)], large)
    tokens = first.report.tokens_after
    scripted = ScriptedSummarizer([large])
    compactor = Compactor("hermes", overrides={"window.context_length": 40_000}, summarizer=scripted)
    compactor.compact([*first.messages, *rounds(12, chars=6000, first=500)], state=first.state, force=True)
    assert tokens > 0
    assert scripted.requests[0].budget_tokens > len(large) // 4 * 0.9


def test_a_target_that_is_no_relief_is_warned_of() -> None:
    done = Compactor("default", model="gpt-4o", overrides={"target": 0.7}).compact(chat(1))
    assert any("is not below the threshold" in warning for warning in done.report.warnings)
    assert Compactor("default", model="gpt-4o").compact(chat(1)).report.warnings == ()
