"""Whether the kernel's OOM killer was at work: its counters before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path


def oom_counters(root: Path = Path("/")) -> tuple[Path, ...]:
    """Return the files that count kills for lack of memory: of this process's cgroups, and of the whole machine.

    `root` is where /proc and /sys are.
    """
    return tuple(path for path in (*_of_cgroups(root), root / "proc/vmstat") if path.is_file())


def oom_kills(counters: Sequence[Path]) -> int:
    """Return how many kills the files count together; one that cannot be read counts none."""
    return sum(_count(path) for path in counters)


def _of_cgroups(root: Path) -> Iterator[Path]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    base = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if "memory" in controllers.split(","):
            file, homes = "memory.oom_control", [base / "memory"]
        elif not controllers:
            file, homes = "memory.events", [base, base / "unified"]
        else:
            continue
        # In a container the place is often that on the host, and what can be seen is mounted at the top.
        candidates = (home / where / file for home in homes for where in (place.lstrip("/"), ""))
        yield from dict.fromkeys(path for path in candidates if path.is_file())


def _count(path: Path) -> int:
    try:
        words = path.read_text().split()
    except OSError:
        return 0
    return sum(int(value) for name, value in pairwise(words) if name == "oom_kill" and value.isdigit())
