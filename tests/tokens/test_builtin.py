"""The counters that a policy can name."""

import pytest

from compactor.extension.protocols import Counter
from compactor.messages.message import Message, Text
from compactor.tokens.builtin import COUNTERS


@pytest.mark.parametrize("name", ["rough", "tiktoken", "estimate"])
def test_each_is_a_counter_of_that_name(name: str) -> None:
    counter = COUNTERS[name]("gpt-4o")
    assert isinstance(counter, Counter)
    assert counter.name == name
    message = Message("user", (Text("The tests of the login module fail since yesterday. " * 20),))
    assert counter.text(message.text) == pytest.approx(200, rel=0.3)
    assert counter.text(message.text) < counter.message(message)
    assert counter.text(message.text) < counter.request([message])


def test_there_are_no_others() -> None:
    assert set(COUNTERS) == {"rough", "tiktoken", "estimate"}
