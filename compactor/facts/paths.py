"""Paths of files: in the arguments of calls, in commands and patches, in sentences."""

import re
from collections.abc import Mapping

from compactor.facts.prose import scrub

_KEYS = (
    *("file_path", "path", "filename", "file", "filepath"),
    *("target_file", "notebook_path", "absolute_path", "relative_path"),
)
_PATH = re.compile(
    r"(?<![\w/.:@-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\.?\w+(?![\w/])"
    r"|(?<![\w/.@-])[A-Za-z_][\w-]*(?:\.[\w-]+)*\.(?:py|pyi|js|jsx|mjs|ts|tsx|go|rs|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|sh|sql"
    r"|html?|css|scss|vue|json[lc5]?|ya?ml|toml|ini|cfg|conf|env|lock|mod|md|rst|txt|csv|xml|svg|png"
    r"|jpe?g|pdf|ipynb|log|proto|tf|j2)\b(?!\.\w)"
)
_CODE = (
    *(".py", ".pyi", ".js", ".jsx", ".mjs", ".ts", ".tsx", ".go", ".rs", ".java", ".kt"),
    *(".c", ".cc", ".cpp", ".h", ".hpp", ".cs", ".rb", ".php", ".swift"),
)
_PATCH = re.compile(r"\*\*\* (Add|Update|Delete) File: ([^\n\"\\]+)")
_PATCH_ACTIONS = {"Add": "created", "Update": "edited", "Delete": "deleted"}


def path_argument(arguments: Mapping[str, object]) -> str:
    """The path that a call is about by the name of its argument, "" where there is none."""
    for key in _KEYS:
        value = arguments.get(key)
        if value and isinstance(value, str) and len(value) <= 400 and "\n" not in value:
            return scrub(value)
    return ""


def names_file(path: str) -> bool:
    """Whether the last part of ``path`` is written like the name of a file: with a dot inside, or in capitals."""
    name = path.rstrip(". ").rsplit("/", 1)[-1]
    return bool(name) and ("." in name[1:] or name[0].isupper() or (name[0] == "." and len(name) > 1))


def is_code(path: str) -> bool:
    """Whether ``path`` is that of a program's source."""
    return path.endswith(_CODE)


def is_path(word: str) -> bool:
    """Whether ``word`` as a whole is written like a path."""
    return _PATH.fullmatch(word) is not None


def paths_in(text: str, most: int = 20) -> list[str]:
    """The paths that ``text`` names, in order, each once, at most ``most``."""
    if "/" not in text and "." not in text:
        return []
    found: dict[str, None] = {}
    for match in _PATH.finditer(text):
        found[match.group().rstrip(".")] = None
        if len(found) >= most:
            break
    return list(found)


def patched(text: str) -> list[tuple[str, str]]:
    """``(path, action)`` for every file that a patch in ``*** Update File:`` form touches."""
    if "*** " not in text:
        return []
    return [(match.group(2).strip(), _PATCH_ACTIONS[match.group(1)]) for match in _PATCH.finditer(text)]
