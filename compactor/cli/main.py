"""The entry point of the command. It imports next to nothing, so that Ctrl-C is answered from the very start."""

import os
import signal
import sys
from types import FrameType

from compactor.cli.exits import INTERRUPTED


def run() -> None:
    """Runs the command; never returns."""
    # Where a shell has it ignored, as for a command in the background, it stays ignored.
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, _leave)
    from compactor.cli.app import start

    try:
        if heard:  # from here on there may be something to clean up
            signal.signal(signal.SIGINT, signal.default_int_handler)
        start()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        if heard:
            signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    """Ends the process at once: an exception in the middle of an import could be lost, or shown."""
    os._exit(INTERRUPTED)
