"""The laws, written a second time and straight from the provider's dictionaries: the judge is not the accused."""

from itertools import pairwise
from typing import Any

Raw = dict[str, Any]
TAG = "[CONTEXT COMPACTION]"
ENVELOPE = "[compactor v1 kind="
NOTE = "[compactor v1 note]"


def assert_laws(given: list[Raw], messages: list[Raw]) -> None:
    """All laws that a changed conversation shows by itself; ``given`` is what it was made from."""
    assert_pairs(messages)
    assert_opening(given, messages)
    assert_summary_fits_in(given, messages)
    assert_newest_user(given, messages)
    assert_system(given, messages)
    assert_untouched(given, messages)


def texts(message: Raw) -> list[str]:
    """The texts of a message's content that are not blank."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    found = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return [text for text in found if isinstance(text, str) and text.strip()]


def is_ours(text: str) -> bool:
    """Whether a text looks like a summary message of ours."""
    return text.startswith(TAG) and ENVELOPE in text.rsplit("\n", 1)[-1]


def assert_pairs(messages: list[Raw]) -> None:
    """Law 2: results follow their call at once, one each; only the last turn may still wait for results."""
    waiting: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            name = (message.get("tool_call_id") or "").strip()
            assert name in waiting, f"message {place} answers no call"
            waiting.remove(name)
            continue
        if waiting and all(rest["role"] in ("system", "developer") for rest in messages[place:]):
            return  # a host's system message behind calls that still wait
        assert not waiting, f"message {place} comes before the results {waiting}"
        waiting = [call["id"].strip() for call in message.get("tool_calls") or []]


def assert_opening(given: list[Raw], messages: list[Raw]) -> None:
    """Law 3, first half: the first message after the system prompt is a user message where it was one before."""
    spoken = [message for message in messages if message["role"] not in ("system", "developer")]
    before = [message for message in given if message["role"] not in ("system", "developer")]
    if before and before[0]["role"] == "user":
        assert spoken[0]["role"] == "user"


def assert_summary_fits_in(given: list[Raw], messages: list[Raw]) -> None:
    """Law 3, second half, and law 7: at most one summary, not next to its own role (unless it joined a message
    that stood next to its own role before)."""
    roles = [message["role"] for message in given if message["role"] not in ("system", "developer")]
    doubled = {first for first, second in pairwise(roles) if first == second}
    places = [place for place, message in enumerate(messages) if any(map(is_ours, texts(message)))]
    assert len(places) <= 1, f"summaries at {places}"
    assert sum(is_ours(text) for message in messages for text in texts(message)) <= 1
    for place in places:
        if len(texts(messages[place])) > 1:
            assert messages[place]["role"] == "user"
            continue
        spoken = [message for message in messages if message["role"] not in ("system", "developer")]
        at = next(number for number, message in enumerate(spoken) if message is messages[place])
        for neighbour in spoken[max(at - 1, 0) : at] + spoken[at + 1 : at + 2]:
            assert neighbour["role"] != messages[place]["role"] or neighbour["role"] in doubled


def assert_newest_user(given: list[Raw], messages: list[Raw]) -> None:
    """Law 4: what the newest real user message says is there, text by text."""
    real = [[text for text in texts(message) if not is_ours(text)] for message in given if message["role"] == "user"]
    real = [said for said in real if said]
    if real:
        now = [
            [text for text in texts(message) if not is_ours(text)] for message in messages if message["role"] == "user"
        ]
        assert real[-1] in now


def assert_system(given: list[Raw], messages: list[Raw]) -> None:
    """Law 6: all system messages are there, in order, with at most one note."""
    before = [texts(message) for message in given if message["role"] in ("system", "developer")]
    after = [texts(message) for message in messages if message["role"] in ("system", "developer")]
    assert len(before) == len(after)
    for then, now in zip(before, after, strict=True):
        assert "\n".join(now).startswith("\n".join(then))
    assert str(messages).count(NOTE) <= max(1, str(given).count(NOTE))


def assert_untouched(given: list[Raw], messages: list[Raw]) -> None:
    """Law 1: what is not touched is the very message that came in."""
    came = {id(message) for message in given}
    for message in messages:
        if id(message) not in came:
            said = texts(message)
            ours = any(map(is_ours, said)) or any(NOTE in text for text in said)
            result = message["role"] == "tool"  # cleared, or a stub
            without_calls = any(
                came["role"] == "assistant" and texts(came) == said and came.get("tool_calls") for came in given
            )
            assert ours or result or without_calls, f"this message is new: {message}"
