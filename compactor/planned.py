"""The plan of a conversation under a policy at work."""

from compactor.assembly.assemble import with_note
from compactor.assembly.frame import frame_summary
from compactor.conversation import Conversation
from compactor.messages.message import Message, Text
from compactor.planning.plan import Plan, Task, make_plan
from compactor.planning.trigger import Decision
from compactor.prepared import PreparedPolicy


def plan_for(
    ready: PreparedPolicy,
    conversation: Conversation,
    decision: Decision,
    tokens: int,
    restated: str | None = None,
    recall: str | None = None,
) -> Plan:
    """What a compaction would do; ``tokens`` is the whole request as the policy's counter counts it.

    ``restated`` is the state that will stand behind the summary, ``recall`` the tool that will be named there.
    """
    return make_plan(
        Task(
            decision=decision,
            messages=conversation.messages,
            tools=conversation.tools,
            earlier=conversation.earlier,
            policy=ready.policy,
            limits=ready.limits,
            counter=ready.counter,
            pruners=ready.pruners,
            tokens=tokens,
            overhead=_overhead(ready, conversation, restated, recall),
            count=conversation.count,
            prune_only=ready.prune_only,
        )
    )


def _overhead(ready: PreparedPolicy, conversation: Conversation, restated: str | None, recall: str | None) -> int:
    """Tokens of what is added to the result beside the summary itself: its frame, restated state, the note."""
    count = conversation.count + 1
    templates, assembly, counter = ready.templates, ready.policy.assembly, ready.counter
    text = frame_summary(templates, assembly, "-", count=count, anchored=True, state=restated, recall=recall)
    frame = Message("user", (Text(text),))
    first = conversation.given[:1]
    noted = with_note(first, templates.render(assembly.system_note, {"count": count}))
    note = sum(map(counter.message, noted)) - sum(map(counter.message, first))
    return counter.message(frame) + note
