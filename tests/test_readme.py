"""The README shows what really comes out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RUN = "import sys; from compactor.cli.main import run; sys.exit(run())"
SHOWN = re.findall(r"^\$ compactor (.*)\n((?:.*\n)*?)```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("arguments", "output"), SHOWN, ids=["plan", "compress"])
def test_the_output_of_a_command(arguments: str, output: str, tmp_path: Path) -> None:
    for folder in ("examples", "policies", "prompts"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    environ = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    run = [sys.executable, "-c", RUN, *arguments.split()]
    done = subprocess.run(run, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in (done.stdout + done.stderr).rstrip().splitlines()]
    assert "\n".join(lines) + "\n" == output
