"""A conversation as a file: its container is kept, so that what is written looks like what was read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from compactor.errors import InputError
from compactor.messages.message import Raw

Container = Literal["list", "object", "lines"]


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
            return "".join(_dump(message) + "\n" for message in messages)
        if self.container == "list":
            return _dump(list(messages), self.indent) + "\n"
        top = {**self.top, "messages": list(messages)}
        if self.system is not None:
            top["system"] = system
        return _dump(top, self.indent) + "\n"


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
            return Document(tuple(found), container, candidate.name, top, _indent(text, container))
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
        value = _value(text)
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


def _value(text: str) -> Any:
    """The JSON value of a text. Raises ``JSONDecodeError``, and ``InputError`` for JSON that Python cannot hold."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise InputError("the JSON is nested too deeply to be a conversation") from None
    except ValueError:
        raise InputError("the JSON holds a number of more digits than Python reads") from None


def _lines(text: str, whole_error: json.JSONDecodeError) -> list[Any]:
    """The values of a JSONL text; when even its first line is no JSON, the error is that of the whole text."""
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = _value(line)
        except json.JSONDecodeError as error:
            if not values:
                raise InputError(
                    f"not JSON: {whole_error.msg} at line {whole_error.lineno}, column {whole_error.colno}"
                    " (is the file cut off?); not JSONL either: its first line is no JSON value"
                ) from None
            raise InputError(f"not JSONL: line {number} is no JSON value ({error.msg}); is it cut off?") from None
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


def _dump(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates: escaped, the JSON value stays the same
        return json.dumps(value, indent=indent)
    return text
