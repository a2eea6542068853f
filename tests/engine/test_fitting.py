"""What does not fit is made to fit where that can be done without losing a word that a person said."""

from typing import Any

import pytest

from compactor import Compactor, Outcome
from compactor.testing import ScriptedSummarizer, assistant, call, filler, result, rounds, system, user

Raw = dict[str, Any]
GOOD = "## Goal\nShip it."


def compact(messages: list[Raw], **overrides: Any) -> Any:
    changed = {"window.context_length": 8_000, "counter": "estimate", **overrides}
    return Compactor("default", overrides=changed, summarizer=ScriptedSummarizer([GOOD]), environ={}).compact(messages)


def asked(*results: int) -> list[Raw]:
    """A request, and a round of parallel calls with results of so many characters, which nobody has answered yet."""
    calls = [call(f"c{place}", "read", {"path": f"{place}.log"}) for place in range(len(results))]
    answers = [result(f"c{place}", f"<{place}>{filler(chars)}</{place}>") for place, chars in enumerate(results)]
    return [system("You help."), user("Read the logs."), assistant("Reading.", *calls), *answers]


def test_c5_one_huge_result_is_cut_to_its_ends() -> None:
    messages = asked(400_000)
    done = compact(messages)
    assert done.outcome is Outcome.PRUNED
    assert done.report.tokens_after <= 8_000
    said = done.messages[-1]["content"]
    assert said.startswith("<0>the build")
    assert said.endswith("</0>")
    assert "characters cut to fit the window ...]" in said
    assert list(done.messages[:-1]) == messages[:-1]
    assert done.messages[-1]["tool_call_id"] == "c0"


def test_of_several_the_oldest_give_way_first() -> None:
    done = compact(asked(20_000, 20_000, 20_000))
    lengths = [len(message["content"]) for message in done.messages[-3:]]
    assert lengths[0] < lengths[1] <= lengths[2] == 20_000 + 7
    assert done.report.tokens_after <= 8_000


def test_turns_before_are_folded_and_what_is_left_is_cut() -> None:
    messages = [*asked(400)[:-1], result("c0", "ok"), *rounds(12, chars=3_000), assistant("Read."), *asked(90_000)[1:]]
    done = compact(messages)
    assert done.outcome is Outcome.COMPACTED
    assert done.report.tokens_after <= 8_000
    assert "cut to fit the window" in done.messages[-1]["content"]
    assert messages[-3] in list(done.messages), "the newest request is there word for word"


def test_nothing_is_cut_where_everything_fits() -> None:
    messages = asked(20_000)
    done = compact([*messages[:2], *rounds(12, chars=3_000), assistant("Read."), *messages[1:]])
    assert done.messages[-1] is messages[-1]


def test_results_that_nobody_has_read_are_not_cleared() -> None:
    messages = asked(9_000, 9_000, 9_000)
    done = compact([*messages[:2], *rounds(12, chars=3_000), assistant("Read."), *messages[1:]])
    assert [message["content"] for message in done.messages[-3:]] == [message["content"] for message in messages[-3:]]


def test_what_a_person_said_is_never_cut() -> None:
    done = compact([system("You help."), user(filler(60_000))])
    assert done.outcome is Outcome.CANNOT_FIT


def test_a_policy_can_leave_it() -> None:
    done = compact(asked(400_000), **{"boundaries.shrink_to_fit": False})
    assert done.outcome is Outcome.CANNOT_FIT


def test_any_gain_is_enough_where_the_result_fits_and_the_request_did_not() -> None:
    messages = [user("Hi."), *(m for i in range(4) for m in (assistant(filler(220)), user(f"Next {i}.")))]
    messages += [assistant(filler(24_000)), user("Go on.")]
    done = compact(messages, **{"window.context_length": 4_407})
    assert done.outcome is Outcome.COMPACTED
    assert 4_407 * 0.95 < done.report.tokens_after <= 4_407 < done.report.tokens_before


@pytest.mark.parametrize("content", [None, [], [{"type": "text", "text": "x" * 50_000}], "\ud800" * 50_000])
def test_odd_results_are_cut_or_left(content: Any) -> None:
    messages = [*asked(0)[:-1], result("c0", content)]
    done = compact(messages)
    assert done.outcome in (Outcome.PRUNED, Outcome.NOT_NEEDED, Outcome.CANNOT_FIT)
    assert isinstance(done.messages[-1]["content"], type(content))
