"""What the worker before this one was ended over, as a fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tzerlike.core.errors import Fault
from tzerlike.findings.faults.bundle import Occasion

WORKER_LOST = "WorkerLost"
"""The kind of a fault that took a worker with it: a loop in a library, or a death that is none of TVM's."""


def lost_worker(culprit: Mapping[str, Any]) -> tuple[Fault, Occasion]:
    """The fault of a worker that was ended: `culprit` has the `iteration`, what it was `doing` in it, and `why`."""
    doing = str(culprit["doing"])
    return Fault(WORKER_LOST, (doing,), str(culprit["why"]), doing), Occasion(int(culprit["iteration"]))
