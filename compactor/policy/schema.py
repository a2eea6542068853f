"""The JSON schema of policy files, which editors use; run as a module, it prints the text of ``schema.json``."""

import json
from typing import Any

from compactor.policy.chain import EXTENDS
from compactor.policy.loader import SAME_FOR_ALL_MODELS
from compactor.policy.models import Policy


def json_schema() -> dict[str, Any]:
    """The schema: the policy's keys, ``extends``, and entries of ``models:`` that may hold any of the keys.

    It knows less than the loader: nothing of the options of steps, of conditions, or of values that must fit others.
    """
    schema = Policy.model_json_schema()
    keys = dict(schema["properties"])
    differing = {name: key for name, key in keys.items() if name not in SAME_FOR_ALL_MODELS}
    rule = schema["$defs"]["ModelRule"]
    rule["properties"].update(differing)
    rule["additionalProperties"] = False
    schema["properties"][EXTENDS] = {
        "description": "Name or path of the policy that this one changes: its mappings merge, its lists replace.",
        "pattern": r"\S",
        "title": "Extends",
        "type": "string",
    }
    del schema["required"]
    # What is required may come from the parent.
    schema["anyOf"] = [{"required": [EXTENDS]}, {"required": ["version", "name"]}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Compactor policy"}


def render() -> str:
    """The schema as the text of its file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(render(), end="")
