"""Errors: those of tzerlike itself, and those of its users.

What the compiler under test does is never an exception here; it is an
:class:`tzerlike.execution.executor.Observation`.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tzerlike.core.package import PACKAGE

_T = TypeVar("_T")

_FRAMES = 3
_TEXT = 16_384


class TzerlikeError(Exception):
    """A fault of ours that nothing can go on after: stop loudly."""


class UserError(TzerlikeError):
    """A request that cannot be met: one line that says what is wrong and what to do; exit status 2."""


class StorageError(UserError):
    """What has to be kept cannot be written: the disk is full, or gone."""


class RunnerLost(TzerlikeError):
    """A worker's runner is gone, and with it every child to come."""


@dataclass(unsafe_hash=True, slots=True)
class Fault(Exception):
    """A fault of ours on one case: what is under way ends, and nothing else. A value that can also be raised.

    `kind` is the type of what was raised. `frames` are functions of ours, "tir/interpreter/memory.py locate", the
    innermost first, before them the function of others that one called, if it is one of theirs that raised. `text` is
    the traceback, and `doing` what was under way.
    """

    kind: str
    frames: tuple[str, ...] = ()
    text: str = ""
    doing: str = ""

    @classmethod
    def of(cls, error: BaseException, doing: str = "") -> Fault:
        """The fault that an exception is."""
        if isinstance(error, Fault):
            return replace(error, frames=error.frames or (doing,), doing=error.doing or doing)
        text = "".join(traceback.format_exception(error))
        return cls(type(error).__name__, _frames(error), text[-_TEXT:], doing)

    @property
    def signature(self) -> str:
        """The same for what was raised in the same place, whatever its line is, and whatever was under way."""
        return hashlib.sha256("\n".join((self.kind, *self.frames)).encode()).hexdigest()[:12]

    @property
    def title(self) -> str:
        return f"{self.kind} in {self.frames[0]}" if self.frames else self.kind

    def __str__(self) -> str:
        return self.text or self.title


def _frames(error: BaseException) -> tuple[str, ...]:
    """The innermost functions that `error` passed through, as far as they show where it occurred."""
    places = [(Path(frame.filename), frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    last = max((index for index, (path, _) in enumerate(places) if path.is_relative_to(PACKAGE)), default=-1)
    called = [f"{path.name} {name}" for path, name in places[last + 1 : last + 2]]
    ours = [f"{path.relative_to(PACKAGE)} {name}" for path, name in places[: last + 1] if path.is_relative_to(PACKAGE)]
    return (*called, *reversed(ours[-_FRAMES:]))


def contained(step: Callable[[], _T], doing: str) -> _T | Fault:
    """Return what `step` returns, or the fault that it raised.

    What nothing can go on after passes: the disk is full, or the runner gone. So does an interruption.
    """
    try:
        return step()
    except (StorageError, RunnerLost):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever of ours fails ends this step and nothing else
        return Fault.of(error, doing)


def kept(step: Callable[[], _T], doing: str, note: Callable[[Fault], object]) -> _T | None:
    """Return what `step` returns, or None where it fails of a fault, which `note` is given; else as `contained`."""
    got = contained(step, doing)
    if not isinstance(got, Fault):
        return got
    note(got)
    return None
