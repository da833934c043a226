"""One core for each worker, if there are enough: a worker with its children keeps one busy.

Whoever restricts the command, by `taskset`, a set of cores or a quota of a cgroup, has said where it is to run; then,
and where there are not enough cores that no other campaign has, the kernel places all processes as it sees fit.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

CORES = Path("/sys/devices/system/cpu")
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
OWN_PROCESSES = Path("/proc/self/ns/pid")

_OF_THE_MACHINE = 0xEFFFFFFC
"""The number of the first namespace of processes (PROC_PID_INIT_INO in Linux)."""

Taker = Callable[[int], contextlib.AbstractContextManager[object] | None]
"""Takes a core until the context ends; None where somebody else has it."""


def usable_cores() -> int:
    """Return how many cores we may keep busy: those of the hardware that we may run on, as far as no quota is less."""
    hardware = {_siblings(core) for core in os.sched_getaffinity(0)}
    return max(1, int(min(len(hardware), quota(OWN_CGROUPS.read_text(), CGROUPS))))


@contextlib.contextmanager
def claimed_cores(jobs: int) -> Iterator[tuple[int, ...]]:
    """Yield a core for each of `jobs` workers, which no other campaign here takes meanwhile, or none at all."""
    with contextlib.ExitStack() as stack:
        yield taken(jobs, free_to_choose(), claim, stack)


def free_to_choose() -> tuple[int, ...]:
    """Return the cores of the machine, those that share none of their units first; none where we are restricted, or in
    a container, which does not see what others have claimed."""
    allowed = os.sched_getaffinity(0)
    if OWN_PROCESSES.stat().st_ino != _OF_THE_MACHINE or len(allowed) < (os.cpu_count() or 0):
        return ()
    if quota(OWN_CGROUPS.read_text(), CGROUPS) < math.inf:
        return ()
    return in_order({core: _siblings(core) for core in allowed})


def taken(jobs: int, cores: tuple[int, ...], claim: Taker, stack: contextlib.ExitStack) -> tuple[int, ...]:
    """Return the first `jobs` of `cores` that `claim` takes, held until `stack` ends; none where they are too few."""
    mine: list[int] = []
    with contextlib.ExitStack() as trial:
        for core in cores if jobs <= len(cores) else ():
            held = claim(core)
            if held is not None:
                trial.enter_context(held)
                mine.append(core)
            if len(mine) == jobs:
                stack.enter_context(trial.pop_all())
                return tuple(mine)
    return ()


def claim(core: int) -> socket.socket | None:
    """Take a core by a name that one process of the machine can have, and has no longer than it lives."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0tzerlike-core-{core}")
    except OSError:
        name.close()
        return None
    return name


def in_order(siblings: Mapping[int, str]) -> tuple[int, ...]:
    """Return cores so that of those with the same siblings, which are one in hardware, one comes before any second."""
    met: dict[str, int] = {}
    turns: list[tuple[int, int]] = []
    for core in sorted(siblings):
        met[siblings[core]] = met.get(siblings[core], 0) + 1
        turns.append((met[siblings[core]], core))
    return tuple(core for _, core in sorted(turns))


def quota(own: str, root: Path) -> float:
    """Return how many cores' worth of processor time the cgroups that we are in, and those above them, allow; infinity
    where none limits it. `own` is /proc/self/cgroup."""
    allowed = math.inf
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        place = root / controllers if controllers else root
        group = place / path.strip("/")
        for level in (group, *group.parents):
            allowed = min(allowed, _allowed(level))
            if level == place:
                break
    return allowed


def _allowed(group: Path) -> float:
    with contextlib.suppress(OSError):
        most, period = (group / "cpu.max").read_text().split()
        return math.inf if most == "max" else int(most) / int(period)
    with contextlib.suppress(OSError):
        most, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(most) / int(period) if int(most) > 0 else math.inf
    return math.inf


def _siblings(core: int) -> str:
    with contextlib.suppress(OSError):
        return (CORES / f"cpu{core}" / "topology" / "thread_siblings_list").read_text().strip()
    return str(core)
