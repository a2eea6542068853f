"""How many tokens a model's context window holds, and where we know it from."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from compactor.tokens.litellm_files import litellm_file

TABLE = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True, slots=True)
class Window:
    """A context window in tokens; ``source`` says in a few words for people where the number comes from.

    ``known`` is False for one that is merely assumed.
    """

    tokens: int
    source: str
    known: bool = True


def context_window(model: str | None, *, configured: int | Literal["auto"], unknown: int) -> Window:
    """The window of ``model``: as configured, else from litellm's table by name, else ``unknown``.

    ``configured`` is ``window.context_length`` of the policy and wins whenever it is a number; ``unknown`` is
    ``window.unknown_model``. The name is tried as given, then without its provider prefixes.
    """
    if configured != "auto":
        return Window(configured, "policy window.context_length")
    if not model:
        return Window(unknown, "no model named: window.unknown_model", known=False)
    table = known_windows()
    for name in _names(model):
        if name in table:
            return Window(table[name], f"model {name} (litellm's table)")
    return Window(unknown, f"unknown model {model!r}: window.unknown_model", known=False)


@lru_cache(maxsize=1)
def known_windows() -> Mapping[str, int]:
    """Model name -> input tokens, as litellm's package lists them; empty when there is no such list."""
    path = litellm_file(TABLE)
    if path is None:
        return MappingProxyType({})
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        entries = {}
    sizes = {name: _input_tokens(entry) for name, entry in entries.items() if name != "sample_spec"}
    return MappingProxyType({name: size for name, size in sizes.items() if size})


def _names(model: str) -> Iterator[str]:
    """``a/b/c``, ``b/c``, ``c``."""
    yield model
    while "/" in model:
        model = model.split("/", 1)[1]
        yield model


def _input_tokens(entry: Mapping[str, Any]) -> int | None:
    """The window of one entry; ``max_tokens`` is the window only where no limit of the output is listed."""
    size = entry.get("max_input_tokens")
    if size is None and "max_output_tokens" not in entry:
        size = entry.get("max_tokens")
    return size if isinstance(size, int) and size > 0 else None
