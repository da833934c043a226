"""The line between the compiler's behavior, which is data, and tzerlike's own faults, which are not.

Whatever TVM raises while we ask it for something becomes a `CompilerRefused`; an exception of our own code passes.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any, TypeVar

from tzerlike.core.frames import cpp_frames, python_place
from tzerlike.core.observation import Exit

_T = TypeVar("_T")

_MESSAGE_LIMIT = 16_384
_OUT_OF_MEMORY = ("std::bad_alloc", "Cannot allocate memory", "out of memory", "failed to allocate")

_SMALL_PART = 8


class CompilerRefused(Exception):
    """TVM raised while it worked on a case; `cause` is what it raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause

    @property
    def message(self) -> str:
        return f"{type(self.cause).__name__}: {self.cause}"[:_MESSAGE_LIMIT]

    def record(self) -> dict[str, Any]:
        """Return the record of a case that ended with this: exit, message, C++ frames from the innermost out."""
        return {
            "exit": (Exit.OOM if self.exhausted else Exit.REJECTED).value,
            "message": self.message,
            "backtrace": cpp_frames(self.cause)[:32],
            "raised_at": python_place(self.cause),
        }

    @property
    def exhausted(self) -> bool:
        """Whether what TVM says is that memory ran out, and it did: a request that is refused while little is in use
        asks for too much at once, and that is an exception like any other."""
        return (isinstance(self.cause, MemoryError) or lacks_memory(self.message)) and not _little_in_use()


def lacks_memory(message: str) -> bool:
    """Whether what TVM or a compiled function says is that memory ran out."""
    return any(phrase in message for phrase in _OUT_OF_MEMORY)


def _little_in_use() -> bool:
    """Whether this process never used more than a small part of the memory that it may use. What grows by doubling has
    used more when it is refused."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return limit == resource.RLIM_INFINITY or used < limit / _SMALL_PART


def ask_compiler(step: Callable[[], _T]) -> _T:
    """Return what `step` returns; CompilerRefused with what it raises."""
    try:
        return step()
    except Exception as error:
        raise CompilerRefused(error) from error
