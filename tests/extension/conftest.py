"""A policy in a temporary folder that lists plugins of ``tests/data/plugins``, and a session that is due."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from compactor import CompactionResult, Compactor
from compactor.testing import assistant, rounds, system, user

DATA = Path(__file__).parent.parent / "data"

SESSION = [
    system("You are a coding agent."),
    user("Make the build faster in src/build.py, never touch vendor/."),
    *rounds(40, chars=1500),
    assistant("Found it: the cache is off."),
    user("Then turn it on and run the tests."),
    *rounds(4, chars=1500, first=40),
]

BASE = {"version": 1, "name": "test", "extends": "default", "counter": "rough", "window": {"context_length": 16000}}


class Place:
    """A folder with plugin files and a policy that lists them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.policy = folder / "policy.yaml"

    def write(self, name: str, code: str) -> str:
        """Writes a plugin file; what a policy calls it."""
        (self.folder / f"{name}.py").write_text(code, "utf-8")
        return f"./{name}.py"

    def copy(self, *names: str) -> list[str]:
        """Copies plugin files of ``tests/data/plugins`` here; what a policy calls them."""
        for name in names:
            shutil.copy(DATA / "plugins" / f"{name}.py", self.folder)
        return [f"./{name}.py" for name in names]

    def compactor(
        self, *plugins: Any, environ: dict[str, str] | None = None, summarizer: Any = None, **policy: Any
    ) -> Compactor:
        """A compactor under a policy with these entries of ``plugins``."""
        content = {**BASE, "plugins": list(plugins), **policy}
        self.policy.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
        return Compactor(self.policy, environ=environ or {}, summarizer=summarizer)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in list(os.environ):
        if name.startswith("COMPACTOR_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


Compact = Callable[[Compactor], CompactionResult]


@pytest.fixture(params=["compact", "acompact"])
def compact(request: pytest.FixtureRequest) -> Compact:
    """Compacts the session in one of the two ways."""

    def compact(compactor: Compactor) -> CompactionResult:
        if request.param == "compact":
            return compactor.compact(SESSION, force=True)
        return asyncio.run(compactor.acompact(SESSION, force=True))

    return compact
