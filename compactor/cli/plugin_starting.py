"""Starting a plugin of one's own: a file with a working plugin, and one with its test."""

import keyword
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from string import Template

from compactor.cli.failures import Refusal
from compactor.cli.files import write_new
from compactor.cli.plugin_templates import PLUGINS, POLICY, TESTS
from compactor.extension.loading import installed
from compactor.policy.search import shown_path
from compactor.policy.wording import did_you_mean, listed


def new_plugin(name: str, kind: str, directory: str) -> list[str]:
    """Writes ``NAME.py`` and ``test_NAME.py``; what to do next. Raises ``Refusal``; then nothing is written."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise Refusal(f"{name!r} cannot name a plugin: use small letters, digits and _, and start with a letter")
    if kind not in PLUGINS:
        hint = did_you_mean(kind, PLUGINS)
        raise Refusal(f"--kind {kind}: there is no such kind, there are {listed(PLUGINS)}{hint and f' ({hint})'}")
    if name in installed():
        raise Refusal(f"{name!r} is the name of an installed plugin: choose another")
    if name in sys.stdlib_module_names or find_spec(name) is not None:
        raise Refusal(f"{name!r} is the name of a Python module, which the file would hide: try 'my_{name}'")
    folder = Path(directory)
    plugin, test = folder / f"{name}.py", folder / f"test_{name}.py"
    for path in (plugin, test):
        if path.exists():
            raise Refusal(f"{path}: exists already, and is not overwritten")
    write_new(plugin, Template(PLUGINS[kind]).substitute(name=name))
    write_new(test, Template(TESTS[kind]).substitute(name=name))
    lines = [Template(line).substitute(name=name, path=f"./{name}.py") for line in POLICY[kind]]
    return [
        f"wrote {shown_path(plugin)} and {shown_path(test)}",
        "put this into a policy (the path of the file is relative to the policy's):",
        "",
        *(f"  {line}" for line in lines),
        "",
        f"try it: python -m pytest {shown_path(test)}",
        "then:   compactor plugins check --policy POLICY",
    ]
