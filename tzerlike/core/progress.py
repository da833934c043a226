"""Progress of long tasks, reported to a callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

Steps = Callable[[int, int, str], None]
"""Takes how many steps of how many are done, and what is being done."""

_Path = TypeVar("_Path", bound=Path)


def untold(done: int, total: int, doing: str) -> None:
    """Show nothing."""


def counted(paths: Sequence[_Path], steps: Steps) -> Iterator[_Path]:
    """Yield the paths, and tell `steps` of each."""
    for done, path in enumerate(paths):
        steps(done, len(paths), path.name)
        yield path
    steps(len(paths), len(paths), "")
