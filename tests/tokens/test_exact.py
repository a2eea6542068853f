"""The exact counter: which tokenizer it takes, what it survives, and where its data come from."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiktoken

from compactor.errors import CompactorError
from compactor.tokens.exact import EncodingUnavailable, Tokenizer, encoding_name, exact_counter


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("gpt-4.1-mini", "o200k_base"),
        ("gpt-5.1", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("openrouter/openai/gpt-4o", "o200k_base"),
        ("anthropic/claude-sonnet-4-5", "o200k_base"),
        ("something-new", "o200k_base"),
        ("", "o200k_base"),
        (None, "o200k_base"),
    ],
)
def test_the_encoding_follows_the_model(model: str | None, encoding: str) -> None:
    assert encoding_name(model) == encoding


def test_it_counts_what_the_tokenizer_gives(samples: dict[str, str], tokenizer: Tokenizer) -> None:
    encoding = tiktoken.get_encoding("o200k_base")
    for text in samples.values():
        assert tokenizer.count(text) == len(encoding.encode_ordinary(text))


def test_a_long_text_is_cut_only_where_nothing_changes(samples: dict[str, str], tokenizer: Tokenizer) -> None:
    long = (samples["python"] + samples["english"] + samples["logs"]) * 40
    assert len(long) > 200_000
    assert tokenizer.count(long) == len(tiktoken.get_encoding("o200k_base").encode_ordinary(long))


def test_a_long_text_without_words_is_off_by_a_token_a_cut(samples: dict[str, str], tokenizer: Tokenizer) -> None:
    long = samples["base64"] * 60
    whole = len(tiktoken.get_encoding("o200k_base").encode_ordinary(long))
    assert tokenizer.count(long) == pytest.approx(whole, abs=4)


@pytest.mark.parametrize("text", ["<|endoftext|>", "a\ud800b", "\udfff" * 3, "\ud83d\ude00", "\x00"])
def test_odd_text_is_counted(text: str, tokenizer: Tokenizer) -> None:
    assert tokenizer.count(text) > 0


@pytest.mark.parametrize("character", ["a", " ", "\n", "=", "的", "\u0301"])
def test_runs_of_one_character_are_neither_slow_nor_fatal(character: str, tokenizer: Tokenizer) -> None:
    tokenizer.count("loaded")
    start = time.process_time()
    assert tokenizer.count(character * 200_000) > 1_000
    assert time.process_time() - start < 2


def test_millions_of_blanks_do_not_overflow_the_tokenizer(tokenizer: Tokenizer) -> None:
    assert tokenizer.count(" " * 3_000_000) == pytest.approx(3_000_000 / 128, rel=0.01)


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    before = dict(os.environ)
    assert Tokenizer("gpt-4").count("hello world") == 2
    assert dict(os.environ) == before


def test_nothing_heavy_is_imported_before_the_first_count() -> None:
    script = (
        "import sys; from compactor.tokens.builtin import COUNTERS; counter = COUNTERS['tiktoken']('gpt-4o');"
        "assert 'tiktoken' not in sys.modules; counter.text('hello'); assert 'litellm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_encoding_that_cannot_be_had_is_explained(tmp_path: Path) -> None:
    # An empty folder of the user's, and a proxy that nobody listens at: no file and no download.
    script = (
        "from compactor.tokens.exact import *\n"
        "try: exact_counter('gpt-4o').text('hello')\n"
        "except EncodingUnavailable as error: print(error)"
    )
    closed = dict.fromkeys(["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"], "http://127.0.0.1:9")
    environ = {**os.environ, **closed, "TIKTOKEN_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert "o200k_base" in done.stdout
    assert "counter: estimate" in done.stdout


def test_its_error_is_one_of_ours() -> None:
    assert issubclass(EncodingUnavailable, CompactorError)
    assert exact_counter().name == "tiktoken"
