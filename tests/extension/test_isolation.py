"""No plugin breaks or holds up a compaction: row G5 of the fault list, and worse."""

import copy
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from compactor import CompactionResult, Compactor, Outcome
from compactor.testing import ScriptedSummarizer

from .conftest import SESSION, Place

Compact = Callable[[Compactor], CompactionResult]

FAILURES = {
    "raises": "RuntimeError: the database is gone",
    "raises_async": "RuntimeError: the socket is closed",
    "raises_unprintable": "Unprintable: (it cannot be shown)",
    "sleeps": "no answer within 0.2 s",
    "sleeps_async": "no answer within 0.2 s",
    "wrong_type": "returned dict, not a text or None",
    "mutates": "FrozenInstanceError: cannot assign to field 'role'",
    "exits": "SystemExit: 3",
    "interrupts": "KeyboardInterrupt: ",
    "interrupts_async": "KeyboardInterrupt: ",
    "base_exception": "Own: caught by nobody",
}


def uses(place: Place, name: str, **settings: object) -> dict[str, object]:
    return {"use": place.copy(name)[0], "deadline": 0.2, **settings}


@pytest.mark.parametrize(("name", "failure"), FAILURES.items())
def test_a_failure_is_reported_and_the_compaction_goes_on(
    place: Place, compact: Compact, name: str, failure: str
) -> None:
    before = copy.deepcopy(SESSION)
    done = compact(place.compactor(uses(place, name), *place.copy("good")))
    assert done.outcome is Outcome.COMPACTED, done.reason
    hostile, good = done.report.plugins
    assert (hostile.plugin, hostile.hook, hostile.failure) == (name, "on_pre_compress", failure)
    assert hostile.tokens == 0
    assert hostile.seconds < 1
    assert (good.plugin, good.failure) == ("good", None)
    assert good.tokens > 0
    assert before == SESSION


@pytest.mark.parametrize(("name", "failure"), FAILURES.items())
def test_a_required_plugin_that_fails_hands_the_input_back(
    place: Place, compact: Compact, name: str, failure: str
) -> None:
    done = compact(place.compactor(uses(place, name, required=True), *place.copy("good")))
    assert done.outcome is Outcome.FAILED
    assert f"required plugin {name!r} failed in on_pre_compress: {failure}" in done.reason
    assert [call.plugin for call in done.report.plugins] == [name]
    assert all(kept is given for kept, given in zip(done.messages, SESSION, strict=True))


@pytest.mark.parametrize("name", [*FAILURES, "forces"])
def test_the_result_is_that_without_the_plugin(place: Place, compact: Compact, name: str) -> None:
    with_it = compact(place.compactor(uses(place, name)))
    without = compact(place.compactor())
    assert list(with_it.messages) == list(without.messages)


@pytest.mark.parametrize("name", ["good", "good_async", "threads", "false_text"])
def test_what_works_is_used(place: Place, compact: Compact, name: str) -> None:
    scripted = ScriptedSummarizer(["## Goal\nGo on."])
    done = compact(place.compactor(uses(place, name), summarizer=scripted))
    assert done.report.plugins[0].failure is None
    assert "GOOD: " in scripted.requests[0].prompt


def test_50_mb_are_cut_to_the_limit_at_once(place: Place, compact: Compact) -> None:
    started = time.perf_counter()
    done = compact(place.compactor(uses(place, "huge", deadline=10, max_tokens=100)))
    assert time.perf_counter() - started < 5
    (report,) = done.report.plugins
    assert report.failure is None
    assert report.cut
    assert 50 < report.tokens <= 100
    assert done.outcome is Outcome.COMPACTED


@pytest.mark.parametrize("hook", ["on_post_compress", "on_compaction_failed"])
def test_a_failure_after_the_fact_is_reported_only(place: Place, compact: Compact, hook: str) -> None:
    code = f"import compactor\n\n@compactor.hookimpl\ndef {hook}(event):\n    raise RuntimeError(event.outcome)\n"
    plugin = {"use": place.write("late", code), "required": True}
    good = hook == "on_post_compress"
    summary = {} if good else {"summary": {"summarizers": ["litellm"], "on_failure": "abort"}}
    done = compact(place.compactor(plugin, **summary))
    assert done.outcome is (Outcome.COMPACTED if good else Outcome.FAILED), done.reason
    assert done.report.plugins[-1].failure == f"RuntimeError: {done.outcome}"


def test_the_report_of_one_plugin_is_not_changed_by_another(place: Place, compact: Compact) -> None:
    code = (
        "import compactor\n\n@compactor.hookimpl\ndef on_post_compress(event):\n"
        "    assert event.report['policy'] == 'test'\n    event.report['policy'] = 'mine'\n"
    )
    done = compact(place.compactor(place.write("one", code), place.write("two", code)))
    assert [report.failure for report in done.report.plugins] == [None, None]
    assert done.report.policy == "test"


@pytest.mark.parametrize(
    ("registers", "uses_it", "reason"),
    [
        ("register_pruners", {"pruning": [{"use": "bad"}]}, "pruner 'bad' failed: RuntimeError: no"),
        ("register_redactors", {"redaction": {"redactors": ["bad"]}}, "redactor 'bad' failed: RuntimeError"),
    ],
)
def test_a_pruner_or_redactor_that_raises_hands_the_input_back(
    place: Place, compact: Compact, registers: str, uses_it: dict[str, object], reason: str
) -> None:
    code = (
        "import compactor\nfrom pydantic import BaseModel\n\nclass Bad(BaseModel):\n"
        "    def prune(self, messages, context):\n        raise RuntimeError('no')\n"
        "    def redact(self, text):\n        raise RuntimeError('no')\n\n"
        f"@compactor.hookimpl\ndef {registers}():\n    return {{'bad': Bad}}\n"
    )
    done = compact(place.compactor(place.write("bad", code), **uses_it))
    assert (done.outcome, done.reason) == (Outcome.FAILED, reason)
    assert list(done.messages) == SESSION


def test_a_compactor_is_used_from_eight_threads(place: Place) -> None:
    compactor = place.compactor(*place.copy("good", "good_async", "raises"))
    expected = compactor.compact(SESSION, force=True)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: compactor.compact(SESSION, force=True), range(16)))
    for done in results:
        assert list(done.messages) == list(expected.messages)
        calls = [(call.plugin, call.failure) for call in done.report.plugins]
        assert calls == [("good", None), ("good_async", None), ("raises", FAILURES["raises"])]
