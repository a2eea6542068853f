"""What wins over what, where a value came from, and how overrides reach their key."""

from typing import Any

import pytest

from compactor.policy.models import model_matches
from compactor.policy.overrides import parse_set
from compactor.policy.tree import DEFAULT

from .conftest import Load, Refused, Write

LISTS = """\
pruning:
  - {use: shrink, size: 5}
summary:
  sections:
    - {id: goal, title: Goal}
    - {id: progress, title: Progress, parts: [{id: done, title: Done}]}
triggers:
  - {name: often, at: turn_start, when: tokens > 5}
models:
  - {match: gpt-4.1*, min_gain: 0.1}
"""


def test_the_ladder(write: Write, load: Load, environ: dict[str, str]) -> None:
    rungs = []

    def climb(**arguments: Any) -> None:
        loaded = load(**arguments)
        rungs.append((loaded.policy.min_gain, loaded.line("min_gain")))

    write("")
    climb()
    write("min_gain: 0.1", "policies/parent.yaml")
    write("extends: parent")
    climb()
    write("extends: parent\nmin_gain: 0.2")
    climb()
    write("extends: parent\nmin_gain: 0.2\nmodels:\n  - {match: m*, min_gain: 0.3}\n  - {match: m1, min_gain: 0.4}\n")
    climb(model="other")
    climb(model="m2")
    climb(model="m1")
    environ["COMPACTOR_POLICY__MIN_GAIN"] = "0.5"
    climb(model="m1")
    climb(model="m1", overrides=[parse_set("min_gain=0.6")])
    climb(model="m1", overrides={"min_gain": 0.7})
    assert rungs == [
        (0.05, "default"),
        (0.1, "policies/parent.yaml:3"),
        (0.2, "policies/mine.yaml:4"),
        (0.2, "policies/mine.yaml:4"),
        (0.3, "policies/mine.yaml:6"),
        (0.4, "policies/mine.yaml:7"),
        (0.5, "COMPACTOR_POLICY__MIN_GAIN"),
        (0.6, "--set"),
        (0.7, "<overrides>"),
    ]


@pytest.mark.parametrize(
    ("pattern", "model", "fits"),
    [
        ("claude[1m]", "claude[1m]", True),
        ("claude[1m]", "anthropic/claude[1m]", True),
        ("claude[1m]", "claude1", False),
        ("claude-*", "anthropic/Claude-Sonnet", True),
        ("anthropic/*", "anthropic/claude", True),
        ("anthropic/*", "claude", False),
        ("gpt-4?", "gpt-4o", True),
        ("gpt-4?", "gpt-4", False),
        ("gpt-4.1", "gpt-431", False),
        ("*", "", True),
    ],
)
def test_model_patterns(pattern: str, model: str, fits: bool) -> None:
    assert model_matches(pattern, model) is fits


def test_overrides_by_model_are_partial(write: Write, load: Load) -> None:
    write("boundaries: {protect_first_n: 1}\nmodels:\n  - {match: 'claude[1m]', boundaries: {protect_last_n: 2}}\n")
    boundaries = load(model="anthropic/claude[1m]").policy.boundaries
    assert (boundaries.protect_first_n, boundaries.protect_last_n) == (1, 2)


@pytest.mark.parametrize(
    ("assignment", "attribute", "value"),
    [
        ("threshold=0.6", "threshold", 0.6),
        ("summary.model=gpt-4o", "summary.model", "gpt-4o"),
        ("summary.model=", "summary.model", None),
        ("summary.fallback_models=[a, b]", "summary.fallback_models", ("a", "b")),
        ("summary.options.temperature=0", "summary.options", {"temperature": 0}),
        ("pruning.shrink.size=7", "pruning.0.options", {"size": 7}),
        ("pruning.SHRINK.deep.er={a: 1}", "pruning.0.options", {"size": 5, "deep": {"er": {"a": 1}}}),
        ("summary.sections.progress.parts.done.title=Finished", "summary.sections.1.parts.0.title", "Finished"),
        ("summary.sections.0.first=x = y", "summary.sections.0.first", "x = y"),
        ("triggers.often.when=tokens >= 7", "triggers.0.when", "tokens >= 7"),
        ("models.gpt-4.1*.min_gain=0.2", "models.0.overrides", {"min_gain": 0.2}),
    ],
)
def test_set(write: Write, load: Load, assignment: str, attribute: str, value: Any) -> None:
    write(LISTS)
    found: Any = load(overrides=[parse_set(assignment)]).policy
    for part in attribute.split("."):
        found = found[int(part)] if part.isdecimal() else getattr(found, part)
    assert found == value


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("threshold", "threshold: expected key=value (such as threshold=0.6)"),
        ("=5", "=5: expected key=value (such as threshold=0.6)"),
        ("thresold=0.6", "thresold: unknown key (did you mean 'threshold'?)"),
        ("boundaries.protect_frist_n=1", "boundaries.protect_frist_n: unknown key (did you mean 'protect_first_n'?)"),
        ("enabled=yes", "enabled: 'yes' is a boolean to some YAML readers (write true or false, or quote it)"),
        ("pruning.shrnk.size=7", "pruning.shrnk.size: the list has no entry 'shrnk'; there are 'shrink' "
            "(did you mean 'shrink'?)"),
        ("pruning.4.size=7", "pruning.4.size: the list has no entry '4'; there are 'shrink'"),
        ("summary.fallback_models.a=7", "summary.fallback_models.a: the list has no entry 'a'; the list is empty"),
        ("triggers.often.when=tokns", "triggers.0.when: unknown variable 'tokns'; known are 'tokens', "
            "'estimated_tokens', 'reported_tokens', 'new_tokens', 'message_count', 'images', 'media_bytes', 'bytes', "
            "'threshold_tokens', 'target_tokens', 'context_length', 'protect_first_n', 'protect_last_n', "
            "'compaction_count' "
            "(did you mean 'tokens'?)"),
    ],
)  # fmt: skip
def test_set_refusals(write: Write, refused: Refused, assignment: str, expected: str) -> None:
    write(LISTS)
    assert refused(overrides=[parse_set(assignment)]) == [f"--set: {expected}"]


def test_the_environment(write: Write, load: Load, environ: dict[str, str]) -> None:
    write(LISTS)
    environ |= {
        "COMPACTOR_POLICY__BOUNDARIES__PROTECT_FIRST_N": "5",
        "COMPACTOR_POLICY__PRUNING__SHRINK__SIZE": "9",
        "COMPACTOR_POLICY__SUMMARY__SUMMARIZERS": '["a", "b"]',
        "COMPACTOR_TEST_ANYTHING": "x",
        "OTHER": "x",
    }
    loaded = load()
    assert loaded.policy.boundaries.protect_first_n == 5
    assert loaded.policy.pruning[0].options == {"size": 9}
    assert loaded.policy.summary.summarizers == ("a", "b")
    assert loaded.line("pruning.shrink.size") == "COMPACTOR_POLICY__PRUNING__SHRINK__SIZE"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("COMPACTOR_POLCY_PATH", "x", "unknown environment variable (did you mean 'COMPACTOR_POLICY_PATH'?)"),
        ("COMPACTOR_POLICY_TARGET", "1", "unknown environment variable (did you mean 'COMPACTOR_POLICY__TARGET'?)"),
        ("COMPACTOR_POLICY__COUNTR", "a", "countr: unknown key (did you mean 'counter'?)"),
        ("COMPACTOR_POLICY__ENABLED", "5", "enabled: expected true or false, got 5"),
        ("COMPACTOR_POLICY__ENABLED", "on", "enabled: 'on' is a boolean to some YAML readers "
            "(write true or false, or quote it)"),
        ("COMPACTOR_POLICY__PRUNING__X__Y", "1", "pruning.x.y: the list has no entry 'x'; there are 'shrink'"),
    ],
)  # fmt: skip
def test_environment_refusals(
    write: Write, refused: Refused, environ: dict[str, str], name: str, text: str, expected: str
) -> None:
    write(LISTS)
    environ[name] = text
    assert refused() == [f"{name}: {expected}"]


def test_origins(write: Write, load: Load) -> None:
    write("extends: hermes\nboundaries:\n  protect_first_n: 4\n")
    loaded = load(overrides={"counter": "tiktoken"})
    origins = loaded.origins
    assert (origins["boundaries", "protect_first_n"].key, origins["boundaries", "protect_first_n"].value) == (
        "policies/mine.yaml:5:3",
        "policies/mine.yaml:5:20",
    )
    assert origins["counter",].line == "<overrides>"
    assert origins["summary", "sections", 0, "title"].source == "shipped:hermes.yaml"
    assert loaded.line("pruning.clear_tool_results.longer_than").startswith("shipped:hermes.yaml:")
    assert loaded.line("no.such.key") == loaded.line("pruning.nothing") == "default"
    assert DEFAULT not in origins.values(), "hermes spells everything out"


def test_no_anchors_is_warned_about(write: Write, load: Load, caplog: pytest.LogCaptureFixture) -> None:
    write("boundaries: {anchors: []}")
    load()
    assert "policies/mine.yaml:3: no anchors: the newest user message may be folded" in caplog.text
