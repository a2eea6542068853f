"""Whether a reply is a summary: what is empty, cut off, refused, an error text or too large is not (law 8)."""

import re

from compactor.extension.protocols import SummaryReply

_THINKING = re.compile(r"<(think|thinking|reasoning)\b[^>]*>.*?(</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_ENVELOPE_LINE = re.compile(r"^\[compactor v\d+ .*$", re.MULTILINE)
_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens"})
_NO_TEXT = frozenset({"content_filter", "tool_calls", "function_call", "tool_use", "refusal", "safety", "SAFETY"})
_ERROR_TEXT = re.compile(
    r"\A\W*(?:(?:an? )?(?:[\w.]*error|exception|traceback|litellm\.\w+)\b[\s\d]*[:(]|(?:error|http)\W+\d{3}\b"
    r"|\{\s*\"(?:error|detail)\"|rate limit|too many requests|service unavailable|internal server error|bad gateway)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\A\W*(?:i(?:['’]m| am) (?:sorry|unable|not able)|i (?:can(?:not|['’]t)|won['’]t)"
    r"|(?:sorry|unfortunately|apologies),? (?:but )?i\b|as an ai\b)",
    re.IGNORECASE,
)
_SHORT = 600  # characters: a real summary may mention an error or an apology, but it does not consist of it


def summary_text(reply: SummaryReply) -> str:
    """The summary in a reply: without thinking, blanks around it, and lines that imitate our envelope."""
    text = _THINKING.sub("", reply.text)
    return _ENVELOPE_LINE.sub("", text).strip()


def why_rejected(reply: SummaryReply, text: str, tokens: int, replaced_tokens: int) -> str | None:
    """Why a reply is no summary, None when it is one.

    ``text`` is its ``summary_text`` of ``tokens``; ``replaced_tokens`` is what the folded turns and the previous
    summary cost: a summary that is no smaller is none.
    """
    if reply.finish_reason in _CUT_OFF:
        return f"the reply was cut off (finish reason {reply.finish_reason!r})"
    if reply.finish_reason in _NO_TEXT:
        return f"the reply is no text to use (finish reason {reply.finish_reason!r})"
    if not text:
        return "the reply is empty" if not reply.text.strip() else "the reply is nothing but thinking"
    if len(text) <= _SHORT and _ERROR_TEXT.match(text):
        return "the reply is the text of an error"
    if len(text) <= _SHORT and _REFUSAL.match(text):
        return "the reply is a refusal"
    if tokens >= replaced_tokens:
        return f"the reply is no shorter than what it replaces ({tokens:,} tokens for {replaced_tokens:,})"
    return None
