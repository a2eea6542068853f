"""Hostile: raises what no handler of exceptions catches."""

import compactor


class Own(BaseException):
    pass


@compactor.hookimpl
def on_pre_compress(event):
    raise Own("caught by nobody")
