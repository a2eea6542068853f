"""``compactor plan``: the fate of every message, and tokens by part."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compactor.cli.bars import split_cells
from compactor.testing import assistant, call, filler, result, system, user

from .conftest import DATA, LONG, SMALL_WINDOW, Run


def test_the_table(run: Run) -> None:
    told = run("plan", "long.json", *SMALL_WINDOW)
    assert told.exit_code == 0
    assert told.stdout.startswith("Due: trigger 'tokens': tokens >= threshold_tokens. 76 messages would be folded")
    for text in (
        "4-79",
        "fold (middle)",
        "keep (tail)",
        "boundaries.tail_budget_ratio (shipped:hermes.yaml:",
        "--all shows every one",
        "Make the build faster",
    ):
        assert text in told.stdout


def test_every_message(run: Run) -> None:
    rows = [line.split()[0] for line in run("plan", "long.json", *SMALL_WINDOW, "--all").stdout.splitlines() if line]
    assert [row for row in rows if row.isdecimal()] == [str(index) for index in range(len(LONG))]
    few = run("plan", DATA / "login_fix.jsonl").stdout
    assert "--all" not in few
    assert "read_file" in few


def test_the_line_is_that_of_the_policy_at_work(run: Run) -> None:
    Path("policies").mkdir()
    text = "version: 1\nname: mine\nextends: default\nboundaries:\n  protect_first_n: 2\n"
    Path("policies/mine.yaml").write_text(text, encoding="utf-8")
    told = run("plan", "long.json", *SMALL_WINDOW, "--policy", "mine", "--set", "boundaries.tail_budget_ratio=0.1")
    assert "boundaries.protect_first_n (policies/mine.yaml:5)" in told.stdout
    assert "boundaries.tail_budget_ratio (--set)" in told.stdout


def test_json(run: Run) -> None:
    data = json.loads(run("plan", "long.json", *SMALL_WINDOW, "--json").stdout)
    assert (data["due"], data["trigger"], data["folded"]) == (True, "tokens", 76)
    assert [fate["index"] for fate in data["fates"]] == list(range(len(LONG)))
    assert {fate["becomes"] for fate in data["fates"]} == {"keep", "fold"}
    assert sum(data["parts"]["before"].values()) == data["tokens"]
    assert data["parts"]["after"]["summary"] == data["summary_tokens"]
    assert data["fates"][5]["where"].startswith("shipped:hermes.yaml:")


def test_a_system_prompt_that_stands_apart(run: Run) -> None:
    data = json.loads(run("plan", DATA / "release_notes.json", "--json").stdout)
    assert (data["fates"][0]["index"], data["fates"][0]["role"]) == (None, "system")
    assert data["parts"]["before"]["tools"] > 0


def test_nothing_to_fold_says_which_key_to_change(run: Run) -> None:
    told = run("plan", "short.json").stdout
    assert told.startswith("Not due: ")
    assert "Nothing would be folded." in told
    assert "--set boundaries." in told


@pytest.mark.parametrize(
    ("messages", "parts"),
    [
        ([user("hi"), assistant("hello"), user("bye")], {"head"}),
        ([system("Be brief."), user("hi")], {"system", "head"}),
        ([user("hi"), *LONG[2:8], user("bye")], {"head", "tail"}),
    ],
)
def test_a_part_without_messages_costs_nothing(run: Run, messages: list[dict[str, Any]], parts: set[str]) -> None:
    Path("few.json").write_text(json.dumps(messages), encoding="utf-8")
    data = json.loads(run("plan", "few.json", "--json").stdout)
    assert data["folded"] == 0
    for side in ("before", "after"):
        assert {name for name, tokens in data["parts"][side].items() if tokens} == parts
        assert sum(data["parts"][side].values()) == data["tokens"]


def test_pruning_that_is_enough(run: Run) -> None:
    told = run("plan", "long.json", *SMALL_WINDOW, "--set", "stop_after_pruning=true", "--target", "0.9").stdout
    assert "messages would be enough." in told


GROUPED = [
    system("You are a coding agent."),
    user("Fix the parser."),
    assistant(None, call("a", "read_file"), call("b", "read_file")),
    result("a", filler(1500)),
    result("b", filler(1500)),
    *LONG[2:],
]
"""A session whose first three messages end within a group."""


@pytest.mark.parametrize("every", [(), ("--all",)])
@pytest.mark.parametrize("width", [60, 80, 99, 100, 119, 120, 121, 140, 160, 200])
def test_no_width_cuts_a_reason(run: Run, monkeypatch: pytest.MonkeyPatch, width: int, every: tuple[str, ...]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    Path("grouped.json").write_text(json.dumps(GROUPED), encoding="utf-8")
    lines = run("plan", "grouped.json", *SMALL_WINDOW, *every).stdout.splitlines()
    assert all(len(line) <= width and line == line.rstrip() for line in lines)
    for key in ("boundaries.protect_first_n", "boundaries.tail_budget_ratio"):
        assert any(re.search(rf"{key} \(shipped:hermes\.yaml:\d+\)", line) for line in lines)
    assert any("in one group with a protected message" in line for line in lines)


def test_a_reason_has_a_line_of_its_own_where_columns_are_few(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("plan", "long.json", *SMALL_WINDOW).stdout.splitlines()
    assert "\x1b" not in "".join(lines)
    place = next(place for place, line in enumerate(lines) if line.startswith("4-79"))
    assert re.fullmatch(r"    boundaries\.tail_budget_ratio \(shipped:hermes\.yaml:\d+\)", lines[place + 1])


def test_a_head_beyond_the_protected_messages_is_explained(run: Run) -> None:
    Path("grouped.json").write_text(json.dumps(GROUPED), encoding="utf-8")
    told = run("plan", "grouped.json", *SMALL_WINDOW).stdout.splitlines()
    rows = {line.split()[0]: line for line in told if line.strip()}
    assert "in one group" not in rows["1-2"]
    assert "in one group with a protected message" in rows["3-4"]


def test_the_numbers_and_what_pruning_leaves(run: Run) -> None:
    told = run("plan", "long.json", *SMALL_WINDOW).stdout
    assert "tail budget 1,600 tokens, up to 2,400;" in told
    assert "up to" not in run("plan", "long.json", "--set", "boundaries.tail_soft_ceiling=1").stdout
    kept = "Kept messages that are pruned stay in place"
    assert kept not in run("plan", "short.json").stdout
    Path("grouped.json").write_text(json.dumps(GROUPED), encoding="utf-8")
    assert kept in run("plan", "grouped.json", *SMALL_WINDOW).stdout


def test_a_text_that_is_cut_says_so(run: Run) -> None:
    long = " ".join(["word"] * 100)
    Path("text.json").write_text(json.dumps([user(long), assistant("short"), user("bye")]), encoding="utf-8")
    rows = {line.split()[0]: line for line in run("plan", "text.json").stdout.splitlines() if line.strip()}
    assert rows["0"].endswith("word…")
    assert rows["1"].endswith("short")
    assert json.loads(run("plan", "text.json", "--json").stdout)["fates"][0]["preview"].endswith("…")


@pytest.mark.parametrize(
    ("parts", "width", "cells"),
    [
        ({"head": 50, "tail": 50}, 10, {"head": 5, "tail": 5}),
        ({"head": 1, "middle": 1000, "tail": 1}, 10, {"head": 1, "middle": 8, "tail": 1}),
        ({"head": 1, "middle": 1, "tail": 1}, 10, {"head": 4, "middle": 3, "tail": 3}),
        ({"head": 0, "tail": 7}, 10, {"tail": 10}),
        ({"head": 1, "middle": 1, "tail": 1}, 2, {"head": 1, "middle": 1, "tail": 1}),
        ({}, 10, {}),
    ],
)
def test_cells(parts: dict[str, int], width: int, cells: dict[str, int]) -> None:
    assert split_cells(parts, width) == cells
