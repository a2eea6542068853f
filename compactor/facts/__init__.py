"""Recognisers of what later turns lean on."""

from compactor.facts.fact import Fact, Kind
from compactor.facts.recognize import recognize

__all__ = ["Fact", "Kind", "recognize"]
