"""Files to start from: a policy of one's own, a copy of a shipped prompt."""

import os
import re
from pathlib import Path

import yaml

from compactor.cli.failures import Refusal
from compactor.cli.files import write_new
from compactor.errors import PromptError
from compactor.policy.loader import load_policy
from compactor.policy.search import SUFFIXES, is_path, shown_path
from compactor.policy.wording import did_you_mean
from compactor.templates import Templates

SHIPPED_ONLY = "builtin/"
"""What in front of a template's name asks for the one that comes with Compactor."""

_POLICY = """\
# A policy of your own: it has every key of the one that it extends, but for those that are set here.
#
#   compactor policy show {shown} --origins    every key with its value, and where that comes from
#   compactor policy validate {shown}          what is wrong with it
#   compactor plan FILE --policy {shown}       what it would do to a conversation

version: 1
{head}
# Some keys that are often changed, with the values that they have now:
#
# threshold: {threshold}
# target: {target}
# boundaries:
#   tail_budget_ratio: {tail}
# summary:
#   model: {model}
"""


def new_policy(name: str, extends: str, directory: str) -> list[str]:
    """Writes a policy that extends another one; what to do next. Raises ``Refusal`` and ``PolicyError``."""
    if not re.fullmatch(r"[A-Za-z0-9][\w-]*", name):
        raise Refusal(f"{name!r} cannot name a policy: use letters, digits, - and _, and no suffix")
    parent = load_policy(extends)
    folder = Path(directory)
    path = folder / f"{name}{SUFFIXES[0]}"
    # A path is relative to the file that it stands in.
    named = Path(os.path.relpath(Path(extends).expanduser(), folder)).as_posix() if is_path(extends) else extends
    if is_path(extends) and not is_path(named):
        named = f"./{named}"
    head = {"name": name, "description": f"{parent.policy.name}, changed.", "extends": named}
    called = name if shown_path(folder) == "policies" else shown_path(path)
    text = _POLICY.format(
        shown=called,
        head=yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10_000),
        threshold=_written(parent.policy.threshold),
        target=_written(parent.policy.target),
        tail=_written(parent.policy.boundaries.tail_budget_ratio),
        model=_written(parent.policy.summary.model),
    )
    write_new(path, text)
    return [
        f"wrote {shown_path(path)}",
        f"next: set the keys that shall differ, then run: compactor policy validate {called}",
        f"use it with: --policy {called}",
    ]


def copy_prompt(name: str, directory: str) -> list[str]:
    """Copies a shipped template so that it can be changed; what to do next.

    Raises ``Refusal``, also where there is no such template.
    """
    wanted = name.removeprefix(SHIPPED_ONLY)
    if ".." in Path(wanted).parts or Path(wanted).is_absolute():
        raise Refusal(f"{name!r} cannot name a template: see compactor prompt list")
    templates = Templates()
    try:
        template = templates.find(SHIPPED_ONLY + wanted)
    except PromptError:
        near = did_you_mean(wanted, [known.name for known in templates.all()])
        raise Refusal(f"no template {wanted!r} comes with Compactor{near and f' ({near})'}") from None
    path = Path(directory) / wanted
    write_new(path, template.source)
    if shown_path(Path(directory)) == "prompts":
        use = f"every policy that names {wanted} uses this copy from now on, when run from this folder"
    else:
        use = f"it is used where {shown_path(Path(directory))} is in COMPACTOR_PROMPT_PATH"
    return [
        f"copied {template.path} to {shown_path(path)}",
        f"next: change it; {use}",
        "see what becomes of it with: compactor prompt render FILE",
    ]


def _written(value: object) -> str:
    return yaml.safe_dump(value).removesuffix("\n").removesuffix("\n...")
