"""The ``COMPACTOR_*`` environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass

from compactor.errors import Problem
from compactor.policy.fields import all_keys
from compactor.policy.overrides import Override, parse_override
from compactor.policy.wording import did_you_mean

PREFIX = "COMPACTOR_"
POLICY_PREFIX = "COMPACTOR_POLICY__"
IGNORED_PREFIX = "COMPACTOR_TEST_"

VARIABLES: Mapping[str, str] = {
    "COMPACTOR_POLICY_PATH": "Directories that are searched for policies first, separated as in `PATH`.",
    "COMPACTOR_PROMPT_PATH": "Directories that are searched for prompt templates first, separated as in `PATH`.",
    "COMPACTOR_DISABLED_PLUGINS": "Names of plugins that are not loaded though a policy lists them, with commas.",
}
"""The variables other than ``COMPACTOR_POLICY__*``, and what they are for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says about policies."""

    overrides: tuple[Override, ...]
    problems: tuple[Problem, ...]


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read ``COMPACTOR_POLICY__A__B=value`` as the key ``a.b``; unknown ``COMPACTOR_*`` variables are problems."""
    names = sorted(name for name in environ if name.startswith(PREFIX) and not name.startswith(IGNORED_PREFIX))
    overrides = tuple(_override(name, environ[name]) for name in names if name.startswith(POLICY_PREFIX))
    unknown = [name for name in names if name not in VARIABLES and not name.startswith(POLICY_PREFIX)]
    unread = [problem for override in overrides for problem in override.problems]
    return Settings(overrides, (*map(_unknown, unknown), *unread))


def variable(*key: str) -> str:
    """The name of the variable that overrides a key of the policy."""
    return POLICY_PREFIX + "__".join(key).upper()


def _override(name: str, text: str) -> Override:
    return parse_override(name.removeprefix(POLICY_PREFIX).replace("__", ".").lower(), text, where=name)


def _unknown(name: str) -> Problem:
    policy_variables = (variable(*map(str, key)) for key, _ in all_keys())
    return Problem(name, "", "unknown environment variable", did_you_mean(name, (*VARIABLES, *policy_variables)))
