"""Hostile: raises what cannot be shown."""

import compactor


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no")


@compactor.hookimpl
def on_pre_compress(event):
    raise Unprintable
