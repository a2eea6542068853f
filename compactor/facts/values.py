"""Values that cannot be guessed again: addresses, versions, ids, ports, settings, amounts."""

import re

_HINT = re.compile(r"[\d`=_]|--|://")  # every value has one of these
_VALUE = re.compile(
    r"://|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b|\bv?\d+\.\d+(?:\.\d+)+|(?<!\w)#\d{1,6}\b|\b[A-Z]{2,10}-\d{1,6}\b"
    r"|\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,12}\b|\blocalhost:\d+|\b[Pp]ort \d{2,5}|\b[A-Za-z_]\w*=[^\s=]"
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|[$€£¥]\s?\d|(?<!\w)--[a-z][\w-]{3,}|`[^`\n]{3,}`|\b\d{4,}\b"
    r"|\b\d[\d,.]*\s?(?:ms|s|sec|min|hours?|days?|[KMG]i?B|%|px|tokens?|USD|EUR)\b",
)
_LONGEST = 320  # code points of a sentence that are looked at


def has_value(sentence: str) -> bool:
    """Whether ``sentence`` states a value that would be lost with it."""
    return bool(_HINT.search(sentence) and _VALUE.search(sentence, 0, _LONGEST))
