"""``compactor check``: the verdict, every rule and what it says, the numbers, and what to do next."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compactor.testing import assistant, call, result, rounds, system, user

from .conftest import LONG, SMALL_WINDOW, Run

RULES = """\
version: 1
name: mine
extends: default
triggers:
  - name: ahead
    at: before_call
    when: tokens >= threshold_tokens * 0.5
    background: true
  - {name: full, at: turn_start, when: tokens >= threshold_tokens}
  - {name: loop, at: tool_results, when: message_count > 10}
  - {name: share, at: before_call, when: tokens / compaction_count > 3}
  - {name: overflow, at: error, error: context_overflow}
  - {name: asked, at: manual, when: tokens > 10}
"""

WEIGHS_NO_BODY = ("--set", "triggers=[{name: a, at: before_call, when: message_count > 900}]")


@pytest.fixture
def mine() -> tuple[str, str]:
    """The options for a policy with a rule for every moment, one of which cannot be computed."""
    Path("policies").mkdir()
    Path("policies/mine.yaml").write_text(RULES, encoding="utf-8")
    return "--policy", "mine"


def checked(run: Run, *arguments: str) -> dict[str, Any]:
    told = run("check", *arguments, "--json")
    assert (told.exit_code, told.stderr) == (0, "")
    return dict(json.loads(told.stdout))


def rows(text: str) -> dict[str, list[str]]:
    """The lines by their first word, split where columns end."""
    return {line.split()[0].rstrip(":"): re.split(r"\s{3,}", line) for line in text.splitlines() if line.strip()}


def written(name: str, messages: list[dict[str, Any]]) -> str:
    Path(name).write_text(json.dumps(messages), encoding="utf-8")
    return name


def test_due(run: Run) -> None:
    told = run("check", "long.json", *SMALL_WINDOW)
    assert told.exit_code == 0
    assert told.stdout.splitlines()[0] == "Due: trigger 'tokens': tokens >= threshold_tokens"
    assert "window 16,000 (policy window.context_length); policy default (shipped:default.yaml)" in told.stdout
    found = rows(told.stdout)
    assert re.search(r"^tokens +yes +tokens >= threshold_tokens +shipped:default\.yaml:\d+$", told.stdout, re.M)
    assert found["large_body"][:3] == ["large_body", "no", "bytes >= 4000000 or images >= 50"]
    assert found["threshold_tokens"] == ["threshold_tokens", "8,000", "the policy's `threshold` in tokens"]


def test_not_due(run: Run) -> None:
    told = run("check", "short.json")
    assert told.exit_code == 0
    assert re.match(r"Not due: \d+ tokens, under the threshold of 64,000\n", told.stdout)
    assert "warning: no model was named" in told.stdout
    assert "next: " not in told.stdout


def test_rules_of_other_moments(run: Run, mine: tuple[str, str]) -> None:
    found = rows(run("check", "long.json", *mine, "--at", "turn_start").stdout)
    line = {
        name: number for number, text in enumerate(RULES.splitlines(), 1) for name in re.findall("name: (.+?),", text)
    }
    assert found["loop"] == [
        f"loop: asked when tool results are sent: message_count > 10 (policies/mine.yaml:{line['loop']})"
    ]
    assert found["overflow"] == [
        f"overflow: asked when a provider refuses a request (context_overflow): always "
        f"(policies/mine.yaml:{line['overflow']})"
    ]
    assert found["asked"][0].startswith("asked: asked when the caller forces a compaction: tokens > 10 (")
    assert found["full"] == ["full", "no", "tokens >= threshold_tokens", f"policies/mine.yaml:{line['full']}"]
    assert run("check", "long.json", *mine, "--at", "tool_results").stdout.count("asked when a turn begins") == 1


ONE_ROUND = [system("Be brief."), user("Look."), assistant(None, call("a", "ls")), result("a", "x")]


@pytest.mark.parametrize(
    ("messages", "options", "at", "why"),
    [
        (ONE_ROUND, (), "tool_results", "the newest message is a tool result"),
        (ONE_ROUND[:2], (), "turn_start", "the newest message is no tool result"),
        ([*ONE_ROUND, assistant("Done.")], (), "turn_start", "the newest message is no tool result"),
        (ONE_ROUND, ("--at", "auto"), "tool_results", "the newest message is a tool result"),
        (ONE_ROUND, ("--at", "turn_start"), "turn_start", "--at"),
        (ONE_ROUND[:2], ("--at", "tool_results"), "tool_results", "--at"),
    ],
)
def test_the_moment(run: Run, messages: list[dict[str, Any]], options: tuple[str, ...], at: str, why: str) -> None:
    name = written("some.json", messages)
    assert checked(run, name, *options)["at"] == at
    assert f"\nasked at {at} ({why}); " in run("check", name, *options).stdout


def test_the_order_is_that_of_the_questions(run: Run, mine: tuple[str, str]) -> None:
    data = checked(run, "long.json", *mine, "--at", "tool_results")
    assert [(rule["name"], rule["asked"]) for rule in data["rules"]] == [
        ("loop", True),
        ("share", True),
        ("ahead", True),
        ("full", False),
        ("overflow", False),
        ("asked", False),
    ]
    assert (data["due"], data["rule"], data["background"]) == (True, "loop", False)


def test_a_rule_for_the_background(run: Run, mine: tuple[str, str]) -> None:
    options = (*mine, "--context-length", "40000", "--at", "turn_start")
    data = checked(run, "long.json", *options)
    assert (data["rule"], data["background"]) == ("ahead", True)
    assert rows(run("check", "long.json", *options).stdout)["ahead"][:2] == ["ahead (background)", "yes"]


def test_a_condition_that_cannot_be_computed(run: Run, mine: tuple[str, str]) -> None:
    told = run("check", "short.json", *mine).stdout
    assert told.startswith("Not due: no trigger is true ('share': the condition cannot be computed: ")
    assert re.search(r"^share +unknown +tokens / compaction_count > 3 ", told, re.M)
    assert re.search(r"^share: the condition cannot be computed: .*zero; it counts as not true$", told, re.M)
    due = run("check", "long.json", *mine, *SMALL_WINDOW)
    assert due.stdout.startswith("Due: trigger 'loop'")
    assert "share: the condition cannot be computed" in due.stdout  # said whatever else is true
    (rule,) = (rule for rule in checked(run, "short.json", *mine)["rules"] if rule["name"] == "share")
    assert (rule["asked"], rule["true"]) == (True, None)
    assert "zero" in rule["failure"]


def test_a_policy_that_is_not_enabled(run: Run) -> None:
    options = (*SMALL_WINDOW, "--set", "enabled=false")
    told = run("check", "long.json", *options).stdout
    assert told.startswith("Not due: the policy is not enabled (enabled: false)\n")
    assert re.search(r"^tokens +yes ", told, re.M)  # what it would say
    assert "None of these is asked: enabled is false (--set)." in told
    data = checked(run, "long.json", *options)
    assert not data["due"]
    assert not any(rule["asked"] for rule in data["rules"])


def test_no_rules_at_all(run: Run) -> None:
    told = run("check", "long.json", *SMALL_WINDOW, "--set", "triggers=[]")
    assert told.stdout.startswith("Not due: no trigger is true (the policy has none for tool_results)\n")
    assert "rule" not in rows(told.stdout)
    assert rows(told.stdout)["context_length"][1] == "16,000"


def test_where_a_rule_and_its_condition_are_set(run: Run) -> None:
    told = rows(run("check", "short.json", "--set", "triggers.large_body.when=images >= 5").stdout)
    assert re.fullmatch(r"shipped:default\.yaml:\d+; --set", told["large_body"][3])
    misleading = (
        "version: 1\nname: odd\nextends: default\ntriggers:\n- {name: '1', at: manual}\n- {name: '0', at: manual}\n"
    )
    Path("odd.yaml").write_text(misleading, encoding="utf-8")  # names that look like positions
    lines = {rule["name"]: rule["where"] for rule in checked(run, "short.json", "--policy", "odd.yaml")["rules"]}
    assert lines == {"1": "odd.yaml:5", "0": "odd.yaml:6"}


def test_json(run: Run) -> None:
    data = checked(run, "long.json", *SMALL_WINDOW, "--model", "gpt-4o")
    assert (data["due"], data["rule"], data["at"]) == (True, "tokens", "tool_results")
    assert data["reason"] == "trigger 'tokens': tokens >= threshold_tokens"
    assert (data["policy"], data["model"], data["window"]) == ("default", "gpt-4o", 16000)
    assert data["warnings"] == []
    assert data["rules"][0] == {
        "name": "tokens",
        "at": "before_call",
        "error": None,
        "when": "tokens >= threshold_tokens",
        "background": False,
        "asked": True,
        "true": True,
        "failure": None,
        "where": data["rules"][0]["where"],
    }
    assert data["rules"][0]["where"].startswith("shipped:default.yaml:")
    assert data["variables"]["message_count"] == len(LONG)
    assert data["variables"]["tokens"] >= data["variables"]["threshold_tokens"] == 8000
    assert {"images", "media_bytes", "bytes"} <= set(data["variables"])


def test_the_variables_are_those_that_are_asked_for(run: Run) -> None:
    told = run("check", "short.json", *WEIGHS_NO_BODY).stdout
    table = told[told.index("\nvariable ") :].split("\n\n")[0]
    names = [line.split()[0] for line in table.splitlines()[3:] if line and not line.startswith(" ")]
    assert names == ["tokens", "message_count", "threshold_tokens", "context_length"]
    data = checked(run, "short.json", *WEIGHS_NO_BODY)["variables"]
    assert "bytes" not in data
    assert {"estimated_tokens", "protect_last_n", "compaction_count"} <= set(data)


ANSWERED = [user("Look."), assistant("There is nothing."), user("Look again.")]


def test_the_usage_that_was_reported(run: Run) -> None:
    name = written("answered.json", ANSWERED)
    data = checked(run, name, *SMALL_WINDOW, "--usage", "9000")
    assert (data["due"], data["variables"]["reported_tokens"]) == (True, 9000)
    assert 9000 < data["variables"]["tokens"] < 9100  # the answer and what came after it
    assert not checked(run, name, *SMALL_WINDOW)["due"]
    assert not any("--usage" in warning for warning in data["warnings"])


def test_a_usage_that_says_nothing(run: Run) -> None:
    unasked = run("check", written("unasked.json", [user("Look.")]), *SMALL_WINDOW, "--usage", "9000").stdout
    assert unasked.startswith("Not due: ")
    assert "warning: --usage 9000 does not count: the conversation holds no answer" in unasked
    assert run("compress", "long.json", *SMALL_WINDOW, "-o", "done.json").exit_code == 0
    compacted = checked(run, "done.json", "--usage", "9000")
    assert compacted["variables"]["reported_tokens"] == 0
    assert "the conversation was compacted" in compacted["warnings"][-1]


@pytest.mark.parametrize(
    ("messages", "options", "forced"),
    [
        (LONG, SMALL_WINDOW, False),
        (LONG, (*SMALL_WINDOW, "--policy", "hermes", "--set", "summary.summarizers=[extractive]"), False),
        (LONG, (*SMALL_WINDOW, "--target", "0.3", "--set", "boundaries.anchors=[last_user]"), False),
        # Few messages and many tokens: hermes asks for that only where tool results are sent.
        (
            [user("Look."), *rounds(8, chars=6000)],
            (*SMALL_WINDOW, "--policy", "hermes", "--set", "summary.summarizers=[extractive]"),
            True,
        ),
        ([*LONG, assistant("Done.")], ("--context-length", "30000", "--usage", "16000"), True),
    ],
    ids=["default", "hermes", "with a target", "only for tool results", "only by usage"],
)
def test_what_to_do_next(run: Run, messages: list[dict[str, Any]], options: tuple[str, ...], forced: bool) -> None:
    name = written("a session.json", messages)
    told = run("check", name, *options).stdout
    assert told.startswith("Due: ")
    plan, compress = (shlex.split(line)[2:] for line in told.splitlines() if line.startswith("next: "))
    again = [text for text in options if text not in ("--usage", "16000" if "--usage" in options else "")]
    assert (plan[0], sorted(plan[1:])) == ("plan", sorted([name, *again]))
    assert sorted(compress[1:]) == sorted([name, *again, *(["--force"] if forced else []), "-o", "OUT"])
    assert ("\nnote: compress asks the rules at turn_start" in told) is forced
    assert "would be folded" in run(*plan).stdout
    saved = run(*compress)
    assert saved.exit_code == 0
    assert saved.stderr.startswith("Compacted: ")
    assert len(json.loads(Path("OUT").read_text(encoding="utf-8"))) < len(messages)


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_width_cuts_anything(run: Run, mine: tuple[str, str], monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    told = run("check", "long.json", *mine, "--at", "turn_start").stdout
    lines = told.splitlines()
    assert all(len(line) <= width and line == line.rstrip() for line in lines if not line.startswith("next: "))
    for text in ("policies/mine.yaml:5", "tokens / compaction_count > 3", "tokens >= threshold_tokens * 0.5"):
        assert any(text in line for line in lines)
    assert "how often this conversation has been compacted" in " ".join(told.split())


def test_conditions_have_a_line_of_their_own_where_columns_are_few(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("check", "long.json", *SMALL_WINDOW).stdout.splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("large_body"))
    assert re.fullmatch(r"large_body +no +shipped:default\.yaml:\d+", lines[place])
    assert lines[place + 1] == "    bytes >= 4000000 or images >= 50"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at", "error"), "Invalid value for '--at'"),
        (("--usage", "0"), "Invalid value for '--usage'"),
        (("--usage", "many"), "Invalid value for '--usage'"),
        (("--policy", "defalt"), "there is no policy 'defalt'"),
        (("--set", "thresold=0.6"), "--set: thresold: unknown key"),
        (("--set", "triggers.tokens.when=tokns > 1"), "unknown variable 'tokns'"),
        (("--context-length", "big"), "--context-length: window.context_length"),
        (("--summarizer", "extractive"), "No such option"),
    ],
)
def test_bad_options(run: Run, options: tuple[str, ...], message: str) -> None:
    told = run("check", "short.json", *options)
    assert (told.exit_code, told.stdout) == (2, "")
    assert message in told.stderr


def test_bad_files(run: Run) -> None:
    Path("bad.json").write_text("12", encoding="utf-8")
    for name, message in (("bad.json", "the JSON is a single value"), ("nope.json", "there is no such file")):
        told = run("check", name)
        assert (told.exit_code, told.stdout) == (2, "")
        assert told.stderr.startswith(f"error: {name}: ")
        assert message in told.stderr


def test_what_a_plugin_prints_is_no_part_of_the_json(run: Run) -> None:
    hook = "import compactor\n\nprint('loaded')\n\n\n@compactor.hookimpl\ndef on_post_compress(event):\n    pass\n"
    Path("loud.py").write_text(hook, encoding="utf-8")
    Path("loud.yaml").write_text("version: 1\nname: loud\nextends: default\nplugins: [{use: ./loud.py}]\n", "utf-8")
    told = run("check", "short.json", "--policy", "loud.yaml", "--json")
    assert json.loads(told.stdout)["policy"] == "loud"
    assert "loaded" in told.stderr


def test_standard_input(run: Run) -> None:
    told = run("check", "-", *SMALL_WINDOW, given=json.dumps(LONG)).stdout
    assert "next: compactor plan - --context-length 16000\n" in told


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("check", "--help"), ("rich", "tiktoken", "jinja2", "yaml")),
        (("check", "long.json"), ("litellm", "sqlalchemy")),
    ],
)
def test_what_it_imports(arguments: tuple[str, ...], unwanted: tuple[str, ...]) -> None:
    code = (
        "import sys\nfrom compactor.cli.main import run\ntry:\n    run()\nfinally:\n"
        "    print('MODULES', *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    imported = set(done.stderr.rpartition("MODULES ")[2].split())
    assert "compactor.cli.check" in imported
    assert not imported.intersection(unwanted)
