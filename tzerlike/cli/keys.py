"""Keys pressed while a screen is shown, without the return key."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from contextlib import AbstractContextManager, suppress
from typing import Any


class Keys(AbstractContextManager["Keys"]):
    """Reads keys from standard input while that is a terminal and this process is in its foreground.

    `heard` says whether it is. Elsewhere nothing is read, and the terminal stays as it is.
    """

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    @property
    def heard(self) -> bool:
        return self._before is not None

    def __enter__(self) -> Keys:
        if self._in_front():
            self._before = termios.tcgetattr(sys.stdin.fileno())
            tty.setcbreak(sys.stdin.fileno())
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None and self._in_front():
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
        self._before = None

    def pressed(self) -> str:
        """Return what was pressed since the last time; waits for nothing."""
        if self._before is None or not self._in_front():
            return ""
        fd, text = sys.stdin.fileno(), b""
        # A terminal that is gone says so when it is read; the signal that ends the campaign comes with that.
        with suppress(OSError):
            while select.select([fd], [], [], 0)[0] and (more := os.read(fd, 64)):
                text += more
        return text.decode(errors="ignore")

    @staticmethod
    def _in_front() -> bool:
        """Whether the terminal is ours: who asks from the background is stopped."""
        if sys.stdin is None:  # Python's, where descriptor 0 was closed
            return False
        try:
            return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
        except (OSError, ValueError):
            return False
