"""The chain of summarisers: who is asked, in which order, and what counts as an answer.

``summaries`` is a generator, so that one body serves synchronous and asynchronous callers: it yields an ``Ask`` for
every call that has to be made and is sent the reply, or has the summariser's exception thrown into it.
"""

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from compactor.errors import PromptError, SummarizerDeclined, SummarizerFailed
from compactor.extension.isolation import described
from compactor.extension.protocols import Summarizer, SummaryReply, SummaryRequest
from compactor.summarizing.checks import summary_text, why_rejected
from compactor.summarizing.transcript import encodable

_log = logging.getLogger(__name__)

_LONGEST_TOKEN = 32
"""Characters that no token of a text has in the mean."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that the driver has to make."""

    summarizer: Summarizer
    request: SummaryRequest


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of asking one summariser; ``failure`` is None for the one that answered.

    ``asked`` is False for one that was passed over because it is cooling down.
    """

    summarizer: str
    failure: str | None
    model: str | None = None
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """The summary (None when nobody made one), what was tried, and the cooldowns from now on."""

    summary: str | None
    attempts: tuple[Attempt, ...]
    cooldowns: Mapping[str, float] = field(default_factory=dict)

    @property
    def summarizer(self) -> str | None:
        """Who made the summary."""
        return self.attempts[-1].summarizer if self.summary is not None else None


def summaries(
    chain: Sequence[tuple[str, Summarizer]],
    request: SummaryRequest,
    *,
    replaced_tokens: int,
    wait_after: Callable[[str], float],
    cooldowns: Mapping[str, float],
    now: float,
    redact: Callable[[str], str] = str,
) -> Generator[Ask, SummaryReply | str, Answered]:
    """Asks the summarisers of ``chain`` in turn until one gives a summary.

    ``cooldowns`` says until when (seconds since the epoch, as ``now``) a summariser is not asked; ``wait_after``
    gives the seconds of a new cooldown by kind of failure. ``redact`` takes the secrets out of what comes back, the
    failures included: a client may quote its key.
    """
    attempts: list[Attempt] = []
    until = {name: end for name, end in cooldowns.items() if end > now}
    for name, summarizer in chain:
        if name in until:
            _log.debug("summarizer %s is cooling down for another %.0f seconds", name, until[name] - now)
            attempts.append(Attempt(name, f"cooling down until {_time(until[name])} after a failure", asked=False))
            continue
        try:
            answer = yield Ask(summarizer, request)
            text, model = _accepted(answer, request, replaced_tokens, redact)
        except SummarizerDeclined as declined:
            attempts.append(Attempt(name, f"declined: {redact(str(declined))}"))
        except PromptError:
            raise
        except Exception as error:
            kind = error.kind if isinstance(error, SummarizerFailed) else "error"
            wait = wait_after(kind)
            until |= {name: now + wait} if wait > 0 else {}
            text = described(error)
            message = redact(text if isinstance(error, SummarizerFailed) else f"{type(error).__name__}: {text}")[:500]
            _log.warning("summarizer %s failed (%s): %s", name, kind, message)
            attempts.append(Attempt(name, message))
        else:
            attempts.append(Attempt(name, None, model))
            return Answered(text, tuple(attempts), until)
    return Answered(None, tuple(attempts), until)


def _accepted(
    answer: SummaryReply | str, request: SummaryRequest, replaced_tokens: int, redact: Callable[[str], str]
) -> tuple[str, str | None]:
    """The summary in an answer, and the model that wrote it. Raises ``SummarizerFailed`` when it is none."""
    if not isinstance(answer, (str, SummaryReply)):
        raise SummarizerFailed(f"returned {type(answer).__name__}, not a text", "bad_reply")
    reply = SummaryReply(answer) if isinstance(answer, str) else answer
    if not isinstance(reply.text, str):
        raise SummarizerFailed(f"returned a reply of {type(reply.text).__name__}, not of text", "bad_reply")
    if len(reply.text) > (replaced_tokens + 1000) * _LONGEST_TOKEN:  # counting it would cost seconds
        raise SummarizerFailed("the reply is far longer than what it replaces", "bad_reply")
    text = redact(encodable(summary_text(reply)))
    tokens = request.counter.text(text)
    reason = why_rejected(reply, text, request.sections, tokens=tokens, replaced_tokens=replaced_tokens)
    if reason is not None:
        raise SummarizerFailed(reason, "bad_reply")
    return text, reply.model


def _time(seconds: float) -> str:
    """A time of day for people: the same however often it is said, where the seconds that remain would not be."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))
