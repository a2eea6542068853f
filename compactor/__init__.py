"""Declarative context compaction for LLM agents.

>>> import compactor
>>> compactor.compact([{"role": "user", "content": "Hello."}]).outcome.value
'not_needed'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compactor.engine import Compactor, compact
    from compactor.errors import (
        CannotFit,
        CompactorError,
        InputError,
        PluginError,
        PolicyError,
        PromptError,
        StoreError,
        SummarizerDeclined,
        SummarizerError,
        SummarizerFailed,
    )
    from compactor.extension.hookspecs import hookimpl
    from compactor.extension.protocols import SummaryReply, SummaryRequest
    from compactor.planning.plan import Plan
    from compactor.planning.trigger import Decision
    from compactor.result import CompactionResult, Outcome, Report
    from compactor.session.events import EventKind, SessionEvent
    from compactor.session.outgoing import Outgoing
    from compactor.session.session import Session
    from compactor.session.store.store import Store
    from compactor.state import CompactionState
    from compactor.tokens.usage import Usage

_HOMES = {
    "compactor.engine": ("Compactor", "compact"),
    "compactor.errors": (
        "CannotFit",
        "CompactorError",
        "InputError",
        "PluginError",
        "PolicyError",
        "PromptError",
        "StoreError",
        "SummarizerDeclined",
        "SummarizerError",
        "SummarizerFailed",
    ),
    "compactor.extension.hookspecs": ("hookimpl",),
    "compactor.extension.protocols": ("SummaryReply", "SummaryRequest"),
    "compactor.planning.plan": ("Plan",),
    "compactor.planning.trigger": ("Decision",),
    "compactor.result": ("CompactionResult", "Outcome", "Report"),
    "compactor.session.events": ("EventKind", "SessionEvent"),
    "compactor.session.outgoing": ("Outgoing",),
    "compactor.session.session": ("Session",),
    "compactor.session.store.store": ("Store",),
    "compactor.state": ("CompactionState",),
    "compactor.tokens.usage": ("Usage",),
}

__all__ = [
    "CannotFit",
    "CompactionResult",
    "CompactionState",
    "Compactor",
    "CompactorError",
    "Decision",
    "EventKind",
    "InputError",
    "Outcome",
    "Outgoing",
    "Plan",
    "PluginError",
    "PolicyError",
    "PromptError",
    "Report",
    "Session",
    "SessionEvent",
    "Store",
    "StoreError",
    "SummarizerDeclined",
    "SummarizerError",
    "SummarizerFailed",
    "SummaryReply",
    "SummaryRequest",
    "Usage",
    "compact",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first asked for: a command that needs none of them starts at once."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'compactor' has no attribute {name!r}")
