"""A conversation as a file: its container is kept, so that what is written looks like what was read."""

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal, Protocol

from compactor.errors import InputError
from compactor.messages.message import Raw

Container = Literal["list", "object", "lines"]


class Written(float):
    """A number that Python would write in another way than it came, such as ``1e400``, ``1.50`` or ``-0``.

    It counts as the number that Python makes of it; ``literal`` is how it came, and how it is written again (law 1).
    """

    __slots__ = ("literal",)
    literal: str


class _Format(Protocol):
    name: str

    def misfit(self, messages: Sequence[Any]) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds: raw messages, and around them a list, an object with other keys, or lines (JSONL)."""

    messages: tuple[Raw, ...]
    container: Container
    format: str
    top: Mapping[str, Any] = field(default_factory=dict)
    indent: int | None = None
    newline: str = "\n"

    @property
    def tools(self) -> tuple[Raw, ...]:
        """The tool schemas that stand beside the messages."""
        tools = self.top.get("tools")
        return tuple(tool for tool in tools if isinstance(tool, Mapping)) if isinstance(tools, list) else ()

    @property
    def system(self) -> Any:
        """A system prompt that stands beside the messages (a text or a list of blocks), or None."""
        system = self.top.get("system")
        return system if isinstance(system, (str, list)) and system else None

    def dumps(self, messages: Iterable[Raw], system: Any = None) -> str:
        """The file's text with other messages in the same container; ``system`` replaces one that stood apart."""
        if self.container == "lines":
            return "".join(dump_json(message) + self.newline for message in messages)
        whole: Any = list(messages)
        if self.container == "object":
            whole = {**self.top, "messages": whole}
            if self.system is not None:
                whole["system"] = system
        # A line break inside a text is escaped, so these are those of the layout.
        return (dump_json(whole, self.indent) + "\n").replace("\n", self.newline)


def load_document(data: bytes, formats: Sequence[_Format]) -> Document:
    """Reads a file's bytes.

    Raises ``InputError`` that says what was tried and why it did not fit.
    """
    text = _decode(data)
    found, container, top = _contained(text)
    if not found:
        raise InputError("there are no messages in it")
    misfits = []
    for candidate in formats:
        misfit = candidate.misfit(found)
        if misfit is None:
            return Document(tuple(found), container, candidate.name, top, _indent(text, container), _newline(text))
        misfits.append(f"{candidate.name}: {misfit}")
    raise InputError("not a conversation that Compactor reads; tried " + "; ".join(misfits))


def _decode(data: bytes) -> str:
    if not data.strip():
        raise InputError("the file is empty")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4096]:
        raise InputError("this is binary data or UTF-16 text; a conversation is JSON or JSONL in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text: {error.reason} at byte {error.start:,}") from None


def _contained(text: str) -> tuple[list[Any], Container, dict[str, Any]]:
    try:
        value = read_json(text)
    except json.JSONDecodeError as error:
        return _lines(text, error), "lines", {}
    if isinstance(value, list):
        return value, "list", {}
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return value["messages"], "object", value
    if isinstance(value, dict) and "role" in value:
        return [value], "lines", {}
    what = f"an object with the keys {', '.join(list(value)[:8])}" if isinstance(value, dict) else "a single value"
    raise InputError(
        f"the JSON is {what}; expected a list of messages, an object with 'messages', or one message a line (JSONL)"
    )


def read_json(text: str) -> Any:
    """The JSON value of a text. Raises ``JSONDecodeError``, and ``InputError`` for JSON that Python cannot hold."""
    try:
        return json.loads(text, parse_float=_float, parse_int=_int, object_pairs_hook=_object)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise InputError("the JSON is nested too deeply to be a conversation") from None
    except ValueError:
        raise InputError("the JSON holds a number of more digits than Python reads") from None


def _float(literal: str) -> float:
    value = float(literal)
    if repr(value) == literal:
        return value
    written = Written(value)
    written.literal = literal
    return written


def _int(literal: str) -> float:
    # JSON has no leading zeros and no plus sign, so this is the only whole number that Python writes differently.
    return _float(literal) if literal == "-0" else int(literal)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; where a key stands in it twice, one of the two would be lost."""
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    keys = [key for key, _ in pairs]
    twice = next(key for key in keys if keys.count(key) > 1)
    first, second = [dump_json(held) for key, held in pairs if key == twice][:2]
    shown = " and as ".join(text if len(text) <= 40 else text[:37] + "..." for text in (first, second))
    raise InputError(f"the key {twice!r} stands twice in one object, as {shown}; one of them has to go")


def _lines(text: str, whole_error: json.JSONDecodeError) -> list[Any]:
    """The values of a JSONL text; when even its first line is no JSON, the error is that of the whole text."""
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = read_json(line)
        except json.JSONDecodeError as error:
            if not values:
                raise InputError(
                    f"not JSON: {whole_error.msg} at line {whole_error.lineno}, column {whole_error.colno}"
                    " (is the file cut off?); not JSONL either: its first line is no JSON value"
                ) from None
            raise InputError(f"not JSONL: line {number} is no JSON value ({error.msg}); is it cut off?") from None
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None
        if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
            raise InputError(f"line {number} is a whole conversation; put one conversation in a file")
        values.append(value)
    return values


def _indent(text: str, container: Container) -> int | None:
    """The indentation that the file was written with, None for compact or one-line JSON."""
    if container == "lines":
        return None
    second = text.partition("\n")[2]
    width = len(second) - len(second.lstrip(" "))
    return width or None


def _newline(text: str) -> str:
    """What the file's first line ends with."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def dump_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON, the order of keys kept and numbers spelled as they were read."""
    literals: list[str] = []
    mark = ""
    if _has_written(value):
        mark = secrets.token_hex(16)  # no text of the conversation can know it
        value = _marked(value, mark, literals)
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates: escaped, the JSON value stays the same
        text = json.dumps(value, indent=indent)
    return re.sub(rf'"{mark}:(\d+)"', lambda found: literals[int(found[1])], text) if literals else text


def _has_written(value: Any) -> bool:
    waiting, seen = [value], set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, Written):
            return True
        if isinstance(item, (dict, list, tuple)):
            if id(item) in seen:
                continue
            seen.add(id(item))
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
    return False


def _marked(value: Any, mark: str, literals: list[str]) -> Any:
    """The value with texts in the place of numbers whose literals are to be written; they are put in ``literals``."""
    if isinstance(value, Written):
        literals.append(value.literal)
        return f"{mark}:{len(literals) - 1}"
    if isinstance(value, dict):
        return dict(zip(value, _marked(list(value.values()), mark, literals), strict=True))
    if isinstance(value, (list, tuple)):
        return list(map(_marked, value, repeat(mark), repeat(literals)))
    return value
