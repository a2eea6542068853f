"""The exceptions of Compactor, each one a thing that a caller can do something about.

::

    CompactorError
    ├── PolicyError          a policy is wrong or missing: fix the YAML (``problems`` has every mistake)
    ├── PromptError          a prompt template is wrong or missing: fix the template
    ├── InputError           the conversation cannot be read: fix the input
    ├── PluginError          a registered extension is wrong: fix or remove the plugin
    ├── StoreError           a session store cannot be opened or does not answer: fix its place, or the database
    ├── CannotFit            a request that no compaction makes fit: shorten what it names, or take a larger model
    └── SummarizerError      raised by summarisers, handled by the chain that calls them
        ├── SummarizerDeclined   it has nothing to offer here (no model configured ...); not a failure
        └── SummarizerFailed     it tried and failed; ``kind`` picks the cooldown
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a policy.

    ``where`` is ``file:line:column``, or the name of the environment variable or option that the value
    came from; ``key`` is the dotted path of the key ("" for the file as a whole); ``hint`` says what would
    be right, where that can be known.
    """

    where: str
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        key = f"{self.key}: " if self.key else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.where}: {key}{self.message}{hint}"


class CompactorError(Exception):
    """Base of everything that Compactor raises on purpose; the text is one clear message for a person."""


class PolicyError(CompactorError):
    """A policy cannot be used. ``problems`` holds every mistake that was found, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class PromptError(CompactorError):
    """A prompt template is missing, does not parse, or uses a variable that does not exist."""


class InputError(CompactorError):
    """The conversation cannot be read; the text says what was tried and why it did not fit."""


class PluginError(CompactorError):
    """A registered extension does not do what it promised."""


class StoreError(CompactorError):
    """A session store cannot be opened or used; the text says which and why."""


class CannotFit(CompactorError):
    """A request does not fit the model's window, and compaction cannot help any more.

    ``largest`` names what weighs most in it, largest first, with its tokens. Where the provider refused the request,
    its own error is the cause (``__cause__``).
    """

    def __init__(self, message: str, largest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.largest = tuple(largest)


class SummarizerError(CompactorError):
    """A summariser gave no summary. Raise one of the two subclasses."""


class SummarizerDeclined(SummarizerError):
    """The summariser has nothing to offer here, and trying again would not help."""


class SummarizerFailed(SummarizerError):
    """The summariser tried and failed.

    ``kind`` names the failure and picks the cooldown of ``summary.cooldown``: ``missing_key``, ``timeout``,
    ``rate_limit``, ``network``, ``bad_reply`` or ``error``.
    """

    def __init__(self, message: str, kind: str = "error") -> None:
        super().__init__(message)
        self.kind = kind
