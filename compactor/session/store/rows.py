"""Between rows and records, and messages as JSON that keeps what it was given."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import RowMapping

from compactor.errors import InputError, StoreError
from compactor.extension.protocols import Format
from compactor.messages.formats.document import dump_json, read_json
from compactor.messages.message import Raw
from compactor.session.store.records import CompactionRecord, MessageRecord, SessionRecord
from compactor.session.store.texts import searchable
from compactor.state import CompactionState


def as_json(value: Any) -> str:
    """A value as JSON text, its keys in their order. Raises ``StoreError`` for what JSON cannot say."""
    try:
        return dump_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"a message cannot be kept, for it is no JSON: {error}") from error


def from_json(text: str | None) -> Any:
    """The inverse of ``as_json``; None for nothing. Raises ``StoreError`` for what somebody else has written."""
    try:
        return None if text is None else read_json(text)
    except (ValueError, InputError) as error:
        raise StoreError(f"the store is damaged: {error}") from error


def state_json(state: CompactionState) -> str:
    return as_json(state.to_dict())


def state_from(text: str) -> CompactionState:
    return CompactionState.from_dict(from_json(text))


def message_values(raw: Raw, format_: Format) -> dict[str, Any]:
    """The columns of a message that do not depend on where it stands."""
    role, text = searchable(raw, format_)
    return {"role": role, "raw": as_json(raw), "text": text}


def session_record(row: RowMapping) -> SessionRecord:
    names = SessionRecord.__dataclass_fields__
    return SessionRecord(**{name: value for name, value in row.items() if name in names})


def compaction_record(row: RowMapping) -> CompactionRecord:
    """The numbers are those of the report."""
    report = from_json(row["report"])
    names = CompactionRecord.__dataclass_fields__
    return CompactionRecord(**{name: row[name] if name in row else report[name] for name in names})


def message_records(rows: Sequence[RowMapping]) -> list[MessageRecord]:
    return [
        MessageRecord(row["id"], row["position"], row["session_id"], from_json(row["raw"]), row["said_at"])
        for row in rows
    ]
