"""The names of sessions: their ids, and the titles of a lineage (REFERENCE section 9)."""

import secrets
import time


def session_id(now: float) -> str:
    """``YYYYMMDD_HHMMSS_`` in local time and six hexadecimal digits."""
    return f"{time.strftime('%Y%m%d_%H%M%S', time.localtime(now))}_{secrets.token_hex(3)}"


def log_name(session: str) -> str:
    """The file that a session is written to when it ends."""
    return f"session_{session}.json"
