"""The state that a compaction restated behind its summary."""

from compactor.cli.opened import Opened
from compactor.conversation import read_conversation
from compactor.messages.envelope import MARK, find_summary
from compactor.messages.message import Text
from compactor.result import CompactionResult
from compactor.state import CompactionState


def restated(result: CompactionResult, opened: Opened) -> str | None:
    """What stands between the summary and the envelope line, heading included; None where nothing was restated.

    A static note that carries no summary is shown as a whole.
    """
    if result.summary_index is None or not any(
        call.hook == "provide_state" and call.tokens for call in result.report.plugins
    ):
        return None
    raw = result.messages[result.summary_index]
    message = read_conversation([raw], None, (), CompactionState(), opened.ready.formats).given[-1]
    for part in message.parts:
        found = find_summary(part.text) if isinstance(part, Text) else None
        if isinstance(part, Text) and found is not None:
            body = part.text[len(found.before) :].lstrip().partition(f"\n{MARK}")[0]
            summary = found.envelope.summary
            return (body.partition(summary)[2] if summary else body).strip() or None
    return None
