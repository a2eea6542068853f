"""Whether the files behind a policy have been edited since they were read."""

import os
from collections.abc import Sequence
from pathlib import Path

_Stamp = tuple[int, int, int] | None


class PolicyFiles:
    """Watches the user's own files of a policy; shipped ones do not change under a running process."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = tuple(map(str, files))
        self._stamps = self._look()

    def changed(self) -> bool:
        """Whether one of them is different, or gone, since the last call."""
        stamps = self._look()
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        return True

    def _look(self) -> list[_Stamp]:
        return list(map(_stamp, self._files))


def _stamp(file: str) -> _Stamp:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
