"""A memory that works."""

import compactor


@compactor.hookimpl
def on_pre_compress(event):
    return "GOOD: the build needs JDK 21"
