"""Any value as compact JSON, whatever it is (law 12)."""

import json
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str, skipkeys=True)


def compact_json(value: Any) -> str:
    """``value`` as JSON without blanks, other scripts as they are.

    What JSON cannot say (circular or very deep values, odd keys, objects that refuse to be shown) becomes a text
    that describes it: to count or to show a message must never raise.
    """
    try:
        return _ENCODER.encode(value)
    except Exception:
        return _described(value)


def _described(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
