"""What a session asks of whatever keeps its conversation: a database, or nothing but memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from compactor.extension.protocols import Format
from compactor.messages.message import Raw
from compactor.session.store.records import Claim, Commit, Hit, MessageRecord, Revision, SessionRecord, View


class Keeping(Protocol):
    """See ``Store``, whose methods these are."""

    def close(self) -> None: ...

    def begin(
        self,
        *,
        lead: Sequence[Raw] = (),
        system: Any = None,
        title: str | None = None,
        source: str = "cli",
        model: str | None = None,
        policy: str | None = None,
    ) -> SessionRecord: ...

    def append(
        self, conversation: str, messages: Sequence[Raw], format_: Format | None = None
    ) -> list[tuple[int, int]]: ...

    def keep_lead(
        self, conversation: str, lead: Sequence[Raw], system: Any, sent: tuple[Sequence[Raw], Any]
    ) -> None: ...

    def take_back(self, conversation: str, position: int) -> int: ...

    def revise(self, conversation: str, revision: Revision, format_: Format | None = None) -> list[tuple[int, int]]: ...

    def rewind(self, conversation: str, message_id: int) -> View: ...

    def claim(self, conversation: str) -> Claim | None: ...

    def renew(self, claimed: Claim) -> bool: ...

    def release(self, claimed: Claim) -> None: ...

    def commit(self, claimed: Claim, made: Commit) -> bool: ...

    def undo(self, conversation: str) -> View | None: ...

    def write_log(self, session: str) -> Path | None: ...

    def session(self, name: str) -> SessionRecord: ...

    def view(self, conversation: str) -> View: ...

    def everything(self, conversation: str) -> tuple[Sequence[Raw], Any, list[MessageRecord]]: ...

    def message(self, message_id: int, conversation: str | None = None) -> MessageRecord: ...

    def search(
        self, query: str, *, session: str | None = None, conversation: str | None = None, limit: int = 20
    ) -> list[Hit]: ...
