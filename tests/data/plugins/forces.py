"""Hostile: changes its argument behind Python's back."""

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    for message in event.messages:
        object.__setattr__(message, "parts", ())
        object.__setattr__(message, "role", "tool")
