"""Exact counts with OpenAI's tokenizer, loaded when the first text is counted."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from compactor.errors import CompactorError
from compactor.tokens.litellm_files import litellm_file
from compactor.tokens.per_text import TextCounter

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "o200k_base"

# The encodings whose files litellm's package carries. tiktoken must not be pointed there for another one: it
# would try to download that into the package.
_PACKAGED = frozenset({"o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit"})
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
_LOADING = threading.Lock()

# tiktoken's regular expressions overflow the stack on millions of blanks in a row and slow down on other runs,
# so texts go in pieces. A blank between two words is where its own pieces end, so a cut there changes nothing.
PIECE = 100_000
_WORDS_END = re.compile(r"(?<=[A-Za-z])(?= [A-Za-z])")
_WINDOW = 2_000


class EncodingUnavailable(CompactorError):
    """The tokenizer's data can neither be found on this machine nor downloaded."""


def exact_counter(model: str | None = None) -> TextCounter:
    """The counter ``tiktoken``: exact for OpenAI's models, close for others, whose tokenizers are not public.

    Nothing is loaded until it counts; then it may raise ``EncodingUnavailable``.
    """
    return TextCounter("tiktoken", Tokenizer(model).count)


class Tokenizer:
    """tiktoken for one model. Counts what ``encode_ordinary`` gives: special tokens are ordinary text."""

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self._encoding: Encoding | None = None

    def count(self, text: str) -> int:
        """Tokens of ``text``. Raises ``EncodingUnavailable``."""
        if self._encoding is None:
            self._encoding = _load(encoding_name(self._model))
        encode = self._encoding.encode_ordinary
        if not text.isascii():
            text = _scrubbed(text)
        if len(text) <= PIECE:
            return len(encode(text))
        return sum(len(encode(piece)) for piece in _pieces(text))


def encoding_name(model: str | None) -> str:
    """The encoding of ``model``, with or without provider prefix; ``o200k_base`` for models tiktoken does not know."""
    from tiktoken import encoding_name_for_model

    try:
        return encoding_name_for_model((model or "").rsplit("/", 1)[-1])
    except KeyError:
        return DEFAULT_ENCODING


def _load(name: str) -> "Encoding":
    import tiktoken

    try:
        with _packaged_files(name):
            return tiktoken.get_encoding(name)
    except Exception as error:  # whatever the network, the file system or the check of the file raises
        raise EncodingUnavailable(
            f"the tokenizer data {name!r} could not be loaded ({error}); install litellm, which carries them, or set "
            "TIKTOKEN_CACHE_DIR to a folder that does, or choose `counter: estimate` or `counter: rough`"
        ) from error


@contextmanager
def _packaged_files(name: str) -> Iterator[None]:
    """Points tiktoken to litellm's copies for the duration, unless the user has pointed it somewhere."""
    folder = litellm_file("litellm_core_utils", "tokenizers") if name in _PACKAGED else None
    with _LOADING:  # held while looking, too: another thread's setting must not be taken for the user's
        if folder is None or any(variable in os.environ for variable in _CACHE_VARIABLES):
            yield
            return
        os.environ[_CACHE_VARIABLES[0]] = str(folder)
        try:
            yield
        finally:
            del os.environ[_CACHE_VARIABLES[0]]


def _scrubbed(text: str) -> str:
    """``text`` with lone surrogates, which no encoder takes, replaced, and pairs of them joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _pieces(text: str) -> Iterator[str]:
    """``text`` in pieces of at most ``PIECE`` characters, cut between words where there is such a place."""
    start = 0
    while len(text) - start > PIECE:
        limit = start + PIECE
        cut = limit
        for match in _WORDS_END.finditer(text, limit - _WINDOW, limit):
            cut = match.start()
        yield text[start:cut]
        start = cut
    yield text[start:]
