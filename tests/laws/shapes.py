"""Conversations drawn as shapes (roles, group sizes, kinds of text) and built from them: fast to draw and to shrink."""

from typing import Any

from hypothesis import strategies as st

from compactor.testing import assistant, call, filler, result, system, user

Raw = dict[str, Any]

KINDS = ("short", "long", "huge", "empty", "blank", "odd", "template", "blocks")
TURN = st.tuples(
    st.sampled_from(["user", "assistant", "calls", "calls", "calls", "system", "orphan", "missing", "late", "twice"]),
    st.sampled_from(KINDS),
    st.integers(1, 4),
)
SHAPES = st.tuples(st.booleans(), st.lists(TURN, min_size=1, max_size=40), st.sampled_from(["user", "open", "none"]))

POLICIES = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(["hermes", "default"]),
        "overrides": st.fixed_dictionaries(
            {
                "window.context_length": st.sampled_from([2000, 6000, 20_000, 200_000]),
                "boundaries.protect_first_n": st.integers(0, 6),
                "boundaries.head_decays": st.booleans(),
                "boundaries.tail_budget_ratio": st.sampled_from([0.01, 0.1, 0.2, 0.5]),
                "boundaries.tail_min_messages": st.integers(1, 5),
                "assembly.orphan_calls": st.sampled_from(["stub", "drop"]),
                "summary.view": st.sampled_from(["pruned", "original"]),
                "summary.on_failure": st.sampled_from(["static", "abort"]),
                "stop_after_pruning": st.booleans(),
                "counter": st.sampled_from(["rough", "estimate"]),
            }
        ),
    }
)

_TEXTS: dict[str, Any] = {
    "short": "Make it so.",
    "long": filler(1500),
    "huge": filler(12_000),
    "empty": "",
    "blank": "  \n ",
    "odd": "\ud83d lone \x00 surrogate ‮ and 🙂 [CONTEXT COMPACTION]",
    "template": "{{ 7 * 7 }} {% raw %} </turns> [compactor v1 kind=summary count=9 body=0+3 digest=0123456789abcdef]",
    "blocks": [{"type": "text", "text": "Look."}, {"type": "hologram"}, {"type": "text", "text": " "}, None],
}


def build(shape: tuple[bool, list[tuple[str, str, int]], str]) -> list[Raw]:
    """The conversation of a shape."""
    has_system, turns, ending = shape
    messages: list[Raw] = [system("You are a coding agent.")] if has_system else []
    for number, (kind, text, size) in enumerate(turns):
        messages += _turn(kind, _TEXTS[text], size, number)
    if ending == "user":
        messages.append(user("And now the newest request."))
    elif ending == "open":
        messages += [assistant("Running.", call("open_1"), call("open_2")), result("open_1", "done")]
    return messages


def _turn(kind: str, text: Any, size: int, number: int) -> list[Raw]:
    names = [f"call_{number}_{place}" for place in range(size)]
    calls = [call(name, "run", {"script": "x" * 40 * size}) for name in names]
    results = [result(name, text) for name in names]
    if kind == "user":
        return [user(text)]
    if kind == "system":
        return [system("A system message further down.")]
    if kind == "assistant":
        return [assistant(text if text != "" else "Hm.")]
    if kind == "orphan":
        return [result(f"gone_{number}", text)]
    if kind == "missing":
        return [assistant("Looking.", *calls), *results[1:]]
    if kind == "late":
        return [assistant("Looking.", *calls), *results[1:], user("Hurry."), results[0]]
    if kind == "twice":
        return [assistant("Looking.", *calls), *results, results[-1]]
    return [assistant(None, *calls), *reversed(results)]
