"""Declarative context compaction for LLM agents."""
