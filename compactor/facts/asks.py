"""What users want: their requests, without what a program put around them."""

import re

_OPENING = re.compile(r"<([a-zA-Z][\w:-]{3,})(?: [^<>]{0,200})?>")


def ask(text: str) -> str:
    """The request in a user's message, "" where the message holds none.

    Tagged blocks (``<environment_context> ... </environment_context>``) are taken for additions of the host and
    left out; a message of nothing else asks for nothing.
    """
    if "</" not in text:
        return text.strip()
    kept: list[str] = []
    unclosed: set[str] = set()  # so that many openings without an end stay linear
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        tag = opening.group(1)
        end = -1 if tag in unclosed else text.find(f"</{tag}>", opening.end())
        if end < 0:
            unclosed.add(tag)
            kept.append(text[at : opening.end()])
            at = opening.end()
        else:
            kept.append(text[at : opening.start()])
            at = end + len(tag) + 3
    return "".join([*kept, text[at:]]).strip()
