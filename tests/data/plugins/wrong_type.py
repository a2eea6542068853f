"""Hostile: returns something that is no text."""

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    return {"facts": ["a", "b"]}
