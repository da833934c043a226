"""Tests that are marked `gpu` run where there is one, and say why not elsewhere. Nothing here starts CUDA."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import hypothesis
import pytest

from tzerlike.execution.cuda.device import devices

collect_ignore = ["data/reports"]
"""Bundles have tests of their own, which fail as long as TVM has their bugs."""


def pytest_configure() -> None:
    """Have SIGHUP work in what tests start, also where the tests themselves were started by nohup.

    Parallel kernels have as many threads as in campaigns: more of them would spin for seconds on a busy machine.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ.setdefault("TVM_NUM_THREADS", "2")
    # How fast examples are drawn is a matter of the machine.
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("any machine", deadline=None, suppress_health_check=slow)
    hypothesis.settings.load_profile("any machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu") is not None]
    if marked and not devices():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU in this machine"))


@pytest.fixture(autouse=True)
def no_threads_left_behind() -> Iterator[None]:
    """A kernel that runs in the tests' own process starts TVM's pool of threads, and forked children, which have the
    pool but not its threads, wait for them until their processor time is gone: such work belongs into a child."""
    before = _native_threads()
    yield
    for _ in range(3000):  # a thread of Python's own may take a moment to end
        if _native_threads() <= before:
            return
        time.sleep(0.01)
    raise AssertionError("TVM's threads were started in the process that later tests fork from")


def _native_threads() -> int:
    return len(os.listdir("/proc/self/task")) - threading.active_count()
