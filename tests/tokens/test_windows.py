"""Which window is assumed for a model, and what people are told about it."""

import pytest

from compactor.tokens.windows import Window, context_window


@pytest.mark.parametrize("model", ["gpt-4o", "no-such-model", None])
def test_a_configured_length_always_wins(model: str | None) -> None:
    assert context_window(model, configured=5_000, unknown=1) == Window(5_000, "policy window.context_length")


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o", Window(128_000, "model gpt-4o (litellm's table)")),
        ("openai/gpt-4o", Window(128_000, "model gpt-4o (litellm's table)")),
        ("a/b/gpt-4o", Window(128_000, "model gpt-4o (litellm's table)")),
        ("no-such-model", Window(77, "unknown model 'no-such-model': window.unknown_model", known=False)),
        ("sample_spec", Window(77, "unknown model 'sample_spec': window.unknown_model", known=False)),
        ("a/", Window(77, "unknown model 'a/': window.unknown_model", known=False)),
        ("", Window(77, "no model named: window.unknown_model", known=False)),
        (None, Window(77, "no model named: window.unknown_model", known=False)),
    ],
)
def test_the_window_is_looked_up_by_name(model: str | None, window: Window) -> None:
    assert context_window(model, configured="auto", unknown=77) == window
