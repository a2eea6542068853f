"""Hostile: does not come back in time, and is asynchronous."""

import asyncio

import compactor


@compactor.hookimpl
async def on_pre_compress(event):
    await asyncio.sleep(3)
    return "too late"
