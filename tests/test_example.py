"""The example that the demo compacts, and what must survive of it."""

import json
from pathlib import Path

from compactor import CompactionState, Compactor, Outcome
from compactor.testing import rounds, user

DOCUMENT = json.loads((Path(__file__).parent.parent / "examples" / "long-session.json").read_text("utf-8"))
GROUND_RULES = (
    "Never push to main, and never push at all without asking me.",
    "No new dependencies",
    "Every fix needs a test that failed before it",
)


def test_it_is_long_and_fires_without_force() -> None:
    compactor = Compactor("default", model="gpt-4o")
    decision = compactor.check(DOCUMENT["messages"], tools=DOCUMENT["tools"])
    assert decision.due
    assert len(DOCUMENT["messages"]) >= 60
    assert decision.variables["tokens"] >= 100_000


def test_the_ground_rules_of_the_first_message_outlive_three_compactions() -> None:
    compactor = Compactor("default", model="gpt-4o")
    messages, state = DOCUMENT["messages"], CompactionState()
    for rule in GROUND_RULES:
        assert rule in messages[1]["content"]
    for turn in range(3):
        done = compactor.compact(messages, tools=DOCUMENT["tools"], state=state, force=True)
        assert done.outcome is Outcome.COMPACTED, done.reason
        for rule in GROUND_RULES:
            assert rule in "\n".join(str(message["content"]) for message in done.messages), (turn, rule)
        more = [user(f"Next: step {turn}."), *rounds(40, chars=5000, first=1000 * (turn + 1))]
        messages, state = [*done.messages, *more], done.state
