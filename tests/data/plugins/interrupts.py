"""Hostile: raises what means that somebody pressed Ctrl-C."""

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    raise KeyboardInterrupt
