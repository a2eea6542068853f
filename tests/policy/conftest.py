"""An empty working directory in which tests write policies, and an environment that holds nothing of the user's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compactor.errors import PolicyError
from compactor.policy.loader import LoadedPolicy, load_policy

Write = Callable[..., Path]
Load = Callable[..., LoadedPolicy]
Refused = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment that ``load`` passes; a test may add to it."""
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def write(workplace: Path) -> Write:
    """Write a policy file with the two keys that every policy needs, and the given text from line 3 on."""

    def write(text: str, path: str = "policies/mine.yaml") -> Path:
        file = workplace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"version: 1\nname: {file.stem}\n{text}", encoding="utf-8")
        return file

    return write


@pytest.fixture
def load(environ: dict[str, str]) -> Load:
    """``load_policy`` in the test's environment."""

    def load(policy: object = "mine", **arguments: object) -> LoadedPolicy:
        return load_policy(policy, environ=environ, **arguments)  # type: ignore[arg-type]

    return load


@pytest.fixture
def refused(load: Load) -> Refused:
    """The problems of a policy that must be refused, as text."""

    def refused(policy: object = "mine", **arguments: object) -> list[str]:
        with pytest.raises(PolicyError) as caught:
            load(policy, **arguments)
        return [str(problem) for problem in caught.value.problems]

    return refused
