"""Work shared among processes, each of which keeps its results in a file and continues from there."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

from standalone import cache_directory


class Shard(Protocol):
    """One process' share."""

    @property
    def directory(self) -> Path: ...

    @property
    def number(self) -> int: ...

    def load(self) -> None:
        """Take up what an earlier run has done."""

    def work(self, items: int, root: int) -> None:
        """Do this shard's share of `items`, drawn from the seed `root`."""


AnyShard = TypeVar("AnyShard", bound=Shard)


def run_command(
    make: Callable[[Path, int, int], AnyShard], show: Callable[[list[AnyShard]], int], mutants: int, shards: int
) -> NoReturn:
    """The command line of a script that shares out `mutants` mutants among `shards` shards, when not told otherwise.

    `make` takes the directory, the number of a shard and how many there are; `show` prints what all came to and returns
    how much of it is wrong, for which the exit status is 1.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--mutants", type=int, default=mutants)
    parser.add_argument("--shards", type=int, default=shards)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True, exist_ok=True)
    made = [make(asked.directory, number, asked.shards) for number in range(asked.shards)]
    completed = True
    if not asked.show:
        cache_directory()
        completed = run_shards(made, asked.mutants, asked.seed)
    sys.exit(1 if show(made) or not completed else 0)


def run_shards(shards: Sequence[Shard], items: int, root: int) -> bool:
    """Run each shard in a process of its own until all have ended; return whether none failed.

    What breaks one stands in `broken-NUMBER.txt` of its directory.
    """
    children = [_started(shard, items, root) for shard in shards]
    # All in a list first: what stops at the first failure leaves the others behind.
    statuses = [os.waitpid(child, 0)[1] for child in children]
    return not any(statuses)


def _started(shard: Shard, items: int, root: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        shard.load()
        shard.work(items, root)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - it would go on as another parent
        (shard.directory / f"broken-{shard.number}.txt").write_text(traceback.format_exc())
        os._exit(70)
