"""Hostile: leaves threads behind that never end."""

import threading

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    for _ in range(20):
        threading.Thread(target=threading.Event().wait).start()
    return "GOOD: with threads"
