"""Hostile: raises what means that somebody pressed Ctrl-C, when it is awaited."""

import compactor


@compactor.hookimpl
async def on_pre_compress(event):
    raise KeyboardInterrupt
