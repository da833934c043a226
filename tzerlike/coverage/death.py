"""Where a child died: its signal and its frames, recorded in shared memory as it dies."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tzerlike.coverage.native import CDeath, errno_checked, load_memcov
from tzerlike.coverage.symbols import function_at

_NEAR = 1 << 20
"""Bytes from the stack pointer within which an access is one of the stack's: as large as a frame may be."""


@dataclass(frozen=True, slots=True)
class SignalDeath:
    """The death of a process by a signal.

    `code` is si_code, `call` the name of the system call that a confined process may not make, "" for another death;
    `address` is si_addr, `stack` the stack pointer; `frames` holds up to 64 addresses, innermost
    first: the faulting instruction, then return addresses. `depth` counts all frames, None when unknown: more
    than 100000, or a stack that could not be followed to its end.
    """

    signal: int
    code: int
    address: int
    stack: int
    depth: int | None
    frames: tuple[int, ...]
    call: str = ""

    @property
    def at_end_of_stack(self) -> bool:
        """Whether it is of an access next to the stack pointer, where memory ends: the stack has grown too large."""
        return self.signal == signal.SIGSEGV and abs(self.address - self.stack) < _NEAR


@dataclass(frozen=True, slots=True)
class CodeFrame:
    """A function: `name` is empty where no symbol names it; `library` is a file name without its directory.

    `offset` is the function's start in the library, the same in every process that loads the same file.
    """

    name: str
    library: str
    offset: int


class DeathRecord:
    """Shared memory in which a child leaves its death; make one before forking, use it for child after child."""

    def __init__(self) -> None:
        self._watch = load_memcov().memcov_watch_death
        self._memory = mmap.mmap(-1, ctypes.sizeof(CDeath))  # shared, anonymous
        self._death = CDeath.from_buffer(self._memory)

    def watch(self) -> None:
        """In a forked child: from here on a fatal signal is recorded before it kills. Clears the record."""
        errno_checked(self._watch(ctypes.byref(self._death)))

    def clear(self) -> None:
        """Forget the last death."""
        ctypes.memset(ctypes.byref(self._death), 0, ctypes.sizeof(CDeath))

    def read(self) -> SignalDeath | None:
        """Return the death that the last child recorded, or None."""
        c = self._death
        if c.signal == 0:
            return None
        return SignalDeath(
            signal=c.signal,
            code=c.code,
            address=c.address,
            stack=c.stack,
            depth=None if c.depth == 0xFFFFFFFF else c.depth,
            frames=tuple(c.frames[: min(c.n, len(c.frames))]),
            call="" if c.call < 0 else load_memcov().memcov_syscall_name(c.call).decode() or f"system call {c.call}",
        )


def describe(address: int) -> CodeFrame | None:
    """Return the function that holds the code at `address` in this process, None where no library does.

    Addresses agree between a process and what it forked. For a return address pass the byte before it, or the
    next function may answer; `describe_death` does.
    """
    name, library = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(4096)
    offset = ctypes.c_uint64()
    if load_memcov().memcov_describe(address, name, len(name), library, len(library), ctypes.byref(offset)) != 0:
        return None
    path = Path(os.fsdecode(library.value))
    return CodeFrame(name.value.decode(errors="replace") or function_at(path, offset.value), path.name, offset.value)


def describe_death(death: SignalDeath) -> tuple[CodeFrame | None, ...]:
    """Return the functions of the frames of `death`, innermost first."""
    return tuple(describe(pc if i == 0 else pc - 1) for i, pc in enumerate(death.frames))
