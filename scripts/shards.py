"""Work that is shared out among processes, each of which keeps what it has done in a file and goes on from there."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


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
