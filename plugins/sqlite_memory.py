"""Memory in a SQLite file: keeps the facts of what is folded, and recalls those that fit the conversation."""

import re
import sqlite3
import unicodedata
from collections.abc import Container, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from compactor import PluginError, hookimpl
from compactor.extension.events import PreCompress
from compactor.facts.fact import Fact, Kind
from compactor.facts.prose import clip, scrub
from compactor.facts.recognize import recognize
from compactor.messages.earlier import lift
from compactor.messages.message import Message

_KEPT = (Kind.CONSTRAINT, Kind.DECISION, Kind.ASK, Kind.VALUE)
"""What is worth keeping, most important first: what was done or seen (commands, edits, output) is soon stale."""

_SPOKEN = frozenset({"user", "assistant"})

_ENOUGH = 2
"""Words that a fact has to share with what the conversation is about; one is enough if it is rare."""

_RARE = 5
"""Facts that a rare word is in, at most; in a large memory a hundredth of the facts."""

_SHORTEST = 3  # letters of a rare word: a single sign of a script without blanks says nothing

_LONGEST = 400  # code points of a fact
_EXCERPT = 200  # code points of the message that it was found in
_NEWEST = 3  # messages of the user that tell what the conversation is about
_MOST_WORDS = 60  # words of a search: more make it slow and say nothing more
_VERSION = 1  # of the tables, in the file's ``user_version``

_TABLE = """
CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,     -- the text normalised: the same fact is kept once
    text TEXT NOT NULL,
    words TEXT NOT NULL,          -- what is searched, with a blank around every word
    kind TEXT NOT NULL,
    role TEXT NOT NULL,
    message INTEGER NOT NULL,     -- place of the message in its conversation
    source TEXT NOT NULL,         -- the start of that message
    created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
)
"""
_INDEX = "CREATE VIRTUAL TABLE IF NOT EXISTS facts_index USING fts5(words)"
# Ids only grow, so what is not indexed yet is what is newer: also facts that a SQLite without FTS5 wrote.
_FILL = (
    "INSERT INTO facts_index (rowid, words) SELECT id, words FROM facts"
    " WHERE id > (SELECT coalesce(max(rowid), 0) FROM facts_index)"
)
_COLUMNS = "facts.key, facts.text, facts.words, facts.kind, facts.role, facts.message, facts.created"
# A file of an earlier version may hold other kinds.
_WANTED = f"facts.kind IN ({', '.join(repr(kind.value) for kind in _KEPT)})"

_WORD = re.compile(r"[^\W_]+")
# Scripts without blanks between words: each sign is a word of its own.
_SIGN = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")
_COMMON = frozenset(
    _WORD.findall(
        "a all also am an and any are as at be been but by can could did do does for from get go good had has"
        " have he her here him his how i if in into is it its just let like me more my no not now of ok okay"
        " on one or our out please she should so some than that the their them then there these they this"
        " those to too up us use was we were what when where which who why will with would yes you your"
    )
)


Row = tuple[str, str, str, str, str, int, str]
"""A fact as it is written: key, text, words, kind, role, message, source."""


class Recalled(NamedTuple):
    """A fact that was found again."""

    key: str
    text: str
    words: str
    kind: str
    role: str
    message: int
    created: str

    def __str__(self) -> str:
        return f"- {self.text} ({self.kind}; {self.role}, message {self.message}; noted {self.created} UTC)"


class Plugin:
    """Stores facts with where they came from, and recalls what fits."""

    class Config(BaseModel):
        """What the policy may set."""

        model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

        path: str = Field(
            ".compactor/memory.db", min_length=1, description="The database file, relative to the working directory."
        )
        recall: int = Field(12, ge=0, description="Facts that are recalled at most; 0: none.")
        facts_per_run: int = Field(200, ge=1, description="Facts that one compaction stores at most.")
        max_facts: int = Field(20_000, ge=1, description="Facts that the file holds at most; the oldest go first.")
        busy_seconds: float = Field(
            5.0, ge=0, strict=False, description="Seconds to wait while another process writes."
        )
        full_text: bool = Field(
            True, description="Search by FTS5; `false`, or where SQLite has no FTS5: by the number of common words."
        )

    def __init__(self, config: Config) -> None:
        self._config = config

    @hookimpl
    def on_pre_compress(self, event: PreCompress) -> str | None:
        """Stores the facts of what is folded and returns what fits the conversation and is not said in it.

        Raises ``PluginError`` when the file cannot be used.
        """
        path = Path(self._config.path).expanduser()
        folded, _ = lift(event.folded)
        rows = _rows(folded, self._config.facts_per_run)  # before the file is opened: nobody waits for it
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=self._config.busy_seconds, isolation_level=None)) as database:
                indexed = self._store(database, rows)
                found = self._fitting(database, event, {row[0] for row in rows}, indexed)
        except (OSError, sqlite3.Error) as error:
            raise PluginError(f"the memory {path} cannot be used: {error}") from error
        return "\n".join(map(str, found)) or None

    def _store(self, database: sqlite3.Connection, rows: Sequence[Row]) -> bool:
        """Writes the facts in one transaction; whether the full-text index can be searched."""
        with suppress(sqlite3.OperationalError):  # in use: WAL makes it faster for all, and it works without
            database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise sqlite3.NotSupportedError(f"it was written by a newer version ({version})")
        if version == 0:
            database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute(_TABLE)
        database.executemany(
            "INSERT INTO facts (key, text, words, kind, role, message, source) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (key) DO NOTHING",
            rows,
        )
        oldest = "(SELECT id FROM facts ORDER BY id DESC LIMIT 1 OFFSET ?)"
        database.execute(f"DELETE FROM facts WHERE id <= {oldest}", (self._config.max_facts,))
        indexed = self._config.full_text and _index(database)
        database.execute("COMMIT")
        return indexed

    def _fitting(
        self, database: sqlite3.Connection, event: PreCompress, new: Container[object], indexed: bool
    ) -> list[Recalled]:
        """The facts that fit best, best first, without ``new`` ones and what the conversation or its summary says."""
        words = _asked(event)
        if not words:
            return []
        rare = _rare(database, words, indexed)
        said = _key("\n".join([*(message.text for message in event.messages), event.summary or ""]))
        facts = (Recalled(*row) for row in _search(database, words, indexed))
        chosen: list[Recalled] = []
        for fact in facts:
            if len(chosen) == self._config.recall:
                break
            # A request and its sentences are facts of their own: the better one is enough.
            twice = any(fact.key in other.key or other.key in fact.key for other in chosen)
            known = fact.key in new or fact.key in said
            if not (twice or known) and _fits(fact, words, rare):
                chosen.append(fact)
        return chosen


def _index(database: sqlite3.Connection) -> bool:
    """Brings the full-text index up to date; False where this SQLite has none."""
    try:
        database.execute(_INDEX)
    except sqlite3.OperationalError as error:
        if "no such module" in str(error):
            return False
        raise
    database.execute("DELETE FROM facts_index WHERE rowid < (SELECT coalesce(min(id), 0) FROM facts)")
    database.execute(_FILL)
    return True


def _search(database: sqlite3.Connection, words: Sequence[str], indexed: bool) -> Iterable[tuple[Any, ...]]:
    """Rows with at least one of the words, best first and newer ones before older ones."""
    if indexed:
        query = (
            f"SELECT {_COLUMNS} FROM facts_index JOIN facts ON facts.id = facts_index.rowid"
            f" WHERE facts_index MATCH ? AND {_WANTED} ORDER BY bm25(facts_index), facts.id DESC"
        )
        return database.execute(query, (" OR ".join(f'"{word}"' for word in words),))
    score = " + ".join("(facts.words LIKE ?)" for _ in words)
    query = f"SELECT {_COLUMNS} FROM facts WHERE ({score}) > 0 AND {_WANTED} ORDER BY ({score}) DESC, facts.id DESC"
    return database.execute(query, [f"% {word} %" for word in words] * 2)


def _fits(fact: Recalled, words: Sequence[str], rare: Container[str]) -> bool:
    """Whether a fact is about what is asked, and does not merely share a common word with it."""
    shared = set(words).intersection(fact.words.split())
    return len(shared) >= _ENOUGH or any(word in rare for word in shared)


def _rare(database: sqlite3.Connection, words: Iterable[str], indexed: bool) -> frozenset[str]:
    """Those of the words that few facts have."""
    (facts,) = database.execute("SELECT count(*) FROM facts").fetchone()
    most = max(_RARE, facts // 100)
    if indexed:
        query, pattern = "SELECT count(*) FROM facts_index WHERE facts_index MATCH ?", '"{}"'
    else:
        query, pattern = "SELECT count(*) FROM facts WHERE words LIKE ?", "% {} %"
    long = [word for word in words if len(word) >= _SHORTEST]
    return frozenset(word for word in long if database.execute(query, (pattern.format(word),)).fetchone()[0] <= most)


def _rows(folded: Sequence[Message], most: int) -> list[Row]:
    """The most important facts of messages, in their order, as rows of the table.

    What is both a request and a constraint is kept as what matters more.
    """
    found = [fact for fact in recognize(folded) if fact.kind in _KEPT and folded[fact.position].role in _SPOKEN]
    best: dict[str, Fact] = {}
    for fact in sorted(found, key=_rank):
        key = _key(clip(fact.text, _LONGEST))
        if key and len(best) < most:
            best.setdefault(key, fact)
    return [_row(fact, folded[fact.position]) for fact in sorted(best.values(), key=lambda fact: fact.position)]


def _row(fact: Fact, message: Message) -> Row:
    text = clip(fact.text, _LONGEST)
    words = f" {' '.join(_words(text))} "
    place = fact.position if message.index is None else message.index
    return _key(text), text, words, fact.kind.value, message.role, place, clip(message.text, _EXCERPT)


def _rank(fact: Fact) -> tuple[int, float, int]:
    return _KEPT.index(fact.kind), -fact.weight, -fact.position


def _key(text: str) -> str:
    """What two ways to write the same fact have in common: case, blanks and closing marks do not count."""
    folded = unicodedata.normalize("NFKC", scrub(text)).casefold()
    return " ".join(folded.split()).strip(" .,;:!…")


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", scrub(text)).casefold()
    return _WORD.findall(_SIGN.sub(r" \1 ", folded))


def _asked(event: PreCompress) -> tuple[str, ...]:
    """The telling words of the focus and of what the user said last, each once."""
    told, _ = lift(event.messages)
    newest = [message.text for message in told if message.role == "user" and message.text.strip()][-_NEWEST:]
    spoken = (word for text in (event.focus or "", *reversed(newest)) for word in _words(text))
    return tuple(dict.fromkeys(word for word in spoken if word not in _COMMON))[:_MOST_WORDS]
