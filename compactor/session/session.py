"""The session: one conversation's life around any model call."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from compactor.engine import Compactor
from compactor.errors import StoreError
from compactor.extension.functions import Function
from compactor.extension.protocols import Summarizer
from compactor.messages.message import Raw
from compactor.planning.trigger import Decision
from compactor.policy.overrides import Override
from compactor.prepared import PolicySource
from compactor.result import CompactionResult
from compactor.session.archive import Archive
from compactor.session.events import Events, Listener
from compactor.session.guard import AsyncModel, Model, Performer, guarded
from compactor.session.keeper import Keeper
from compactor.session.memory import MemoryStore
from compactor.session.outgoing import Outgoing
from compactor.session.policies import Policies
from compactor.session.recall import RecallTool
from compactor.session.standing import HostRequest
from compactor.session.store.protocol import Keeping
from compactor.session.store.records import Hit, View
from compactor.state import CompactionState
from compactor.steps import drive, drive_async

if TYPE_CHECKING:
    from compactor.session.store.store import Store


class Session:
    """Keeps one conversation below its model's window.

    Around a call that litellm makes::

        session = Session(model="gpt-4o")
        response = session.completion(messages=messages, tools=tools)

    or by hand, around any client::

        messages = session.before_call(messages).messages
        session.note_usage(response.usage)
        messages = session.on_error(error).messages   # raises the error again where compaction is no help

    The host's own list is never changed. It may go on with that, which only grows, or with the messages that it was
    handed: both are recognised. A session is for one conversation and one caller at a time.
    """

    def __init__(
        self,
        policy: PolicySource = "default",
        *,
        model: str | None = None,
        overrides: Sequence[Override] | Mapping[str, Any] = (),
        summarizer: Summarizer | Function | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        host_state: Mapping[str, Any] = MappingProxyType({}),
        state: CompactionState | None = None,
        store: "Store | str | Path | None" = None,
        session_id: str | None = None,
        title: str | None = None,
        source: str = "cli",
        on_event: Listener | None = None,
        complete: Model | None = None,
        acomplete: AsyncModel | None = None,
    ) -> None:
        """``policy`` to ``host_state`` are those of ``Compactor``; ``model`` can be another one for each call.

        ``state`` is that of an earlier session of the same conversation. ``on_event`` is called with a
        ``SessionEvent`` for everything that happens. ``complete`` and ``acomplete`` take the place of litellm's
        ``completion`` and ``acompletion``: functions of the same shape, such as a client's own
        ``client.chat.completions.create``.

        ``store`` keeps everything that is said and what compactions leave of it: a ``Store``, a file, or a database's
        URL; without one the policy's ``session.store``, else memory. ``session_id`` goes on with a session that it
        keeps: with ``messages``, or with the full list. ``title`` and ``source`` (the platform) are those of a new one.

        Raises ``PolicyError`` with every mistake in the policy, ``StoreError`` for a store or a session that is not
        there.
        """

        def make(name: str | None) -> Compactor:
            return Compactor(
                policy,
                model=name,
                overrides=overrides,
                summarizer=summarizer,
                environ=environ,
                clock=clock,
                host_state=host_state,
            )

        self._model = model
        policies = Policies(make, model)
        place = store if store is not None else policies.for_model(model).policy.session.store
        kept_in = _opened(place, clock)
        self._own_store = None if kept_in is place else kept_in
        archive = Archive(kept_in, title=title, source=source)
        self._keeper = Keeper(policies, model, state or CompactionState(), Events(on_event), archive)
        if session_id is not None:
            self._keeper.resume(_stored(kept_in, session_id))
        self._performer = Performer(self._keeper, complete, acomplete)

    @property
    def state(self) -> CompactionState:
        """What is to be kept of the conversation beside its messages, for a session that goes on with it."""
        return self._keeper.state

    @property
    def id(self) -> str | None:
        """The id of the session as its store knows it; another one after a compaction that rotates. None before the
        first message."""
        record = self._keeper.archive.session
        return None if record is None else record.id

    @property
    def messages(self) -> Sequence[Raw]:
        """The conversation as it was last handed out: what a session that goes on with the state goes on from."""
        return self._keeper.messages

    def check(
        self, messages: Sequence[Any], *, system: Any = None, tools: Sequence[Raw] = (), model: str | None = None
    ) -> Decision:
        """Whether a compaction is due before these messages are sent; costs what is new in them."""
        return self._keeper.check(self._request(messages, system, tools, model))

    def before_call(
        self, messages: Sequence[Any], *, system: Any = None, tools: Sequence[Raw] = (), model: str | None = None
    ) -> Outgoing:
        """The messages as they are to be sent now, compacted if that is due.

        Raises ``CannotFit`` where even compacted they do not fit a window that is known, ``InputError`` where they
        cannot be read.
        """
        return drive(self._keeper.before_call(self._request(messages, system, tools, model)), self._performer.now)

    async def abefore_call(
        self, messages: Sequence[Any], *, system: Any = None, tools: Sequence[Raw] = (), model: str | None = None
    ) -> Outgoing:
        """As ``before_call``, with the summarisers awaited."""
        return await drive_async(
            self._keeper.before_call(self._request(messages, system, tools, model)), self._performer.soon
        )

    def note_usage(self, usage: Any) -> None:
        """Takes the usage that the provider reported for the request of the last ``before_call``, in any spelling.

        From then on only what was added since is estimated. None, zeros and the like are ignored.
        """
        self._keeper.note_usage(usage)

    def on_error(self, error: BaseException) -> Outgoing:
        """The last request made smaller, to be sent again, after the provider refused it with ``error``.

        Raises ``error`` itself, untouched, where it is no matter of too large a request (a rate limit, a limit of the
        output, anything unknown); ``CannotFit`` where compaction is no help any more.
        """
        return drive(self._keeper.recovered(error), self._performer.now)

    async def aon_error(self, error: BaseException) -> Outgoing:
        """As ``on_error``, with the summarisers awaited."""
        return await drive_async(self._keeper.recovered(error), self._performer.soon)

    def compact(
        self,
        messages: Sequence[Any],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        model: str | None = None,
        focus: str | None = None,
    ) -> CompactionResult:
        """Compacts now, due or not; the next ``before_call`` goes on from there."""
        return drive(self._keeper.compact(self._request(messages, system, tools, model), focus), self._performer.now)

    async def acompact(
        self,
        messages: Sequence[Any],
        *,
        system: Any = None,
        tools: Sequence[Raw] = (),
        model: str | None = None,
        focus: str | None = None,
    ) -> CompactionResult:
        """As ``compact``, with the summarisers awaited."""
        return await drive_async(
            self._keeper.compact(self._request(messages, system, tools, model), focus), self._performer.soon
        )

    def completion(self, **call: Any) -> Any:
        """litellm's ``completion`` with its keyword arguments, guarded.

        Checks, compacts if due, calls, notes the usage; where the provider refuses the request as too large, it is made
        smaller and sent again. With ``stream=True`` an iterator that passes the chunks through as they come; an error
        after the first one is raised, not tried again. Raises ``CannotFit`` and whatever the call raises.
        """
        return drive(guarded(self._keeper, self._call(call)), self._performer.now)

    async def acompletion(self, **call: Any) -> Any:
        """As ``completion``, for litellm's ``acompletion``."""
        return await drive_async(guarded(self._keeper, self._call(call)), self._performer.soon)

    def save(self, messages: Sequence[Any], *, system: Any = None) -> None:
        """Keeps what is new in the messages, without a check: the model's last answer, before the program ends."""
        self._keeper.save(self._request(messages, system, (), None))

    def undo(self) -> bool:
        """Undoes the newest compaction; False where there is none. ``messages`` is what applies then.

        Everything that was said since stays; what had been folded is back, byte for byte.
        """
        return self._keeper.undo()

    def rewind(self, message_id: int) -> None:
        """Takes back what was said after a message, across any number of compactions; ids are those of ``search``.

        ``messages`` is what applies then. Raises ``StoreError`` for a message that this conversation does not have.
        """
        self._keeper.rewind(message_id)

    def search(
        self, query: str, *, within: Literal["session", "lineage", "all"] = "lineage", limit: int = 20
    ) -> list[Hit]:
        """What was said with all these words, best first, however long ago and whatever was compacted since."""
        return self._keeper.archive.search(query, within=within, limit=limit)

    def recall_tool(self) -> RecallTool:
        """A tool by which the agent finds again what was said before; summaries say from now on that it is there."""
        self._keeper.offer_recall()
        return RecallTool(self._keeper.archive)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for a compaction in the background, at most ``timeout`` seconds; whether it is done by then."""
        background = self._keeper.background
        if background is not None:
            background.wait(timeout)
        return background is None or background.done

    def close(self) -> None:
        """Closes the store, if the session opened it itself. A ``with`` block does so at its end."""
        if self._own_store is not None:
            self._own_store.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(self, messages: Sequence[Any], system: Any, tools: Sequence[Raw], model: str | None) -> HostRequest:
        return HostRequest(messages, system, tools or (), model if model is not None else self._model)

    def _call(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        if "messages" not in call:
            raise TypeError("completion() needs the keyword argument 'messages'")
        return call if self._model is None or call.get("model") is not None else {**call, "model": self._model}


def _opened(store: "Store | str | Path | None", clock: Callable[[], float]) -> Keeping:
    if store is None:
        return MemoryStore(clock)
    from compactor.session.store.store import Store  # SQLAlchemy costs time to import

    if isinstance(store, Store):
        return store
    return Store(None if store == "default" else store, clock=clock)


def _stored(store: Keeping, session_id: str) -> View:
    if isinstance(store, MemoryStore):
        raise StoreError(f"there is no session {session_id!r}: no store was named (store=..., or session.store)")
    return store.view(store.session(session_id).conversation_id)
