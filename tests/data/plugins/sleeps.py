"""Hostile: does not come back in time."""

import time

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    time.sleep(3)
    return "too late"
