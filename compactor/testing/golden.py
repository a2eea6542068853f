"""Golden cases: a conversation, a policy and what has to come out, written in YAML.

::

    - name: the middle is folded
      policy: hermes
      set: {window.context_length: 20000}
      force: true
      summaries: ["## Goal\\nShip it."]
      messages:
        - system: You are helpful.
        - user: Fix the build.
        - assistant: On it.
          calls: [{id: c1, name: run, arguments: {command: make}}]
        - {result: {chars: 4000}, id: c1}
      expect:
        outcome: compacted
        report: {head: 4, folded: 31}
        roles: [system, user, assistant, tool, user]
        contains: {4: "[CONTEXT COMPACTION]"}
        equals: {1: Fix the build.}
        same: [0, 1]

A text may be ``{chars: N}``, filler of that size. A message that has a ``role`` is taken as it is. ``report`` names
fields of the report (dotted: ``repaired.stubs``), ``contains`` and ``equals`` go by position in the result (negative
counts from the end), ``roles`` are those of the whole result, ``same`` lists positions in the *input* whose very
message has to be in the result.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from compactor.engine import Compactor
from compactor.result import CompactionResult
from compactor.testing.scripted import ScriptedSummarizer
from compactor.testing.transcripts import assistant, call, filler, result, system, user


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expectation(_Strict):
    """What has to be true of the result; what is not named is not looked at."""

    outcome: str
    reason: str = ""
    report: dict[str, Any] = {}
    roles: list[str] | None = None
    contains: dict[int, str | list[str]] = {}
    equals: dict[int, Any] = {}
    same: list[int] = []


class GoldenCase(_Strict):
    """One case. ``summaries`` is the script of the summariser; without it the policy's own chain is asked."""

    name: str
    policy: Any = "default"
    model: str | None = None
    set: dict[str, Any] = {}
    force: bool = False
    focus: str | None = None
    summaries: list[Any] | None = None
    system: Any = None
    tools: list[dict[str, Any]] = []
    messages: list[dict[str, Any]]
    expect: Expectation = Field(description="What has to come out.")


def load_cases(path: str | Path) -> list[GoldenCase]:
    """The cases of a YAML file. Raises pydantic's ``ValidationError`` for a key that a case cannot have."""
    return [GoldenCase.model_validate(entry) for entry in yaml.safe_load(Path(path).read_text("utf-8"))]


def run_case(case: GoldenCase) -> CompactionResult:
    """Runs a case; raises ``AssertionError`` that names everything that came out otherwise."""
    scripted = None if case.summaries is None else ScriptedSummarizer([_text(line) for line in case.summaries])
    compactor = Compactor(case.policy, model=case.model, overrides=case.set, summarizer=scripted)
    messages = [_message(message) for message in case.messages]
    done = compactor.compact(messages, system=_text(case.system), tools=case.tools, focus=case.focus, force=case.force)
    wrong = _differences(case.expect, done, messages)
    assert not wrong, f"{case.name}:\n  " + "\n  ".join(wrong)
    return done


def _differences(expect: Expectation, done: CompactionResult, given: Sequence[Mapping[str, Any]]) -> list[str]:
    wrong = []
    if done.outcome != expect.outcome:
        wrong.append(f"outcome is {done.outcome} ({done.reason}), expected {expect.outcome}")
    if expect.reason not in done.reason:
        wrong.append(f"reason is {done.reason!r}, expected it to contain {expect.reason!r}")
        return wrong
    report = done.to_dict()
    for key, value in expect.report.items():
        found = _at(report, key)
        if found != value:
            wrong.append(f"report {key} is {found!r}, expected {value!r}")
    roles = [message["role"] for message in done.messages]
    if expect.roles is not None and roles != expect.roles:
        wrong.append(f"roles are {roles}, expected {expect.roles}")
    for place, texts in expect.contains.items():
        content = str(_content(done, place))
        wrong += [
            f"message {place} does not contain {text!r}: {content[:200]!r}"
            for text in ([texts] if isinstance(texts, str) else texts)
            if text not in content
        ]
    for place, content in expect.equals.items():
        found = _content(done, place)
        if found != content:
            wrong.append(f"message {place} is {found!r}, expected {content!r}")
    wrong += [
        f"input message {place} is not in the result"
        for place in expect.same
        if not any(message is given[place] for message in done.messages)
    ]
    return wrong


def _content(done: CompactionResult, place: int) -> Any:
    return done.messages[place].get("content") if -len(done.messages) <= place < len(done.messages) else "<no message>"


def _at(data: Any, key: str) -> Any:
    for part in key.split("."):
        data = data[int(part)] if isinstance(data, Sequence) else data[part]
    return data


def _message(short: Mapping[str, Any]) -> dict[str, Any]:
    if "role" in short:
        return dict(short)
    if "system" in short:
        return system(_text(short["system"]))
    if "user" in short:
        return user(_text(short["user"]))
    if "result" in short:
        return result(short["id"], _text(short["result"]))
    return assistant(_text(short["assistant"]), *map(_call, short.get("calls", ())))


def _call(short: Mapping[str, Any]) -> dict[str, Any]:
    return call(short["id"], short.get("name", "run"), _text(short.get("arguments", {})))


def _text(value: Any) -> Any:
    """``{chars: N}`` as filler of that size; anything else as it is."""
    return filler(value["chars"]) if isinstance(value, Mapping) and set(value) == {"chars"} else value
