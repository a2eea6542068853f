"""Data files that litellm's package carries, found without importing it (which takes seconds)."""

from importlib.util import find_spec
from pathlib import Path


def litellm_file(*parts: str) -> Path | None:
    """The file or folder at ``parts`` inside litellm's package; None when it is not there."""
    spec = find_spec("litellm")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place, *parts)
        if path.exists():
            return path
    return None
