"""When the plugins of a compaction are called, with what, and what is made of their answers.

The methods are generators of ``HookCall`` steps, so that one body serves synchronous and asynchronous callers.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from compactor.errors import PluginError
from compactor.extension.events import CompactionFailed, Complete, PostCompress, PreCompress, StateRequest
from compactor.extension.isolation import Hook, HookAnswer, HookCall
from compactor.extension.protocols import Counter
from compactor.hooks import PluginReport, RequiredPluginFailed, bounded, call_hooks
from compactor.messages.message import Message
from compactor.planning.plan import Plan
from compactor.policy.models import Summary
from compactor.redaction import Redaction
from compactor.result import CompactionResult
from compactor.summarizing.llm import LiteLLM

__all__ = ["PluginCalls", "RequiredPluginFailed", "completion"]

Reports = tuple[PluginReport, ...]
Answered = Generator[HookCall, HookAnswer, tuple[str | None, Reports]]


@dataclass(frozen=True, slots=True)
class PluginCalls:
    """The plugins of one compaction; ``redaction`` takes the secrets out of what they are told and what they say."""

    hooks: Mapping[str, tuple[Hook, ...]]
    counter: Counter
    redaction: Redaction

    def state(self, messages: Sequence[Message], host: Mapping[str, Any], room: int) -> Answered:
        """What state plugins want restated after the compaction, None where there is none.

        All together it may cost ``room`` tokens; the later ones of the list are cut. Raises ``RequiredPluginFailed``,
        as ``memory`` does.
        """
        hooks = self.hooks["provide_state"]
        safe = self.redaction.messages(messages) if hooks else ()

        def event_for(hook: Hook) -> StateRequest:
            return StateRequest(safe, min(hook.max_tokens, room), MappingProxyType(dict(host)))

        said = yield from call_hooks(hooks, event_for, self.counter, self.redaction.text)
        if not said.texts:
            return None, said.reports
        text, _ = bounded("\n\n".join(text for _, text in said.texts), room, self.counter, self.redaction.text)
        return text or None, said.reports

    def memory(
        self, messages: Sequence[Message], plan: Plan, *, count: int, focus: str | None, complete: Complete | None
    ) -> Answered:
        """What memory plugins want the summariser to know, None where there is nothing."""
        hooks = self.hooks["on_pre_compress"]
        if not hooks:
            return None, ()
        places = {message.index for message in plan.folded}
        safe = self.redaction.messages(messages)
        folded = tuple(message for message in safe if message.index in places)
        summary = plan.previous and self.redaction.text(plan.previous)

        def event_for(_: Hook) -> PreCompress:  # one each: what a plugin does to its own is nobody else's
            return PreCompress(safe, folded, summary, count, focus, complete)

        said = yield from call_hooks(hooks, event_for, self.counter, self.redaction.text)
        return "\n\n".join(f"[{plugin}]\n{text}" for plugin, text in said.texts) or None, said.reports

    def told(self, result: CompactionResult) -> Generator[HookCall, HookAnswer, CompactionResult]:
        """Tells plugins how it ended; the result with their reports.

        It is too late to take anything back: a required plugin that fails is only reported.
        """
        name = "on_post_compress" if result.changed else "on_compaction_failed"

        def event_for(_: Hook) -> PostCompress | CompactionFailed:
            if result.changed:
                return PostCompress(result.outcome.value, result.summary, result.report.to_dict())
            return CompactionFailed(result.outcome.value, result.reason)

        try:
            reports = (yield from call_hooks(self.hooks[name], event_for, self.counter, self.redaction.text)).reports
        except RequiredPluginFailed as error:
            reports = error.reports
        except PluginError as error:
            reports = (PluginReport("", name, 0.0, str(error)),)
        return replace(result, report=replace(result.report, plugins=(*result.report.plugins, *reports)))


def completion(summary: Summary, redaction: Redaction) -> Complete | None:
    """Asks the policy's model on behalf of plugins, secrets taken out both ways; None where it names no model."""
    if summary.model is None:
        return None
    model = LiteLLM(summary)
    return lambda prompt: redaction.text(model.complete(redaction.text(prompt)))
