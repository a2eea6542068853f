"""What users want: their requests, without what a program put around them."""

import re

# Blocks that hosts wrap around or put beside a user's words: <environment_context>..., <system-reminder>...
_BLOCK = re.compile(r"<([a-zA-Z][\w:-]{3,})(?: [^<>]{0,200})?>.*?</\1>", re.S)


def ask(text: str) -> str:
    """The request in a user's message, "" where the message holds none.

    Tagged blocks are taken for additions of the host and left out, unless nothing but a part of one block's
    content would be lost that way and the block is the only text: then there is no request at all.
    """
    if "</" in text:
        text = _BLOCK.sub(" ", text)
    return text.strip()
