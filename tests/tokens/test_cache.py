"""Remembered counts stay bounded and keep what is in use."""

from compactor.tokens.cache import CountCache


class Listening:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def test_a_text_is_counted_once() -> None:
    count = Listening()
    cache = CountCache(count)
    assert [cache("abc"), cache("abc"), cache("".join(["a", "bc"]))] == [3, 3, 3]
    assert count.asked == ["abc"]


def test_zero_is_remembered_too() -> None:
    asked: list[str] = []
    cache = CountCache(lambda text: asked.append(text) or 0)
    assert cache("abc") == cache("abc") == 0
    assert asked == ["abc"]


def test_what_is_used_stays_and_what_is_not_goes() -> None:
    count = Listening()
    cache = CountCache(count, max_characters=20_000)
    cache("in use")
    cache("forgotten")
    for number in range(1_000):
        cache(f"{number:0900}")
        cache("in use")
    assert count.asked.count("in use") == 1
    cache("forgotten")
    assert count.asked.count("forgotten") == 2


def test_many_tiny_texts_are_bounded_as_well() -> None:
    count = Listening()
    cache = CountCache(count, max_characters=20_000)
    for number in range(10_000):
        cache(str(number))
    cache("0")
    assert count.asked.count("0") == 2


def test_a_text_larger_than_the_cache_is_counted_and_pushes_nothing_out() -> None:
    count = Listening()
    cache = CountCache(count, max_characters=2_000)
    cache("small")
    assert cache("x" * 5_000) == 5_000
    cache("small")
    assert count.asked.count("small") == 1
