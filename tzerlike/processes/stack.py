"""Another stack for the same case, to reveal reads of uninitialized stack memory by compiled code."""

from __future__ import annotations

from random import Random

from tzerlike.coverage.native import errno_checked, load_memcov


def soil_stack(layout: int) -> None:
    """Fill the stack below with one byte, as the number says; 0 changes nothing. For just before compiled code runs.

    The numbers are those of tzerlike.processes.heap.
    """
    if layout:
        errno_checked(load_memcov().memcov_soil_stack(Random(layout).randrange(1, 256)))
