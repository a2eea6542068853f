"""What sentences say: constraints, decisions, asks, values."""

import time

import pytest

from compactor.facts import Kind
from compactor.facts.asks import ask
from compactor.facts.constraints import binding
from compactor.facts.decisions import classify
from compactor.facts.prose import clip, sentences
from compactor.facts.revisions import taken_back
from compactor.facts.rules import rules
from compactor.facts.values import has_value


@pytest.mark.parametrize(
    ("sentence", "weight"),
    [
        ("Never touch the migrations folder.", 1.0),
        ("You MUST run the linter.", 1.0),
        ("Please don't push to main.", 1.0),
        ("I prefer tabs here.", 0.6),
        ("Make sure it builds.", 0.6),
        ("不要修改配置文件", 1.0),
        ("必ずテストを書いてください", 1.0),
        ("Du darfst nicht löschen.", 1.0),
        ("N'utilise jamais de regex; il faut un parseur.", 1.0),
        ("Nunca borres la base.", 1.0),
        ("No new dependencies.", 1.0),
        ("No edits yet.", 1.0),
        ("No docs commit before I have read it.", 1.0),
        ("Every fix needs a test that failed before it.", 1.0),
        ("Only touch the parser.", 1.0),
        ("Only the first test fails.", 0.6),
        ("No tests were found.", 0.0),
        ("No problem with that.", 0.0),
        ("No edits yet?", 0.0),
        ("Every test passes.", 0.0),
        ("MUSTARD and lonely onlookers, overall.", 0.0),
        ("The sky is blue today.", 0.0),
    ],
)
def test_binding_sentences_are_weighed(sentence: str, weight: float) -> None:
    assert binding(sentence) == weight


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        (
            "Ground rules for the whole session:\n- Work on a branch; I push.\n- No mocks.",
            ["Work on a branch; I push."],
        ),
        ("Requirements:\n\n1. Runs\n   offline.\n\n2) No mocks.\nBye.", ["Runs offline."]),
        ("## Constraints\n* One.\n* No mocks.\n\n## Ideas\n* Two.", ["One."]),
        ("Bitte beachten:\n- Ohne Netz.\n- No mocks.", ["Ohne Netz."]),
        ("Please look. What I saw:\n- A crash.\n- No mocks.", None),
        ("The rules\nare below.\n- A crash.", None),
        ("Rules:\n```\n- A crash.\n```", None),
        ("Rules:\n" + "- A crash.\n" * 50, None),
        ("", None),
    ],
)
def test_items_of_rule_lists_are_found(text: str, listed: list[str] | None) -> None:
    found, rest = rules(text)
    assert found == ([*listed, "No mocks."] if listed else [])
    assert all(rule not in rest for rule in found)
    assert ("A crash." in rest) is ("A crash." in text)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Remove every trace of `media:`; it was never released.", ["media:"]),
        ("Use `keep_media` instead of `media`.", ["media"]),
        ("Drop the `mode` switch? No: drop `mode` altogether.", ["mode"]),
        ("Do not drop `media`.", []),
        ("Remove the `os` import. Remove `json_utils` imports.", []),
        ("I changed my mind.", []),
    ],
)
def test_terms_that_are_taken_back(text: str, terms: list[str]) -> None:
    assert taken_back(text) == terms


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("I'll use SQLite because it needs no server.", Kind.DECISION),
        ("The root cause is a stale cache entry.", Kind.DECISION),
        ("Next I will write the tests.", Kind.PLAN),
        ("We still need to update the changelog.", Kind.PLAN),
        ("I fixed the parser and all tests pass.", Kind.REPORT),
        ("I kept the old parser because the new one is slow.", Kind.DECISION),
        ("The call fails because the file is missing.", Kind.STATEMENT),
        ("根本原因是缓存。", Kind.DECISION),
        ("The parser is not fixed.", Kind.STATEMENT),
        ("If the parser gets fixed, tests run.", Kind.STATEMENT),
        ("The parser reads one token at a time.", Kind.STATEMENT),
    ],
)
def test_sentences_of_the_assistant_are_told_apart(sentence: str, kind: Kind) -> None:
    assert classify(sentence)[0] is kind


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("Fix it.", "Fix it."),
        ("<environment_context><cwd>/x</cwd></environment_context>", ""),
        ("<system-reminder>be kind</system-reminder>\nFix it.", "Fix it."),
        ("Why does <header> not close? See </footer>.", "Why does <header> not close? See </footer>."),
        ("  ", ""),
    ],
)
def test_the_request_is_what_the_user_wrote(text: str, request_: str) -> None:
    assert ask(text) == request_


@pytest.mark.parametrize(
    ("sentence", "valued"),
    [
        ("see https://example.org/a", True),
        ("it listens on port 8443", True),
        ("pinned to 2.31.4", True),
        ("commit 3fa9c1d broke it", True),
        ("set RETRY_LIMIT higher", True),
        ("took 350 ms", True),
        ("use --no-verify here", True),
        ("defaced the facade", False),
        ("nothing to keep", False),
    ],
)
def test_values_are_noticed(sentence: str, valued: bool) -> None:
    assert has_value(sentence) is valued


@pytest.mark.parametrize(
    ("text", "limit", "clipped"),
    [
        ("a  b\nc", 10, "a b c"),
        ("abcdef", 4, "abc…"),
        ("日本語テキスト", 4, "日本語…"),
        ("x\ud800y", 10, "x?y"),
        ("\x1b[31mred\x1b[0m", 10, "red"),
    ],
)
def test_clipping_keeps_one_line_and_whole_characters(text: str, limit: int, clipped: str) -> None:
    assert clip(text, limit) == clipped


def test_sentences_lose_marks_and_code_and_empty_labels() -> None:
    text = "## Plan of work\n- first do this thing. Then do that."
    text += "\nFiles:\n```\ncode here\n```\n1. numbered item stays whole"
    assert sentences(text) == [
        "Plan of work",
        "first do this thing.",
        "Then do that.",
        "1. numbered item stays whole",
    ]


@pytest.mark.parametrize(
    "text",
    [
        *(" " * 200_000, "\n" * 200_000, "a" * 200_000, "1," * 100_000, "<aaaa>" * 30_000 + "</b>", "#" * 50_000),
        *("- x\n" * 50_000, "drop `the " * 20_000, "Every " * 40_000),
    ],
    ids=["blanks", "breaks", "letters", "digits", "tags", "marks", "items", "drops", "orders"],
)
def test_odd_texts_take_no_long_time(text: str) -> None:
    started = time.process_time()
    for sentence in sentences(ask(text)):
        binding(sentence)
        classify(sentence)
        has_value(sentence)
    rules(f"Rules:\n{text}")
    taken_back(f"`{text}")
    assert time.process_time() - started < 1.0
