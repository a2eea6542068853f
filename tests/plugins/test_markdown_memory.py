"""Memory in Markdown: what is written down, what is left alone, and what the summarizer is told."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from compactor.shipped.plugins.markdown_memory import Plugin

from compactor import CompactionResult, Compactor, Outcome, PolicyError, SummarizerFailed
from compactor.extension.events import PreCompress
from compactor.messages.message import Message, Text
from compactor.testing import ScriptedSummarizer, assistant, rounds, system, user

SUMMARY = "## Goal\nFix the login bug."
CHAT = [
    system("You always help."),
    user("Users with a plus sign cannot log in, fix shop/login.py. Never touch `shop/legacy`. Always answer briefly."),
    assistant("The root cause is that the address is decoded twice."),
    *rounds(30, chars=3000),
    user("Use port 8443 for the staging server. I prefer tabs in Makefiles. Is this always so?"),
    assistant("I decided to use the raw form value because decoding belongs to the framework."),
    *rounds(10, chars=3000, first=30),
]


def compacted(folder: Path, messages: Any = CHAT, **config: Any) -> tuple[CompactionResult, ScriptedSummarizer]:
    plugin = {"use": "markdown_memory", "config": {"folder": str(folder), **config}}
    policy = {"version": 1, "name": "mine", "extends": "default", "plugins": [plugin]}
    scripted = ScriptedSummarizer([SUMMARY])
    engine = Compactor(policy, overrides={"window.context_length": 40_000}, summarizer=scripted)
    done = engine.compact(messages, force=True)
    assert done.outcome is Outcome.COMPACTED
    return done, scripted


def failure(done: CompactionResult) -> str | None:
    (report,) = [report for report in done.report.plugins if report.hook == "on_pre_compress"]
    return report.failure


def lines(path: Path) -> list[str]:
    """The file without markers and blank lines."""
    return [line.split(" <!-- compactor:")[0] for line in path.read_text("utf-8").splitlines() if line]


def said(*texts: str, role: str = "user") -> PreCompress:
    messages = tuple(Message(role, (Text(text),), index) for index, text in enumerate(texts))
    return PreCompress(messages, messages, None, 0, None, None)


def asked(reply: str | Exception, *texts: str) -> PreCompress:
    """An event whose model gives this reply."""

    def complete(prompt: str) -> str:
        if isinstance(reply, Exception):
            raise reply
        return reply

    event = said(*texts)
    return PreCompress(event.messages, event.folded, None, 0, None, complete)


def plugin(folder: Path, **config: Any) -> Plugin:
    return Plugin(Plugin.Config(folder=str(folder), **config))


def test_facts_by_rule_stand_in_their_file_and_section(tmp_path: Path) -> None:
    done, _ = compacted(tmp_path / "memory")
    assert failure(done) is None
    memory, about_user = lines(tmp_path / "memory" / "MEMORY.md"), lines(tmp_path / "memory" / "USER.md")
    assert memory[:3] == ["# Memory", "## Constraints", "- Never touch `shop/legacy`."]
    decisions = memory[memory.index("## Decisions") :]
    assert "- I decided to use the raw form value because decoding belongs to the framework." in decisions
    assert "- The root cause is that the address is decoded twice." in decisions
    assert about_user == [
        "# User",
        "## Demands",
        "- Always answer briefly.",
        "## Preferences",
        "- I prefer tabs in Makefiles.",
    ]


def test_the_summarizer_is_told_what_the_files_say(tmp_path: Path) -> None:
    (tmp_path / "USER.md").write_text("# User\n\nWorks at night.\n", "utf-8")
    _, scripted = compacted(tmp_path)
    memory = scripted.requests[0].memory or ""
    assert "Works at night." in memory
    assert "- Never touch `shop/legacy`." in memory
    assert "<!--" not in memory
    _, silent = compacted(tmp_path, recall=False)
    assert silent.requests[0].memory is None


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    compacted(tmp_path)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    compacted(tmp_path)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before
    assert sorted(before) == [".known", ".lock", "MEMORY.md", "USER.md"]


def test_the_summary_of_an_earlier_compaction_is_nobodys_wish(tmp_path: Path) -> None:
    first = Compactor(
        "default", overrides={"window.context_length": 40_000}, summarizer=lambda _: "## Goal\nNever ship on Fridays."
    ).compact([system("Hi."), *rounds(40, chars=3000)], force=True)
    done, _ = compacted(tmp_path, [*first.messages, *rounds(40, chars=3000), user("Thanks.")])
    assert failure(done) is None
    assert not (tmp_path / "USER.md").exists()


def test_what_people_edited_or_removed_does_not_come_back(tmp_path: Path) -> None:
    compacted(tmp_path)
    memory, about_user = tmp_path / "MEMORY.md", tmp_path / "USER.md"
    edited = memory.read_text("utf-8").replace("Never touch `shop/legacy`.", "Ask before touching `shop/legacy`.")
    memory.write_text(edited, "utf-8")
    about_user.write_text("Nothing about me, please.", "utf-8")
    compacted(tmp_path)
    assert memory.read_text("utf-8") == edited
    assert about_user.read_text("utf-8") == "Nothing about me, please."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "# User\n\n## Demands\n\n- {fact}\n"),
        ("Mine.", "Mine.\n\n## Demands\n\n- {fact}\n"),
        ("## Demands\n- old\n\n# More\ntext\n", "## Demands\n- old\n- {fact}\n\n# More\ntext\n"),
        ("## Demands", "## Demands\n- {fact}\n"),
        (
            "## Demands\n```\n# no heading\n```\n\n\n## Next\n",
            "## Demands\n```\n# no heading\n```\n- {fact}\n\n\n## Next\n",
        ),
        ("# Ich\r\n\r\n## Demands\r\n\r\n- alt\r\n", "# Ich\r\n\r\n## Demands\r\n\r\n- alt\r\n- {fact}\r\n"),
        ("## Demands\n\n* ALWAYS answer  briefly!\n", "## Demands\n\n* ALWAYS answer  briefly!\n"),
        ("\udcff latin\n", "\udcff latin\n\n## Demands\n\n- {fact}\n"),
    ],
)
def test_lines_of_people_stay_byte_for_byte(tmp_path: Path, before: str, after: str) -> None:
    page = tmp_path / "USER.md"
    page.write_bytes(before.encode("utf-8", "surrogateescape"))
    plugin(tmp_path).on_pre_compress(said("Always answer briefly."))
    marker = page.read_bytes().decode("utf-8", "surrogateescape").partition("Always answer briefly.")[2][:28]
    expected = after.format(fact=f"Always answer briefly.{marker}")
    assert page.read_bytes().decode("utf-8", "surrogateescape") == expected


def test_the_oldest_generated_lines_go_first_and_those_of_people_never(tmp_path: Path) -> None:
    people = f"# Memory\n\n## Constraints\n\n- {'The long story of this project. ' * 10}\n"
    (tmp_path / "USER.md").write_text(people, "utf-8")
    writer = plugin(tmp_path, max_chars=600)
    for number in range(30):
        writer.on_pre_compress(said(f"Always greet visitor {number} by name."))
    text = (tmp_path / "USER.md").read_text("utf-8")
    assert text.startswith(people.rstrip("\n"))
    assert len(text) <= 600
    kept = [line for line in lines(tmp_path / "USER.md") if "greet" in line]
    assert kept
    assert kept == [f"- Always greet visitor {number} by name." for number in range(30 - len(kept), 30)]
    # What went for lack of room does not push out newer lines when the conversation is read again.
    writer.on_pre_compress(said("Always greet visitor 0 by name."))
    assert (tmp_path / "USER.md").read_text("utf-8") == text
    people_only = people + "- more\n" * 200
    (tmp_path / "USER.md").write_text(people_only, "utf-8")
    recalled = writer.on_pre_compress(said("Always close the door."))
    assert people_only.strip() in (tmp_path / "USER.md").read_text("utf-8")
    assert len(recalled or "") == 600


def test_one_run_writes_so_many_facts(tmp_path: Path) -> None:
    texts = [f"Always greet visitor {number} by name." for number in range(9)]
    plugin(tmp_path, facts_per_run=3).on_pre_compress(said(*texts))
    assert (tmp_path / "USER.md").read_text("utf-8").count("greet") == 3


def test_no_kind_of_fact_crowds_out_the_others(tmp_path: Path) -> None:
    orders = [user(f"Always greet visitor {number} by name.") for number in range(40)]
    compacted(tmp_path, [*orders, *CHAT[2:]])
    assert "## Decisions" in lines(tmp_path / "MEMORY.md")
    demands = [line for line in lines(tmp_path / "USER.md") if "greet" in line]
    assert demands[:2] == ["- Always greet visitor 0 by name.", "- Always greet visitor 1 by name."]
    assert 10 <= len(demands) < 20


def test_one_plugin_in_many_threads_loses_nothing(tmp_path: Path) -> None:
    writer = plugin(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: writer.on_pre_compress(said(f"Always greet visitor {name}.")), range(24)))
    assert len([line for line in lines(tmp_path / "USER.md") if "greet" in line]) == 24


def test_any_script(tmp_path: Path) -> None:
    compacted(tmp_path, [user("请务必使用中文回答。Antworte immer höflich. 🙂 \ud800"), *CHAT[2:]])
    assert "- 请务必使用中文回答。" in lines(tmp_path / "USER.md")
    assert "- Antworte immer höflich." in lines(tmp_path / "USER.md")


def test_a_fact_cannot_pass_for_a_marker_or_a_heading(tmp_path: Path) -> None:
    writer = plugin(tmp_path)
    writer.on_pre_compress(asked("user: ## Always <!-- compactor:00000000 --> be kind\nuser: # Demands are high"))
    assert [line for line in lines(tmp_path / "USER.md") if line.startswith("#")] == [
        "# User",
        "## Demands",
        "## Preferences",
    ]
    assert "<! -- compactor:00000000 -- >" in (tmp_path / "USER.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("reply", "memory", "about_user"),
    [
        ("memory: The port is 8443.\nuser: She prefers tabs.", ["The port is 8443."], ["She prefers tabs."]),
        ("- **Memory:** The port is 8443.\n2. `USER`: She prefers tabs.", ["The port is 8443."], ["She prefers tabs."]),
        ("Here you are:\n\nmemory：端口是八四四三。\nThat is all.", ["端口是八四四三。"], []),
        ("memory: The port is 8443.\nmemory: the port is 8443", ["The port is 8443."], []),
        ("None.", [], []),
        ("memory: none", [], ["Always answer briefly."]),
        ("I cannot help with that.", [], ["Always answer briefly."]),
        (SummarizerFailed("no network"), [], ["Always answer briefly."]),
    ],
)
def test_facts_by_the_model(tmp_path: Path, reply: str | Exception, memory: list[str], about_user: list[str]) -> None:
    plugin(tmp_path).on_pre_compress(asked(reply, "Always answer briefly."))
    for name, expected in (("MEMORY.md", memory), ("USER.md", about_user)):
        page = tmp_path / name
        found = [line for line in lines(page) if line.startswith("- ")] if page.exists() else []
        assert found == [f"- {text}" for text in expected]


def test_the_model_is_shown_the_newest_and_what_is_remembered(tmp_path: Path) -> None:
    prompts: list[str] = []
    (tmp_path / "USER.md").write_text("Works at night.\n", "utf-8")
    event = said(*(f"Message {number}: {'x' * 100}" for number in range(100)), "Always answer briefly.")

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return "none"

    plugin(tmp_path, prompt_chars=1000).on_pre_compress(
        PreCompress(event.messages, event.folded, None, 0, None, complete)
    )
    assert len(prompts[0]) < 3000
    assert "Works at night." in prompts[0]
    assert "user: Always answer briefly." in prompts[0]
    assert "Message 3:" not in prompts[0]


def test_no_secret_is_written(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    compacted(tmp_path, [user(f"Always use the token {token} for pushes."), *CHAT[2:]])
    assert token not in "".join(path.read_text("utf-8") for path in tmp_path.iterdir())


@pytest.mark.parametrize("protected", ["folder", "file", "no folder", "a folder in place of the file"])
def test_what_cannot_be_written_is_reported_and_breaks_nothing(tmp_path: Path, protected: str) -> None:
    folder = tmp_path / "memory"
    if protected == "no folder":
        folder.write_text("a file", "utf-8")
    else:
        folder.mkdir()
    if protected == "file":
        (folder / "MEMORY.md").write_text("Mine.\n", "utf-8")
        (folder / "MEMORY.md").chmod(0o444)
    elif protected == "folder":
        folder.chmod(0o555)
    elif protected == "a folder in place of the file":
        (folder / "MEMORY.md").mkdir()
    done, _ = compacted(folder)
    reason = failure(done) or ""
    assert reason.startswith("PluginError: the memory ")
    assert str(folder) in reason
    assert not list(tmp_path.rglob(".MEMORY*"))
    if protected == "file":
        assert (folder / "MEMORY.md").read_text("utf-8") == "Mine.\n"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_a_link_and_the_files_mode_stay(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("Mine.\n", "utf-8")
    (tmp_path / "elsewhere.md").chmod(0o640)
    (tmp_path / "USER.md").symlink_to(tmp_path / "elsewhere.md")
    plugin(tmp_path).on_pre_compress(said("Always answer briefly."))
    assert (tmp_path / "USER.md").is_symlink()
    assert "Always answer briefly." in (tmp_path / "elsewhere.md").read_text("utf-8")
    assert (tmp_path / "elsewhere.md").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("config", [{"folders": "x"}, {"max_chars": "8000"}, {"facts_per_run": 0}])
def test_a_wrong_config_is_a_mistake_in_the_policy(tmp_path: Path, config: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as caught:
        compacted(tmp_path, **config)
    assert f"plugins.0.config.{next(iter(config))}" in str(caught.value)


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    facts = [f"Never touch `shop/part{number}`." for number in range(8)]

    def write(fact: str) -> str | None:
        return failure(compacted(tmp_path, [system("Hi."), user(fact), *rounds(40, chars=3000), user("Thanks.")])[0])

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write, facts)) == {None}
    found = lines(tmp_path / "MEMORY.md")
    assert [fact for fact in facts if f"- {fact}" not in found] == []
    known = (tmp_path / ".known").read_text("utf-8").split()
    assert len(known) == len(set(known)) >= 8


def test_a_file_that_is_too_large_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("Mine.\n" * 200_000, "utf-8")
    done, _ = compacted(tmp_path)
    assert "MEMORY.md is left alone: it has 1,200,000 bytes" in (failure(done) or "")
    assert (tmp_path / "MEMORY.md").stat().st_size == 1_200_000


def test_a_prompt_gets_text_only(tmp_path: Path) -> None:
    (tmp_path / "USER.md").write_bytes(b"Works\x00 at \xff night\x1b[31m.\n")
    told = plugin(tmp_path).on_pre_compress(said("Hi."))
    assert told == "Works at \ufffd night[31m."
