"""Damaged files of a campaign that is resumed: they are set aside, and reported."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tzerlike.campaign.cluster.epochs import read_epochs
from tzerlike.campaign.directory import CampaignDir, read_environment
from tzerlike.campaign.events import mend_events
from tzerlike.campaign.state import read_pool, read_state
from tzerlike.campaign.stats import read_curve, read_stats
from tzerlike.core.errors import UserError
from tzerlike.core.schema import WrongVersion
from tzerlike.coverage.snapshot import read_snapshot

DAMAGED = ".damaged"
"""How the names of files end that were set aside."""


def recover(directory: CampaignDir, numbers: Iterable[int] | None = None) -> Iterator[str]:
    """Make a campaign fit to be resumed; yield a line for each file that is damaged, and set aside.

    With `numbers`, only what belongs to those workers: other machines are at work in the directory.

    What they said is counted anew or lost, and never a finding or a corpus entry. WrongVersion for files of a tzerlike
    that this one cannot follow; UserError where one cannot be moved.
    """
    if numbers is None:
        directory.sweep()
        yield from _checked(directory.environment, read_environment, "the TVM that it ran on is not compared")
        yield from _checked(directory.stats, read_stats, "it is written anew")
        yield from _checked(directory.coverage_csv, read_curve, "the curve begins here")
        yield from _checked(directory.cluster, read_epochs, "files left on the disks of other machines are not fetched")
    for worker in map(directory.worker, directory.worker_numbers() if numbers is None else numbers):
        yield from _checked(worker / "state.json", read_state, "its statistics are lost, but its corpus is not")
        yield from _checked(worker / "pool.json", read_pool, "what was tried of its corpus is forgotten")
        yield from _checked(worker / "coverage.bits", read_snapshot, "the corpus is run again to restore it")
        yield from _checked(worker / "events.jsonl", mend_events, "its events are lost")


def _checked(path: Path, read: Callable[[Path], object], consequence: str) -> Iterator[str]:
    if not os.path.lexists(path):
        return
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise UserError(f"{path}: not a regular file")
        read(path)
    except WrongVersion:
        raise
    except (UserError, OSError) as error:
        aside = path.with_name(path.name + DAMAGED)
        try:
            os.replace(path, aside)
        except OSError as refused:
            raise UserError(f"{error}; it cannot be set aside ({refused.strerror})") from refused
        yield f"{error}; set aside as {aside.name}, and {consequence}"
