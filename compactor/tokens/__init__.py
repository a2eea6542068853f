"""Counting tokens, and how large a model's window is."""
