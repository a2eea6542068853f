"""Calling the hooks of a compaction's plugins, one after the other, and telling what came of it.

The functions are generators of ``HookCall`` steps, so that one body serves synchronous and asynchronous callers.
"""

import logging
import re
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from compactor.errors import PluginError
from compactor.extension.isolation import Hook, HookAnswer, HookCall
from compactor.extension.protocols import Counter

_log = logging.getLogger(__name__)

CHARS_PER_TOKEN = 16
"""No tokenizer has longer tokens in the mean: more characters than this a token are cut off unseen."""

CUT = " …[cut]"

_SLACK = 4096  # code points: longer than any secret but a private key, which is recognised without its end
_LONGEST_FAILURE = 500  # code points
_ENVELOPE_LINE = re.compile(r"^\[compactor v\d+ .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PluginReport:
    """What one call of a plugin's hook came to.

    ``tokens`` is the size of the text that it returned, as far as it was used; ``cut`` says that more was cut off.
    """

    plugin: str
    hook: str
    seconds: float
    failure: str | None = None
    tokens: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """The texts that plugins returned, by plugin, and the report of every call."""

    texts: tuple[tuple[str, str], ...]
    reports: tuple[PluginReport, ...]


class RequiredPluginFailed(PluginError):
    """A plugin that the policy calls required failed; ``reports`` are all calls up to it."""

    def __init__(self, report: PluginReport, reports: Iterable[PluginReport]) -> None:
        super().__init__(f"the required plugin {report.plugin!r} failed in {report.hook}: {report.failure}")
        self.reports = tuple(reports)


def call_hooks(
    hooks: Iterable[Hook], event_for: Callable[[Hook], Any], counter: Counter, redact: Callable[[str], str]
) -> Generator[HookCall, HookAnswer, Said]:
    """Calls every hook with its event. Raises ``RequiredPluginFailed`` for a failure that the policy does not forgive.

    A text that is returned is redacted and cut to the hook's ``max_tokens``; anything else but None is a failure.
    """
    texts: list[tuple[str, str]] = []
    reports: list[PluginReport] = []
    for hook in hooks:
        answer = yield HookCall(hook, event_for(hook))
        report, text = _judged(hook, answer, counter, redact)
        reports.append(report)
        if report.failure is not None:
            _log.warning("plugin %s failed in %s: %s", hook.plugin, hook.name, report.failure)
            if hook.required:
                raise RequiredPluginFailed(report, reports)
        elif text:
            texts.append((hook.plugin, text))
    return Said(tuple(texts), tuple(reports))


def _judged(
    hook: Hook, answer: HookAnswer, counter: Counter, redact: Callable[[str], str]
) -> tuple[PluginReport, str | None]:
    failure, value = answer.failure and redact(answer.failure)[:_LONGEST_FAILURE], answer.value
    if failure is None and issubclass(type(value), str):
        value = str.__str__(value)  # a subclass may have methods of its own, which would run outside of the isolation
    elif failure is None and value is not None:
        failure = f"returned {type(value).__name__}, not a text or None"
    if failure is not None or not value or not value.strip():
        return PluginReport(hook.plugin, hook.name, answer.seconds, failure), None
    text, cut = bounded(value, hook.max_tokens, counter, redact)
    return PluginReport(hook.plugin, hook.name, answer.seconds, None, counter.text(text), cut), text


def bounded(text: str, max_tokens: int, counter: Counter, redact: Callable[[str], str]) -> tuple[str, bool]:
    """The text without secrets, of at most ``max_tokens``, and whether something had to be cut off.

    Lines that look like the envelope of a summary go as well: they would hide the real one. What is read goes beyond
    what is kept, so that no secret is cut in half before it is recognised.
    """
    most = max_tokens * CHARS_PER_TOKEN
    readable = text[: most + _SLACK].encode("utf-8", "replace").decode("utf-8")
    shown = redact(_ENVELOPE_LINE.sub("", readable).strip())
    cut = len(text) > most or len(shown) > most
    shown = shown[:most]
    while shown and counter.text(shown + (CUT if cut else "")) > max_tokens:
        tokens = counter.text(shown)
        shown = shown[: min(len(shown) - 1, len(shown) * max_tokens // (tokens + 1))].rstrip()
        cut = True
    return (shown + CUT if cut and shown else shown), cut
