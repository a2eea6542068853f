"""What a provider's refusal means: any exception of any client, told apart by a table of patterns.

The table is data: a policy's own ``errors``, then ``policies/shared/errors.yaml``. What an exception knows is read by
the names that clients give their attributes; no client is imported.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any

import yaml

from compactor.policy.errors import NUMBERS, ErrorPattern

_READ = 20_000
"""Characters of a text that are read, half of them from its end: refusals are short, and more only costs time."""

_SEARCHED = 5_000
"""Characters of a text that patterns are searched in, half of them from its end; an exception has a few texts."""

_SHOWN = 300
"""Characters of a message for people."""

_DEPTH = 4
"""Levels of a body, and exceptions of a chain, that are looked at: wrappers upon wrappers end somewhere."""


@dataclass(frozen=True, slots=True)
class ProviderError:
    """What a provider's refusal means.

    ``kind``: see ``compactor.policy.errors.ErrorKind``; ``unknown`` where no entry matched. ``status``: of HTTP.
    ``limit``: tokens of the context window that it states; ``prompt_tokens``: what the provider counted for the prompt
    alone; ``output_tokens``: the part asked for the answer; None where not stated. ``pattern``: id of the entry that
    matched. ``message``: one line for people, at most 300 characters, not redacted.
    """

    kind: str
    status: int | None
    limit: int | None
    prompt_tokens: int | None
    output_tokens: int | None
    pattern: str | None
    message: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """What one exception says. ``codes`` are in lower case; ``refuses``: it says more than anyone's text."""

    status: int | None
    codes: frozenset[str]
    classes: frozenset[str]
    text: str
    message: str
    refuses: bool


class ErrorTable:
    """Entries in their order: the first one whose conditions hold says what an error means."""

    def __init__(self, patterns: Sequence[ErrorPattern]) -> None:
        self._entries = tuple((entry, re.compile(entry.pattern or "", re.IGNORECASE)) for entry in patterns)

    def classify(self, error: BaseException) -> ProviderError:
        """What the error means. Never raises, whatever the exception does when it is looked at."""
        return _quietly(self._classify, error) or ProviderError(
            "unknown", None, None, None, None, None, type.__repr__(type(error))[:_SHOWN]
        )

    def _classify(self, error: BaseException) -> ProviderError:
        found: list[ProviderError] = []
        for link in _chain(error):
            facts = _read(link)
            found.append(self._meaning(facts))
            if found[-1].pattern is not None:
                return found[-1]
            if facts.refuses:
                break
        return found[0]

    def _meaning(self, facts: _Facts) -> ProviderError:
        for entry, expression in self._entries:
            if entry.applies(facts.status, facts.codes, facts.classes) and (match := expression.search(facts.text)):
                limit, prompt, output = _tokens(match.groupdict())
                return ProviderError(entry.kind, facts.status, limit, prompt, output, entry.id, facts.message)
        return ProviderError("unknown", facts.status, None, None, None, None, facts.message)


def error_table(own: Sequence[ErrorPattern] = ()) -> ErrorTable:
    """The table of a policy: its own entries are tried first, then the shipped ones."""
    return ErrorTable((*own, *_shipped()))


@lru_cache(maxsize=1)
def _shipped() -> tuple[ErrorPattern, ...]:
    text = files("compactor.shipped.policies").joinpath("shared", "errors.yaml").read_text("utf-8")
    return tuple(ErrorPattern.model_validate(entry) for entry in yaml.safe_load(text)["errors"])


def _tokens(groups: Mapping[str, str | None]) -> tuple[int | None, int | None, int | None]:
    """Limit, prompt and output. Of the last two, one that is not stated follows from their total."""
    limit, prompt, output, total = (_number(groups.get(name)) for name in NUMBERS)
    if total is not None and prompt is None and output is not None and output <= total:
        prompt = total - output
    elif total is not None and output is None and prompt is not None and prompt <= total:
        output = total - prompt
    return limit or None, prompt, output


def _number(text: str | None) -> int | None:
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,3})?)([km]?)", re.sub(r"[,_'\s]", "", text or "").lower())
    return round(float(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2]]) if match else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, then what it wraps, or was raised in the handling of."""
    link: Any = error
    for _ in range(_DEPTH):
        if isinstance(link, BaseException):
            yield link
            link = _below(link)


def _below(error: BaseException) -> Any:
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0] if len(error.exceptions) == 1 else None
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    # A mistake in the code that handles a refusal is not that refusal.
    mistakes = (LookupError, TypeError, AttributeError, NameError, AssertionError, ArithmeticError)
    return None if isinstance(error, mistakes) else error.__context__


def _read(error: BaseException) -> _Facts:
    response, body = _get(error, "response"), _get(error, "body")
    fetched = _get(response, "_content") is not False  # else the client would fetch the text now
    texts = (body, _quietly(str, error), _get(error, "message"), _get(response, "text") if fetched else None)
    strings = [text for text in map(_text, texts) if text]
    sources = (body, _get(error, "details"), response, *map(_embedded, strings))
    levels = [level for source in sources for level in _levels(source)]
    said = next((text for level in reversed(levels) for name in _SAID if (text := _text(level.get(name)))), None)
    codes = frozenset(_codes([*levels, {name: _get(error, name) for name in _CODES}]))
    status = _status(error, levels)
    # Where the message was found, what stands around it may be the request itself, repeated.
    pieces = dict.fromkeys((*([said] if said else strings), *map(_dumped, sources)))
    return _Facts(
        status,
        codes,
        frozenset(kind.__name__ for kind in type(error).__mro__),
        "\n".join(_ends(piece, _SEARCHED) for piece in pieces),
        _one_line(said, *strings, type(error).__name__),
        bool(status or codes or levels),
    )


_SAID = ("message", "Message", "detail", "msg", "error", "Error", "error_message")
_CODES = ("code", "Code", "type", "status", "error_type", "error_code", "errorType", "__type", "error")
_STATUS = ("status_code", "status", "code", "http_status", "HTTPStatusCode", "statusCode")
_INNER = ("error", "Error", "errors", "detail", "ResponseMetadata")
_REPEATED = ("input", "messages", "prompt")
"""Keys under which a server repeats the request; a conversation may be about errors."""


def _quietly(read: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns, or None where it raises; Ctrl-C is of the person at the keyboard and goes on."""
    try:
        return read(*arguments)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def _get(value: Any, name: str) -> Any:
    return _quietly(getattr, value, name, None)


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return _ends(value, _READ) if isinstance(value, str) and value.strip() else None


def _ends(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size // 2]}\n{text[-size // 2 :]}"


def _embedded(text: str) -> Any:
    """The JSON object in a text: clients put words of their own in front of the body."""
    found = _quietly(json.JSONDecoder().raw_decode, text, text.find("{"))
    return found[0] if found else None


def _levels(value: Any, depth: int = _DEPTH) -> Iterator[Mapping[str, Any]]:
    """A body and the errors in it, from the outside in; of a list, its first item."""
    value = next(iter(value), None) if isinstance(value, (list, tuple)) else value
    if isinstance(value, Mapping) and depth:
        yield value
        for name in _INNER:
            yield from _levels(value.get(name), depth - 1)


def _codes(levels: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for value in (level.get(name) for level in levels for name in _CODES):
        if isinstance(value, (str, int)) and not isinstance(value, bool) and len(code := str(value)) <= 100:
            yield code.rpartition("#")[2].casefold()  # namespace#Code, as AWS has it


def _status(error: BaseException, levels: Iterable[Mapping[str, Any]]) -> int | None:
    # litellm states the status of the class that it chose; the provider's is in what it made its exception of.
    mapped = type(error).__module__.partition(".")[0] == "litellm"
    holders = (error.__cause__ or error.__context__ if mapped else None, error, _get(error, "response"))
    stated = [_get(holder, name) for holder in holders for name in _STATUS]
    for value in (*stated, *(level.get(name) for level in levels for name in _STATUS)):
        if isinstance(value, (int, str)) and re.fullmatch("[45][0-9]{2}", str(value)):
            return int(value)
    return None


def _dumped(source: Any) -> str:
    plain = _plain(source) if isinstance(source, (Mapping, list, tuple)) else None
    return _quietly(json.JSONEncoder(ensure_ascii=False).encode, plain) if plain else ""


def _plain(value: Any, depth: int = _DEPTH) -> Any:
    """What JSON can hold, in bounds, without what repeats the request."""
    if isinstance(value, Mapping) and depth:
        kept = ((key, item) for key, item in islice(value.items(), 20) if key not in _REPEATED)
        return {str(key): _plain(item, depth - 1) for key, item in kept}
    if isinstance(value, (list, tuple)) and depth:
        return [_plain(item, depth - 1) for item in value[:20]]
    return value if isinstance(value, (bool, int, float)) else _text(value)


def _one_line(said: str | None, *others: str) -> str:
    """The provider's own words, else the first line of what there is."""
    text = said or others[0].strip()
    if text.startswith("<"):
        text = re.sub("<[^<>]{0,500}>", " ", text)  # the page of a proxy
    elif not said:
        text = text.splitlines()[0]
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
