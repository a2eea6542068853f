"""The estimator against the real tokenizer."""

import time

import pytest

from compactor.tokens.estimate import estimate
from compactor.tokens.exact import Tokenizer

KINDS = [
    "chinese",
    "japanese",
    "korean",
    "arabic",
    "russian",
    "english",
    "python",
    "json",
    "indented json",
    "logs",
    "base64",
    "hex",
]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_within_fifteen_percent(kind: str, samples: dict[str, str], tokenizer: Tokenizer) -> None:
    assert estimate(samples[kind]) == pytest.approx(tokenizer.count(samples[kind]), rel=0.15)


def test_a_mixture_is_within_ten_percent(samples: dict[str, str], tokenizer: Tokenizer) -> None:
    mixture = "\n\n".join(samples.values())
    assert estimate(mixture) == pytest.approx(tokenizer.count(mixture), rel=0.10)


def test_a_long_text_is_estimated_from_slices_as_well(samples: dict[str, str], tokenizer: Tokenizer) -> None:
    long = "\n\n".join(samples.values()) * 10
    assert estimate(long) == pytest.approx(tokenizer.count(long), rel=0.12)


@pytest.mark.parametrize("text", ["", "a", "\n", "\ud800", "\x00", "👍", "a" * 10_000, " " * 10_000, "=" * 10_000])
def test_any_text_has_a_sane_estimate(text: str) -> None:
    assert (1 if text else 0) <= estimate(text) <= 3 * len(text)


def test_long_runs_are_not_estimated_away() -> None:
    assert estimate("\n" * 100_000) >= 500


def test_a_megabyte_takes_no_time(samples: dict[str, str]) -> None:
    text = samples["logs"] * 250
    start = time.process_time()
    estimate(text)
    assert time.process_time() - start < 0.5
