"""Hostile: raises, but only when it is awaited."""

import asyncio

import compactor


@compactor.hookimpl
async def on_pre_compress(event):
    await asyncio.sleep(0)
    raise RuntimeError("the socket is closed")
