"""Hostile: returns 50 MB."""

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    return "a very long fact " * 3_000_000
