"""Work that may kill its process, done in a forked child."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable

from tzerlike.errors import TzerlikeError

_FAULT = 70
_SECONDS = 10.0


def run_apart(work: Callable[[], str | None]) -> tuple[str | None, int]:
    """Return what `work` returns and 0, or None and the signal that its process died of.

    Its processor time is limited; running out of it is SIGPROF. Raises TzerlikeError when `work` raises.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        status = _FAULT
        try:
            os.close(ours)
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            text = work()
            if text is not None:
                _write(theirs, text)
            status = 0
        except BaseException:  # noqa: BLE001 - a fault of ours must reach the parent
            _write(theirs, traceback.format_exc())
        finally:
            os._exit(status)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    if os.WEXITSTATUS(status) == _FAULT:
        raise TzerlikeError(f"work in a child failed:\n{text}")
    return text or None, 0


def _write(descriptor: int, text: str) -> None:
    data = memoryview(text.encode())
    while data:
        data = data[os.write(descriptor, data) :]
