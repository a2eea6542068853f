"""``compactor compress``: outcomes and their exit codes, the report, and where the result goes."""

import json
import os
import stat
from itertools import pairwise
from pathlib import Path

import pytest

from compactor.testing import filler, user

from .conftest import DATA, LONG, SHORT, SMALL_WINDOW, Run

REPORT_KEYS = {
    *("outcome", "reason", "messages_before", "messages_after", "tokens_before", "tokens_after", "summarizer"),
    *("policy", "trigger", "head", "folded", "tail", "pruned", "repaired", "laws", "window", "window_source"),
    *("threshold_tokens", "model", "warnings"),
}

OUTCOMES = {
    "compacted": (0, "Compacted: ", ("long.json", *SMALL_WINDOW)),
    "pruned": (
        0,
        "Pruned, no summary needed: ",
        ("long.json", *SMALL_WINDOW, "--set", "stop_after_pruning=true", "--target", "0.9"),
    ),
    "not_needed": (0, "Not needed: ", ("long.json",)),
    "nothing_to_gain": (0, "Nothing to gain: ", ("short.json", "--force")),
    "cannot_fit": (1, "Cannot fit: ", ("huge.json", "--context-length", "2000")),
    "failed": (
        1,
        "Failed: ",
        ("long.json", *SMALL_WINDOW, "--summarizer", "litellm", "--set", "summary.on_failure=abort"),
    ),
}


@pytest.fixture(autouse=True)
def huge() -> None:
    """``huge.json``: one message that fits no small window."""
    Path("huge.json").write_text(json.dumps([user(filler(40_000))]), encoding="utf-8")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcomes(run: Run, outcome: str) -> None:
    code, headline, arguments = OUTCOMES[outcome]
    told = run("compress", *arguments)
    assert (told.exit_code, told.stdout) == (code, "")
    assert told.stderr.startswith(headline)
    reported = run("compress", *arguments, "--json")
    assert (reported.exit_code, reported.stderr) == (code, "")
    report = json.loads(reported.stdout)
    assert report["outcome"] == outcome
    assert report.keys() >= REPORT_KEYS


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_is_written(run: Run, outcome: str) -> None:
    code, _, (file, *options) = OUTCOMES[outcome]
    before = Path(file).read_bytes()
    assert run("compress", file, *options, "-o", "out.json").exit_code == code
    assert Path(file).read_bytes() == before
    changed = outcome in ("compacted", "pruned")
    if code:
        assert not Path("out.json").exists()
    else:
        assert (Path("out.json").read_bytes() != before) == changed
    assert run("compress", file, *options, "--in-place").exit_code == code
    assert (Path(file).read_bytes() != before) == changed
    assert not list(Path().glob(".*"))


def test_the_report(run: Run) -> None:
    told = run("compress", "long.json", *SMALL_WINDOW).stderr
    report = json.loads(run("compress", "long.json", *SMALL_WINDOW, "--json").stdout)
    before, after = report["tokens_before"], report["tokens_after"]
    assert f"{before:,} -> {after:,} tokens (-" in told
    assert f"{report['messages_before']} -> {report['messages_after']} messages" in told
    for text in (
        f"head {report['head']}, tail {report['tail']} messages",
        f"{report['folded']} messages into a summary",
        "by extractive",
        "asked     litellm: no model named (summary.model, --summary-model), nothing was sent",
        "tokens: tokens >= threshold_tokens",
        "16,000 tokens (policy window.context_length); threshold 8,000",
        "4,000 tokens, met",
        "default (shipped:default.yaml), counter tiktoken",
        "-o OUT saves it, -o - prints it, --in-place replaces FILE",
    ):
        assert text in told


def test_not_needed_gives_the_numbers_and_names_force(run: Run) -> None:
    told = run("compress", "short.json").stderr
    assert "under the threshold of 64,000" in told
    assert "--force" in told
    assert "128,000 tokens assumed" in told


def test_force_that_folds_nothing_says_which_key_to_change(run: Run) -> None:
    told = run("compress", "short.json", "--force", "--json")
    words = json.loads(told.stdout)["hint"].split()
    changes = [word for pair in pairwise(words) if pair[0] == "--set" for word in pair]
    assert changes
    assert "Nothing would be folded" in run("plan", "short.json").stdout
    assert "1 messages would be folded" in run("plan", "short.json", *changes).stdout


def test_force_where_no_change_would_help(run: Run) -> None:
    Path("one.json").write_text(json.dumps(SHORT[:1]), encoding="utf-8")
    assert "no key of the policy would make it fold" in run("compress", "one.json", "--force").stderr


def test_a_missed_target_is_told(run: Run) -> None:
    told = run("compress", "long.json", *SMALL_WINDOW, "--target", "1001", "--set", "boundaries.tail_min_messages=20")
    assert "1,001 tokens, missed" in told.stderr
    assert "over the target of 1,001; largest: " in told.stderr


def test_a_result_without_summary_is_not_called_compacted_alone(run: Run) -> None:
    told = run("compress", "long.json", *SMALL_WINDOW, "--summarizer", "litellm")
    assert told.exit_code == 0
    assert told.stderr.startswith("Compacted, but without a summary: ")
    assert "into a static note" in told.stderr
    assert told.stderr.count("no model configured") == 1


def test_repairs_are_told(run: Run) -> None:
    broken = [*LONG[:-1], {"role": "tool", "tool_call_id": "nobody", "content": "late"}, user("go on")]
    Path("broken.json").write_text(json.dumps(broken), encoding="utf-8")
    told = run("compress", "broken.json", *SMALL_WINDOW).stderr
    assert "1 results without a call removed" in told
    assert "1 calls without a result given a stub" in told


def test_show_summary(run: Run) -> None:
    told = run("compress", "long.json", *SMALL_WINDOW, "--show-summary")
    assert "## Relevant Files" in told.stderr
    reported = run("compress", "long.json", *SMALL_WINDOW, "--show-summary", "--json")
    assert "## Relevant Files" in json.loads(reported.stdout)["summary"]


def test_standard_input_and_output(run: Run) -> None:
    told = run("compress", "-", *SMALL_WINDOW, "-o", "-", given=json.dumps(LONG))
    messages = json.loads(told.stdout)
    assert messages[0]["role"] == "system"
    assert len(messages) < len(LONG)
    assert "standard output" in told.stderr
    assert run("compress", "-", "-o", "-", given=' [{"role":"user","content":"x"}]').stdout.startswith(" [{")


def test_the_container_is_kept(run: Run) -> None:
    source = json.loads((DATA / "release_notes.json").read_text(encoding="utf-8"))
    source["messages"] = LONG[1:]
    Path("object.json").write_text(json.dumps(source), encoding="utf-8")
    out = json.loads(run("compress", "object.json", *SMALL_WINDOW, "-o", "-").stdout)
    assert list(out) == list(source)
    assert len(out["messages"]) < len(source["messages"])
    assert out["system"].startswith(source["system"])
    assert (out["tools"], out["temperature"]) == (source["tools"], 0.2)
    Path("long.jsonl").write_text("".join(json.dumps(message) + "\n" for message in LONG), encoding="utf-8")
    lines = run("compress", "long.jsonl", *SMALL_WINDOW, "-o", "-").stdout.splitlines()
    assert [json.loads(line)["role"] for line in lines][:2] == ["system", "user"]


@pytest.mark.parametrize(
    ("source", "out", "told"),
    [
        ("long.json", "out.jsonl", "out.jsonl holds a JSON list as the input does"),
        ("short.json", "out.ndjson", "out.ndjson holds a JSON list as the input does"),
        ("long.jsonl", "out.json", "out.json holds JSONL, a message a line, as the input does"),
        ("long.jsonl", "out.jsonl", None),
        ("long.json", "out.json", None),
        ("long.json", "out", None),
    ],
)
def test_a_name_that_promises_another_container(run: Run, source: str, out: str, told: str | None) -> None:
    Path("long.jsonl").write_text("".join(json.dumps(message) + "\n" for message in LONG), encoding="utf-8")
    reported = run("compress", source, *SMALL_WINDOW, "-o", out)
    warned = json.loads(run("compress", source, *SMALL_WINDOW, "-o", out, "--json").stdout)["warnings"]
    kept = [line for line in (*reported.stderr.splitlines(), *warned) if "the container is kept" in line]
    assert len(kept) == (0 if told is None else 2)
    assert all(str(told) in line for line in kept)


def test_in_place_there_is_no_name_to_warn_about(run: Run) -> None:
    Path("list.jsonl").write_text(json.dumps(LONG), encoding="utf-8")
    assert "the container is kept" not in run("compress", "list.jsonl", *SMALL_WINDOW, "--in-place").stderr


def test_in_place_keeps_the_mode_and_a_link(run: Run) -> None:
    Path("long.json").chmod(0o640)
    Path("link.json").symlink_to("long.json")
    assert run("compress", "link.json", *SMALL_WINDOW, "--in-place").exit_code == 0
    assert Path("link.json").is_symlink()
    assert len(json.loads(Path("long.json").read_bytes())) < len(LONG)
    assert stat.S_IMODE(Path("long.json").stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_mode(run: Run) -> None:
    Path("usual").touch()
    run("compress", "short.json", "-o", "out.json")
    assert Path("out.json").stat().st_mode == Path("usual").stat().st_mode


def test_a_device_is_written_to_and_not_replaced(run: Run) -> None:
    assert run("compress", "short.json", "-o", os.devnull).exit_code == 0
    assert not Path(os.devnull).is_file()


def test_a_second_run_updates_the_summary(run: Run) -> None:
    run("compress", "long.json", *SMALL_WINDOW, "--in-place")
    more = [*json.loads(Path("long.json").read_bytes()), *LONG[2:]]
    Path("long.json").write_text(json.dumps(more), encoding="utf-8")
    report = json.loads(run("compress", "long.json", *SMALL_WINDOW, "--json").stdout)
    assert (report["outcome"], report["compaction_count"]) == ("compacted", 2)
    assert any("compacted 2 times" in warning for warning in report["warnings"])


def test_color_only_where_it_is_wanted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("compress", "short.json").stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    colored = run("compress", "short.json").stderr
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in plain
    assert "\x1b" in colored
    assert run("compress", "short.json").stderr == plain


def test_control_characters_of_a_conversation_reach_no_terminal(run: Run) -> None:
    Path("evil.json").write_text(json.dumps([user("\x1b[2J gone"), user("\ud800 [red]x[/red]")]), encoding="utf-8")
    told = run("plan", "evil.json").stdout
    assert "\x1b" not in told
    assert "[red]x[/red]" in told
