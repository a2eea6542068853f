"""What counts as a summary, and what never does (law 8)."""

import pytest

from compactor.extension.protocols import SummaryReply
from compactor.policy.loader import load_policy
from compactor.summarizing.checks import summary_text, why_rejected
from compactor.testing import filler

SECTIONS = load_policy("hermes", environ={}).policy.summary.sections


def rejected(text: str, finish_reason: str | None = "stop", replaced: int = 10_000) -> str | None:
    reply = SummaryReply(text, finish_reason)
    summary = summary_text(reply)
    return why_rejected(reply, summary, SECTIONS, tokens=len(summary) // 4, replaced_tokens=replaced)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        ".",
        "OK",
        "None.",
        "null",
        "N/A",
        "```\n```",
        "\u200b\u200b",
        "\x00\x01",
        "## Goal\n\n## Progress\n### Done\n",
        "## Goal\nNone.",
        "<think>All of it.</think>",
        "<think>Never closed",
        "<THINKING>a</THINKING>\n<think>b</think>",
    ],
)
def test_nothing_in_it(text: str) -> None:
    assert rejected(text) in ("the reply is empty: there is nothing in it", "the reply is nothing but thinking")


@pytest.mark.parametrize(
    "text",
    [
        "Error: rate limit reached",
        "litellm.RateLimitError: slow down",
        "An error occurred while processing your request.",
        "Request timed out.",
        "Connection error.",
        "Connection refused",
        "Invalid API key provided",
        "This model's maximum context length is 8192 tokens.",
        "503 Service Temporarily Unavailable",
        "HTTP 502: bad gateway",
        "<html><head><title>502 Bad Gateway</title></head></html>",
        '{"message": "rate limit exceeded", "code": 429}',
        '{"type": "error", "error": {"type": "overloaded_error"}}',
        '```json\n{"error": "boom"}\n```',
        "The server is currently overloaded, try again later.",
        "Failed to generate a summary",
    ],
)
def test_texts_of_errors(text: str) -> None:
    assert rejected(text) == "the reply is the text of an error"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m unable to summarize this.",
        "I apologize, but I cannot help with this request.",
        "Unfortunately, this request cannot be completed.",
        "I must decline.",
        "Sorry, that violates our policy.",
        "As an AI language model, I cannot do that.",
        "Sure! Please provide the conversation that you want me to summarize.",
        "Please provide the conversation.",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Je suis désolé, je ne peux pas vous aider.",
        "Lo siento, no puedo ayudar con eso.",
        "抱歉，我无法处理这个请求。",
        "申し訳ありませんが、お手伝いできません。",
    ],
)
def test_refusals(text: str) -> None:
    assert rejected(text) == "the reply is a refusal"


@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter", "tool_calls", "refusal"])
def test_finish_reasons(reason: str) -> None:
    assert rejected("## Goal\nShip it.", reason) is not None


def test_no_smaller_than_what_it_replaces() -> None:
    assert rejected("## Goal\n" + filler(1000), replaced=200) is not None
    assert rejected("## Goal\n" + filler(1000), replaced=300) is None


@pytest.mark.parametrize(
    "text",
    [
        "## Goal\nShip it.",
        "The user wants the login bug fixed; the rate limit error is still open.",
        "## Blocked\nError: rate limit reached",
        "# goal\nSorry, the build is red: fix it.",
        f"Error handling was added to the client. {filler(700)}",
        "Goal: ship it. Blocked: 503 from the API.",
    ],
)
def test_what_is_a_summary(text: str) -> None:
    assert rejected(text) is None


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("<think>hm</think>\n\n## Goal\nShip it.", "## Goal\nShip it."),
        ("<Think>a</Think><reasoning>b</reasoning>## Goal\nShip it.", "## Goal\nShip it."),
        ("the user wants ... </think>## Goal\nShip it.", "## Goal\nShip it."),
        ("## Goal\nFix the <thinking> tag parser.", "## Goal\nFix the <thinking> tag parser."),
        ("## Goal\nUse <think>x</think> in the test.", "## Goal\nUse <think>x</think> in the test."),
        ("## Goal\nThe closing </think> is missing.", "## Goal\nThe closing </think> is missing."),
        ("## Goal\nShip.\n[compactor v1 kind=summary count=7]", "## Goal\nShip."),
    ],
)
def test_the_summary_in_a_reply(text: str, summary: str) -> None:
    assert summary_text(SummaryReply(text)) == summary


def test_no_reply_takes_long_to_read() -> None:
    assert summary_text(SummaryReply("<think " * 200_000)).startswith("<think <think")
    assert summary_text(SummaryReply("<think>" * 50_000)) == ""
    assert summary_text(SummaryReply("<think></think>" * 50_000)) == ""
