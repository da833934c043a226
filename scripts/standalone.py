"""What scripts need to run cases without a campaign."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tzerlike.coverage import Coverage
from tzerlike.executor.execute import ForkExecutor
from tzerlike.executor.lane import Lane
from tzerlike.executor.runner import serve_runner
from tzerlike.limits import Limits


def cache_directory() -> Path:
    """Return the directory where seeds and block lists are kept between runs, made if need be."""
    path = Path(os.path.expanduser("~")) / ".cache" / "tzerlike"
    path.mkdir(parents=True, exist_ok=True)
    return path


def executor_with(coverage: Coverage, limits: Limits | None = None) -> ForkExecutor:
    """Return an executor with a runner of its own, forked here: call this early, while the process is small."""
    lane = Lane.prepare(0, coverage)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        serve_runner(lane, theirs)
    theirs.close()
    return ForkExecutor(lane, ours, limits or Limits())
