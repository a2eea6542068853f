"""Trying the plugins of a policy: each hook is called once, with events made from a small sample session."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compactor.conversation import read_conversation
from compactor.engine import Compactor
from compactor.extension.events import CompactionFailed, PostCompress, PreCompress, StateRequest
from compactor.extension.host import implemented
from compactor.extension.isolation import Hook, call_hook
from compactor.extension.loading import find_plugin
from compactor.extension.roster import disabled_plugins
from compactor.hooks import call_hooks
from compactor.policy.draft import Draft
from compactor.prepared import LIFE_CYCLE, PreparedPolicy, prepare
from compactor.redaction import Redaction
from compactor.state import CompactionState
from compactor.steps import drive
from compactor.testing import assistant, call, filler, result, system, user

SUMMARY = "## Goal\nMake the build of the sample project faster.\n\n## Done\nFound that its cache was off."

TODOS = [{"content": "turn on the cache", "status": "pending"}]

SAMPLE = (
    system("You are a coding agent."),
    user("This is a sample session. Make the build faster; never touch vendor/, and always run the tests."),
    assistant("I read it first.", call("sample_1", "read_file", {"path": "src/build.py"})),
    result("sample_1", "CACHE = False\n" + filler(12_000)),
    assistant("The cache is off.", call("sample_2", "todo_write", {"todos": TODOS})),
    result("sample_2", "saved"),
    user("Then turn it on."),
    assistant("Done.", call("sample_3", "write_file", {"path": "src/build.py", "content": "CACHE = True"})),
    result("sample_3", "written"),
    user("And the tests?"),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one hook of one plugin; ``row`` is for the table of ``plugins check``."""

    row: tuple[str, str, str, str, str]
    failed: bool = False


def try_plugins(policy: str, model: str | None) -> list[Trial]:
    """Loads the plugins and calls their hooks, in the order of the policy's list.

    The hooks run in a temporary working directory, so that a memory does not keep the sample. Raises ``PolicyError``
    for what cannot be loaded. Standard output is kept free of what plugins print.
    """
    with redirect_stdout(sys.stderr):
        ready = prepare(policy, model=model)
        events = _events(ready)
        hooks = [hook for name in LIFE_CYCLE for hook in ready.hooks[name]]
        plugins = _plugins(ready)  # their files may be named relative to the present working directory
        trials = []
        # What was left behind at its deadline may still write while the folder is removed.
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, chdir(folder):
            for name, found in plugins:
                for hook_name in found:
                    mine = [hook for hook in hooks if (hook.plugin, hook.name) == (name, hook_name)]
                    trials += [_called(hook, events[hook_name](hook), ready) for hook in mine]
                    if not mine:  # a register hook: a policy with a failing one cannot be loaded
                        trials.append(Trial((name, hook_name, "ok: loaded", "", "")))
        return trials


def _plugins(ready: PreparedPolicy) -> list[tuple[str, tuple[str, ...]]]:
    """Names and hooks of the plugins that the policy lists, without the disabled ones."""
    off = disabled_plugins(os.environ)
    draft = Draft(ready.loaded.tree)
    found = []
    for place, use in enumerate(ready.policy.plugins):
        if not off & {use.use, Path(use.use).stem}:
            source = find_plugin(use.use, draft.folder(("plugins", place)))
            found.append((source.name, implemented(source.code)))
    return found


def _events(ready: PreparedPolicy) -> Mapping[str, Callable[[Hook], Any]]:
    """For each life-cycle hook, what makes its event. ``complete`` is left out: a check asks no model."""
    conversation = read_conversation(SAMPLE, None, (), CompactionState(), ready.formats)
    messages = Redaction(ready.redactors).messages(conversation.given)
    overrides = {"plugins": [], "window.context_length": 4000, "target": None, "boundaries.protect_first_n": 1}
    compactor = Compactor("hermes", overrides=overrides, summarizer=lambda _: SUMMARY, environ={})
    done = compactor.compact(SAMPLE, force=True)
    return {
        "on_pre_compress": lambda _: PreCompress(messages, messages[1:6], SUMMARY, 1, None, None),
        "provide_state": lambda hook: StateRequest(messages, hook.max_tokens),
        "on_post_compress": lambda _: PostCompress("compacted", SUMMARY, done.report.to_dict()),
        "on_compaction_failed": lambda _: CompactionFailed("failed", "no summary: this is a sample"),
    }


def _called(hook: Hook, event: Any, ready: PreparedPolicy) -> Trial:
    forgiven = replace(hook, required=False)
    redact = Redaction(ready.redactors).text
    said = drive(call_hooks([forgiven], lambda _: event, ready.counter, redact), call_hook)
    (report,) = said.reports
    if report.failure is not None:
        return Trial((hook.plugin, hook.name, f"FAILED: {report.failure}", f"{report.seconds:.2f}", ""), failed=True)
    text = " ".join(text for _, text in said.texts)
    shown = f"ok: {_short(text)}{' (cut off: max_tokens)' if report.cut else ''}" if text else "ok: nothing returned"
    return Trial((hook.plugin, hook.name, shown, f"{report.seconds:.2f}", f"{report.tokens:,}"))


def _short(text: str, most: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
