"""Hostile: raises."""

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    raise RuntimeError("the database is gone")
