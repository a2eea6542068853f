"""Hostile: ends the process."""

import sys

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    sys.exit(3)
