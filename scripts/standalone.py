"""Helpers for scripts that run cases without a campaign."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tzerlike.core.limits import Limits
from tzerlike.coverage import Coverage
from tzerlike.execution import rendering
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.stages import run_case
from tzerlike.processes.job import RunCase
from tzerlike.processes.lane import Lane
from tzerlike.processes.runner import serve_runner


def cache_directory() -> Path:
    """Return the directory where seeds and block lists are kept between runs, made if need be."""
    path = Path(os.path.expanduser("~")) / ".cache" / "tzerlike"
    path.mkdir(parents=True, exist_ok=True)
    return path


def executor_with(coverage: Coverage, limits: Limits | None = None, run: RunCase = run_case) -> ForkExecutor:
    """Return an executor with a runner of its own, forked here: call this early, while the process is small."""
    lane = Lane.prepare(0, coverage, run, rendering.JOBS)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        serve_runner(lane, theirs)
    theirs.close()
    return ForkExecutor(lane, ours, limits or Limits())
