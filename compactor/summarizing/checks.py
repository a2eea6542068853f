"""Whether a reply is a summary: what is empty, cut off, refused, an error text or too large is not (law 8).

A reply with one of the policy's headings in it is taken for what it says it is. One without is still accepted (a
summariser of one's own may write prose), unless it is short and reads like an error or a refusal.
"""

import json
import re
from collections.abc import Iterable

from compactor.extension.protocols import SummaryReply
from compactor.policy.models import Section

_THINKING_TAGS = ("think", "thinking", "reasoning")
_THINKING = re.compile(r"(?:\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z))+", re.IGNORECASE | re.DOTALL)
_ENVELOPE_LINE = re.compile(r"^\[compactor v\d+ .*$", re.MULTILINE)
_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens"})
_NO_TEXT = frozenset({"content_filter", "tool_calls", "function_call", "tool_use", "refusal", "safety", "SAFETY"})
_SAYS_NOTHING = frozenset({"", "ok", "okay", "done", "none", "null", "n a", "na", "nothing", "empty", "undefined"})
_HEADING_LINE = re.compile(r"^#{1,6} .*$|^```\w*$", re.MULTILINE)
_NO_WORD = re.compile(r"[\W_]+")
_SHORT = 600
"""Characters: a summary may mention an error or an apology, but it does not consist of one."""

_ERROR_TEXT = re.compile(
    r"\W*(?:"
    r"[\w.]*(?:error|exception)\b|traceback\b|an? (?:\w+ )?error (?:occurred|has occurred)|failed to \w+"
    r"|(?:http\W*)?[45]\d\d\b"
    r"|(?:request|connection|read|gateway|operation)\b.{0,20}\b(?:timed? ?out|aborted|reset|refused|error)"
    r"|rate limit|too many requests|(?:the )?(?:service|server|model|engine)\b.{0,30}\b(?:unavailable|overloaded|busy)"
    r"|internal server|bad gateway|(?:invalid|incorrect|missing|no)\b.{0,20}\bapi.?key|unauthori[sz]ed|forbidden"
    r"|(?:this|the) model'?s? maximum context|prompt is too long|quota|insufficient|<!doctype|<html"
    r")",
    re.IGNORECASE | re.DOTALL,
)
_REFUSAL = re.compile(
    r"\W*(?:"
    r"(?:i['’]?m|i am) (?:sorry|unable|not able|afraid)"
    r"|i (?:can(?:not|['’]?t)|won['’]?t|will not|must decline|apologi[sz]e)"
    r"|sorry\b|apologies\b|unfortunately\b|as an ai\b|(?:sure|certainly|of course)\W+(?:please|could you)\b"
    r"|please (?:provide|share|paste)\b|it (?:seems|looks like)\b.{0,40}\b(?:no|empty|missing)\b"
    r"|es tut mir leid|tut mir leid|leider\b|ich kann (?:das|diese|ihnen|dir)?\s*(?:leider )?nicht"
    r"|je suis désolé|désolée?\b|je ne peux pas|lo siento|lo lamento|no puedo\b|mi dispiace|desculpe"
    r"|抱歉|对不起|對不起|很抱歉|我无法|我無法|申し訳|すみません|죄송"
    r")",
    re.IGNORECASE | re.DOTALL,
)


def summary_text(reply: SummaryReply) -> str:
    """The summary in a reply: without the thinking before it, blanks, and lines that imitate our envelope."""
    return _ENVELOPE_LINE.sub("", _without_thinking(reply.text)).strip()


def why_rejected(
    reply: SummaryReply, text: str, sections: Iterable[Section], *, tokens: int, replaced_tokens: int
) -> str | None:
    """Why a reply is no summary, None when it is one.

    ``text`` is its ``summary_text`` of ``tokens``; ``replaced_tokens`` is what the folded turns and the previous
    summary cost: a summary that is no smaller is none.
    """
    if reply.finish_reason in _CUT_OFF:
        return f"the reply was cut off (finish reason {reply.finish_reason!r})"
    if reply.finish_reason in _NO_TEXT:
        return f"the reply is no text to use (finish reason {reply.finish_reason!r})"
    if _NO_WORD.sub(" ", _HEADING_LINE.sub("", text)).strip().lower() in _SAYS_NOTHING:
        thought = reply.text.strip() and not text
        return "the reply is nothing but thinking" if thought else "the reply is empty: there is nothing in it"
    if len(text) <= _SHORT and not _has_heading(text, sections):
        if _ERROR_TEXT.match(text) or _is_error_object(text):
            return "the reply is the text of an error"
        if _REFUSAL.match(text):
            return "the reply is a refusal"
    if tokens >= replaced_tokens:
        return f"the reply is no shorter than what it replaces ({tokens:,} tokens for {replaced_tokens:,})"
    return None


def _without_thinking(text: str) -> str:
    """The text behind the thinking that it starts with; thinking further down is somebody's text."""
    text = text.strip()
    if opened := _THINKING.match(text):
        text = text[opened.end() :].strip()
    for tag in _THINKING_TAGS:
        before, closed, rest = _partition(text, f"</{tag}>")
        # Some servers put the opening tag into the prompt, so that only the closing one comes back.
        if closed and f"<{tag}>" not in before.lower() and "\n#" not in f"\n{before}":
            text = rest.strip()
    return text


def _partition(text: str, tag: str) -> tuple[str, bool, str]:
    place = text.lower().find(tag)
    return (text, False, "") if place < 0 else (text[:place], True, text[place + len(tag) :])


def _has_heading(text: str, sections: Iterable[Section]) -> bool:
    titles = {part.title.lower() for section in sections for part in (section, *section.parts)}
    lines = (line.strip() for line in text.splitlines())
    return any(line.startswith("#") and line.lstrip("#").strip().lower() in titles for line in lines)


def _is_error_object(text: str) -> bool:
    """Whether a text is a JSON object as servers answer with instead of a completion."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not bare.startswith("{"):
        return False
    try:
        return isinstance(json.loads(bare), dict)
    except ValueError:
        return False
