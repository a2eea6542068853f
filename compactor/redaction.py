"""Secrets out of any text, before it leaves the conversation: to a summarizer, a memory provider or a log.

What counts as a secret is data (``policies/shared/secrets.yaml``, and a policy's own patterns). A pattern is looked at
only where one of its literals stands, so that text without any costs a search for fixed strings and nothing else.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from operator import methodcaller

import yaml

from compactor.extension.protocols import Redactor
from compactor.messages.as_json import compact_json
from compactor.messages.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from compactor.policy.plugins import SecretRule


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """One kind of secret; see ``policies/shared/secrets.yaml`` for what the fields mean."""

    id: str
    literals: tuple[str, ...]
    expression: re.Pattern[str]
    any_case: bool = False


class PatternRedactor:
    """Replaces what its patterns match by ``[redacted: id]``."""

    def __init__(self, patterns: Iterable[SecretPattern]) -> None:
        self._searches = tuple(_searches(patterns))

    def redact(self, text: str) -> tuple[str, Mapping[str, int]]:
        """The text without secrets, and how many of each kind were replaced; the very text where there are none."""
        spans = sorted(self._spans(text), key=lambda span: (span[0], -span[1], span[2]))
        if not spans:
            return text, {}
        pieces: list[str] = []
        counts: Counter[str] = Counter()
        done = 0
        for start, stop, name in spans:
            if start < done:  # part of a secret that is replaced already; what it has beyond that goes as well
                done = max(done, stop)
                continue
            pieces += [text[done:start], f"[redacted: {name}]"]
            counts[name] += 1
            done = stop
        return "".join([*pieces, text[done:]]), counts

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        data = _searchable(text)
        lowered = data.lower()
        for search in self._searches:
            searched = lowered if search.any_case else data
            if search.stands_in(searched):
                yield from _matches(text, search.places(searched))


@dataclass(frozen=True, slots=True)
class _Search:
    """One pass over a text, for a single literal or for all that have a rare character in common.

    ``literals`` are the literal, where the rare character stands in it, and the patterns that it leads to;
    ``expression`` finds the rare characters that stand in one of them, None for a single literal.
    """

    any_case: bool
    stands_in: Callable[[bytes], object]
    expression: re.Pattern[bytes] | None
    literals: tuple[tuple[bytes, int, tuple[SecretPattern, ...]], ...]

    def places(self, data: bytes) -> Iterator[tuple[int, SecretPattern]]:
        """Where a pattern has to be tried, in the order of the text."""
        if self.expression is None:
            literal, _, patterns = self.literals[0]
            place = data.find(literal)
            while place >= 0:
                for pattern in patterns:
                    yield place, pattern
                place = data.find(literal, place + 1)
            return
        for match in self.expression.finditer(data):
            for literal, offset, patterns in self.literals:
                place = match.start() - offset
                if place >= 0 and data.startswith(literal, place):
                    for pattern in patterns:
                        yield place, pattern


def _matches(text: str, places: Iterable[tuple[int, SecretPattern]]) -> Iterator[tuple[int, int, str]]:
    """Start, stop and id of the secrets that stand at these places."""
    done: dict[int, tuple[int, int]] = {}
    for place, pattern in places:
        start, stop = done.get(id(pattern), (0, 0))
        if start <= place < stop:
            continue  # looking on from within a match could take time that grows with its square
        match = pattern.expression.match(text, place)
        if match is not None:
            done[id(pattern)] = match.span()
            group = "secret" if "secret" in pattern.expression.groupindex else 0
            yield match.start(group), match.end(group), pattern.id


def _searchable(text: str) -> bytes:
    """One byte for each code point, so that places agree: ``?`` for what is not ASCII, in texts as in literals."""
    return text.encode("ascii", "replace")


def _searches(patterns: Iterable[SecretPattern]) -> Iterator[_Search]:
    """The fewest passes: literals with the same rare character share one, for that is as fast as one literal's."""
    by_literal: dict[tuple[bool, bytes], list[SecretPattern]] = {}
    for pattern in patterns:
        for text in dict.fromkeys(pattern.literals):
            by_literal.setdefault((pattern.any_case, _searchable(text)), []).append(pattern)
    groups: dict[tuple[bool, bytes], list[tuple[bytes, int, tuple[SecretPattern, ...]]]] = {}
    for (any_case, literal), led in by_literal.items():
        rare = _RARE.search(literal) or _CAPITAL.search(literal)
        shared, offset = (rare.group(), rare.start()) if rare else (literal, 0)
        groups.setdefault((any_case, shared), []).append((literal, offset, tuple(led)))
    for (any_case, shared), literals in groups.items():
        if len(literals) == 1:
            yield _Search(any_case, methodcaller("__contains__", literals[0][0]), None, tuple(literals))
        else:
            expression = _expression(shared, literals)
            yield _Search(any_case, expression.search, expression, tuple(literals))


_RARE = re.compile(rb"[=_.:-]")
_CAPITAL = re.compile(rb"[A-Z]")


def _expression(shared: bytes, literals: Iterable[tuple[bytes, int, object]]) -> re.Pattern[bytes]:
    """Finds a shared character where one of the literals stands around it."""
    around = (
        b"(?<=%s)(?=%s)" % (re.escape(literal[: offset + 1]), re.escape(literal[offset + 1 :]))
        for literal, offset, _ in literals
    )
    return re.compile(re.escape(shared) + b"(?:" + b"|".join(around) + b")")


class Redaction:
    """The redactors of a policy at work on one compaction; ``counts`` is what they replaced so far.

    The same text is looked at once: a message that goes to three plugins has no more secrets than it has.
    """

    def __init__(self, redactors: Sequence[Redactor]) -> None:
        self._redactors = redactors
        self.counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text without secrets."""
        for redactor in self._redactors:
            text, counts = redactor.redact(text)
            self.counts.update(counts)
        return text

    def messages(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """The messages without secrets and without the dictionaries that they came as: nothing in them can change.

        Their place (``index``) stays. Content of unknown kind is left as its redacted JSON.
        """
        return tuple(
            Message(message.role, tuple(map(self._part, message.parts)), message.index) for message in messages
        )

    def _part(self, part: Part) -> Part:
        match part:
            case Text() | Reasoning():
                return replace(part, text=self.text(part.text), raw=None)
            case ToolCall():
                return ToolCall(self._ids(part.ids), self.text(part.name), self.text(part.arguments))
            case ToolResult():
                return ToolResult(self._ids(part.ids), tuple(self._item(item) for item in part.content))
            case _:
                return self._item(part)

    def _item(self, item: Text | Media | Opaque) -> Text | Media | Opaque:
        if isinstance(item, Text):
            return Text(self.text(item.text))
        if isinstance(item, Media):
            return replace(item, label=self.text(item.label), raw=None)
        return Opaque(self.text(item.kind), self.text(compact_json(item.raw)))

    def _ids(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Ids without secrets: equal ones stay equal, so calls and results stay pairs."""
        return tuple(self.text(name) for name in ids)


def read_patterns(rules: Iterable[SecretRule]) -> tuple[SecretPattern, ...]:
    """The patterns of rules, ready to be used."""
    return tuple(
        SecretPattern(rule.id, tuple(rule.literals), re.compile(rule.pattern), rule.any_case) for rule in rules
    )


@lru_cache(maxsize=1)
def shipped_patterns() -> tuple[SecretPattern, ...]:
    """The patterns of ``policies/shared/secrets.yaml``."""
    text = files("compactor.shipped.policies").joinpath("shared", "secrets.yaml").read_text("utf-8")
    return read_patterns(SecretRule.model_validate(entry) for entry in yaml.safe_load(text)["patterns"])
