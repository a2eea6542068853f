"""A conversation that was opened under a policy: what most commands begin with."""

from dataclasses import dataclass

from compactor.cli.files import STANDARD, read_input
from compactor.cli.options import Choices
from compactor.conversation import Conversation, read_conversation
from compactor.engine import Compactor
from compactor.errors import InputError
from compactor.messages.formats.document import Document, load_document
from compactor.planning.plan import Plan
from compactor.prepared import PreparedPolicy
from compactor.state import CompactionState


@dataclass(frozen=True, slots=True)
class Opened:
    """A file's bytes, what they hold, and a compactor for it. ``choices`` are the options that led to it."""

    data: bytes
    document: Document
    choices: Choices
    compactor: Compactor

    @property
    def ready(self) -> PreparedPolicy:
        """The policy with everything that it names."""
        return self.compactor.prepared

    @property
    def conversation(self) -> Conversation:
        """The conversation parsed; what is known of earlier compactions is in the transcript itself."""
        document = self.document
        state = CompactionState()
        return read_conversation(document.messages, document.system, document.tools, state, self.ready.formats)

    def plan(self, compactor: Compactor | None = None) -> Plan:
        """What a compaction would do, under the policy or under another compactor's."""
        document = self.document
        chosen = compactor or self.compactor
        return chosen.plan(document.messages, system=document.system, tools=document.tools)


def open_conversation(file: str, choices: Choices) -> Opened:
    """Reads a conversation. Raises ``Refusal`` or ``InputError`` that name the file, and ``PolicyError``."""
    data = read_input(file)
    compactor = choices.compactor()
    try:
        document = load_document(data, compactor.prepared.formats)
    except InputError as error:
        raise InputError(f"{'standard input' if file == STANDARD else file}: {error}") from None
    return Opened(data, document, choices, compactor)
