"""The ``plugins`` and ``redaction`` parts of a policy: what is loaded, and what never leaves the conversation."""

import re
from typing import Annotated

from pydantic import Field, field_validator

from compactor.policy.base import ByName, Line, List, Options, PolicyModel, Seconds, Text, mistake


class PluginUse(PolicyModel):
    """A plugin that the policy loads. In a list, its bare name stands for an entry with nothing but ``use``."""

    use: Text = Field(
        description="Name of an installed plugin, or a Python file (`./mine.py`) relative to the policy's file."
    )
    required: bool = Field(
        False, description="`true`: a failure of the plugin fails the compaction; else it is only reported."
    )
    deadline: Annotated[Seconds, Field(gt=0, le=86400)] = Field(
        10, description="Seconds that one call of the plugin may take before it is left behind."
    )
    max_tokens: Annotated[int, Field(ge=1)] = Field(
        2000, description="Tokens that the text which it returns may have; more is cut off."
    )
    config: Options = Field({}, description="The plugin's own settings, checked by the plugin.")


PluginEntry = Annotated[PluginUse, ByName()]


class SecretRule(PolicyModel):
    """A kind of secret of your own, in the form of ``policies/shared/secrets.yaml``."""

    id: Line = Field(description="What stands in the place of the secret: `[redacted: id]`.")
    literals: Annotated[List[Text], Field(min_length=1)] = Field(
        description="Fixed texts; the pattern is tried only where one of them stands, and has to match from there."
    )
    pattern: Text = Field(
        description="Regular expression. Its group `secret` is replaced, or the whole match where it has none."
    )
    any_case: bool = Field(False, description="`true`: the literals, in lower case, are found in any case.")

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise mistake(f"no regular expression: {error}") from None
        return pattern


class Redaction(PolicyModel):
    """How secrets are kept from summarizers, plugins and logs. It cannot be switched off."""

    patterns: List[SecretRule] = Field((), description="Kinds of secret beside the shipped ones.")
    redactors: List[Text] = Field((), description="Redactors of plugins, asked after the patterns.")
