"""A memory that works, and is asynchronous."""

import asyncio

import compactor


@compactor.hookimpl
async def on_pre_compress(event):
    await asyncio.sleep(0.001)
    return "GOOD: asked asynchronously"
