"""The limits of a case."""

from __future__ import annotations

import resource
from dataclasses import dataclass

from tzerlike.core.errors import UserError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use: `seconds` of processor time a case, `memory` bytes beyond what the zygote maps.

    Processor time and not wall-clock time, so that a loaded machine does not change an outcome; a child that
    sleeps is ended after ten times `seconds` of wall-clock time.
    """

    seconds: float = 5.0
    memory: int = 2 << 30

    def relaxed(self, factor: float) -> Limits:
        return Limits(self.seconds * factor, self.memory)


def checked_limits(seconds: float, memory: int) -> Limits:
    """Return limits that a user asks for; UserError where they are none that a process can be given."""
    if not 0.05 <= seconds <= 3600:
        raise UserError("--timeout: expected from 0.05 to 3600 seconds")
    if not 64 << 20 <= memory <= 1 << 42:
        raise UserError("--memory-limit: expected from 64M to 4096G")
    return Limits(seconds, memory)


def bound_memory(mapped: int, memory: int) -> None:
    """Let this process map `memory` bytes beyond `mapped`, or as much as it may, and leave no core file."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = mapped + memory if hard == resource.RLIM_INFINITY else min(mapped + memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def mapped_bytes() -> int:
    """What this process maps now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def files_are_cut_off() -> bool:
    """Whether files may not grow beyond some size here (`ulimit -f`), at which Python cuts its compiled modules off."""
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
