"""The summariser that asks a model through litellm. The only module that imports litellm."""

import os
from collections.abc import Generator, Mapping
from typing import Any

from compactor.errors import SummarizerDeclined, SummarizerFailed
from compactor.extension.protocols import SummaryReply, SummaryRequest
from compactor.policy.models import Summary
from compactor.steps import drive, drive_async

_KINDS = (
    ("AuthenticationError", "missing_key"),
    ("PermissionDeniedError", "missing_key"),
    ("Timeout", "timeout"),
    ("RateLimitError", "rate_limit"),
    ("APIConnectionError", "network"),
    ("ServiceUnavailableError", "network"),
    ("InternalServerError", "network"),
    ("BadGatewayError", "network"),
)


class LiteLLM:
    """Asks ``summary.model``, then each of ``summary.fallback_models``; declines when the policy names no model."""

    def __init__(self, settings: Summary) -> None:
        self._settings = settings

    def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Raises ``SummarizerFailed`` with what each model said, when none answered."""
        return drive(self._calls(request.prompt), lambda call: litellm().completion(**call))

    async def asummarize(self, request: SummaryRequest) -> SummaryReply:
        """As ``summarize``, without blocking the event loop."""
        return await drive_async(self._calls(request.prompt), lambda call: litellm().acompletion(**call))

    def complete(self, prompt: str) -> str:
        """What the model answers to a prompt that is not about a summary. Raises as ``summarize`` does."""
        return drive(self._calls(prompt), lambda call: litellm().completion(**call)).text

    def _calls(self, prompt: str) -> Generator[dict[str, Any], Any, SummaryReply]:
        """The calls to make, one model after the other; is sent the response, or thrown what the call raised."""
        if self._settings.model is None:
            raise SummarizerDeclined("no model configured (summary.model, or --summary-model)")
        failures: list[SummarizerFailed] = []
        for model in (self._settings.model, *self._settings.fallback_models):
            try:
                response = yield self._call(model, prompt)
            except SummarizerFailed as failure:
                failures.append(failure)
            except Exception as error:
                failures.append(_failure(model, error))
            else:
                return _reply(response, model)
        raise SummarizerFailed("; ".join(map(str, failures)), failures[0].kind)

    def _call(self, model: str, prompt: str) -> dict[str, Any]:
        options: dict[str, Any] = dict(self._settings.options)
        local = "api_base" in options or "base_url" in options
        missing = _missing_keys(model)
        if missing and local:
            options["api_key"] = "none"  # a server of one's own usually asks for no key, but the client insists
        elif missing:
            raise SummarizerFailed(f"model {model!r} needs an API key: set {' or '.join(missing)}", "missing_key")
        messages = [{"role": "user", "content": prompt}]
        timeout = self._settings.timeout
        return {**options, "model": model, "messages": messages, "timeout": timeout, "max_retries": 0}


def litellm() -> Any:
    """litellm, imported at the first call: it costs seconds, and without the setting it goes to the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm as package

    package.suppress_debug_info = True
    return package


def _missing_keys(model: str) -> list[str]:
    """The environment variables with keys that the model's provider wants and that are not set.

    Addresses are left out: a provider on this machine has a default for its own.
    """
    known: Mapping[str, Any] = litellm().validate_environment(model)
    if known.get("keys_in_environment"):
        return []
    return [str(name) for name in known.get("missing_keys", ()) if not str(name).endswith(("_BASE", "_URL", "_HOST"))]


def _failure(model: str, error: Exception) -> SummarizerFailed:
    names = {kind.__name__ for kind in type(error).__mro__}
    kind = next((kind for name, kind in _KINDS if name in names), "error")
    first_line = str(error).strip().split("\n", 1)[0][:4000]
    return SummarizerFailed(f"model {model!r}: {type(error).__name__}: {first_line}", kind)


def _reply(response: Any, model: str) -> SummaryReply:
    choice = response.choices[0] if response.choices else None
    if choice is None:
        return SummaryReply("", model=model)
    usage = getattr(response, "usage", None)
    counts = {
        key: value
        for key in ("prompt_tokens", "completion_tokens")
        if isinstance(value := getattr(usage, key, None), int)
    }
    return SummaryReply(choice.message.content or "", choice.finish_reason, model, counts)
