"""Hostile: returns a text whose methods raise."""

import compactor


class FalseText(str):
    def strip(self, *_):
        raise RuntimeError("outside of the isolation")

    __getitem__ = __len__ = encode = strip


@compactor.hookimpl
def on_pre_compress(event):
    return FalseText("GOOD: a text in the end")
