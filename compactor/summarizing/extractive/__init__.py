"""The offline summarizer, made of rules instead of a model."""

from compactor.summarizing.extractive.summarizer import ExtractiveSummarizer

__all__ = ["ExtractiveSummarizer"]
