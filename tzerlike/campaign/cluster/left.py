"""Files left on the disks of machines that were cut off or killed: the campaign gets them when it next has that disk.

A mirror is held by whoever works in it, with a lock that ends with the process. One that nobody holds is sent as it is,
as a machine's that has lost its part: cases and findings alone are taken, and what the campaign has is not taken again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tzerlike.campaign.cluster.link import Link, send_rest
from tzerlike.campaign.cluster.mirror import Mirror
from tzerlike.campaign.shard import Part
from tzerlike.core.storage import locked

_NAME = "tzerlike-"
_OF = ".of"
"""The file that says of which campaign a mirror is, and of which part; its lock is whoever's works there."""

_HELD = ".held"
_OLD = 0
"""The number of a machine that has no part any more."""

_TO_SEND = 60.0
_TO_END = 40.0
"""Seconds to wait for workers that have lost their machine's process; they end by themselves."""


@contextlib.contextmanager
def held(campaign: str, part: Part) -> Iterator[Path]:
    """A new directory for a mirror, which is this process's until the end; whoever is done with it removes it."""
    root = Path(tempfile.mkdtemp(prefix=f"{_NAME}{part.node + 1}-"))
    with locked(root / _HELD):
        (root / _OF).write_text(json.dumps([campaign, part.jobs, part.node, part.nodes]))
        yield root


def deliver(campaign: str, link: Callable[[int], Link]) -> int:
    """Send what lies here of a campaign and is nobody's, by a link for each part; returns how many mirrors it was.

    One that cannot be sent stays.
    """
    sent = 0
    for root in sorted(Path(tempfile.gettempdir()).glob(f"{_NAME}*")):
        with contextlib.suppress(OSError, ValueError):
            whose, *numbers = json.loads((root / _OF).read_text())
            if whose == campaign and root.stat().st_uid == os.getuid():
                part = Part(*numbers)
                with locked(root / _HELD):
                    sent += _send(root, part, link(part.node))
    return sent


def _send(root: Path, part: Part, link: Link) -> bool:
    mirror = Mirror(root, part)
    with locked(mirror.directory.lock(part.node), _TO_END):
        done, _ = send_rest(mirror, link, _OLD, _TO_SEND)
    if done:
        shutil.rmtree(root, ignore_errors=True)
    return done
