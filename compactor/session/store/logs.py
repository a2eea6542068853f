"""The log file of a session that has ended: what was said in it, for people and other programs."""

import logging
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compactor.session.store.naming import log_name
from compactor.session.store.records import MessageRecord, SessionRecord
from compactor.session.store.rows import as_json

_log = logging.getLogger(__name__)


def write_log(folder: Path, record: SessionRecord, said: Sequence[MessageRecord]) -> Path | None:
    """Writes the file, whole or not at all.

    None, and a warning, where it cannot be written: everything in it is in the store.
    """
    path = folder / log_name(record.id)
    content = {
        "session_id": record.id,
        "parent_session_id": record.parent_id,
        "title": record.title,
        "source": record.source,
        "model": record.model,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "end_reason": record.end_reason,
        "messages": [message.raw for message in said],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, suffix=".tmp", delete=False) as file:
            file.write(as_json(content))
        os.replace(file.name, path)
    except OSError as error:
        _log.warning("the log of session %s cannot be written: %s", record.id, error)
        return None
    return path
