"""Public test kit: scripted summarisers, transcript builders, and a runner of YAML golden cases.

>>> from compactor.engine import Compactor
>>> from compactor.testing import ScriptedSummarizer, user
>>> scripted = ScriptedSummarizer(["## Goal\\nShip it."])
>>> Compactor("default", summarizer=scripted).compact([user("hello")]).outcome
<Outcome.NOT_NEEDED: 'not_needed'>
"""

from compactor.testing.golden import GoldenCase, load_cases, run_case
from compactor.testing.scripted import ScriptedSummarizer
from compactor.testing.transcripts import assistant, call, filler, result, rounds, system, user

__all__ = [
    "GoldenCase",
    "ScriptedSummarizer",
    "assistant",
    "call",
    "filler",
    "load_cases",
    "result",
    "rounds",
    "run_case",
    "system",
    "user",
]
