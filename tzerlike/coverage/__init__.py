"""Coverage of the compiler under test, and the place where a child died: ctypes over memcov.

The worker and the library stay unchanged. A forked child that calls `enter` records the blocks that it is the first to
reach in shared memory, so that the worker can read them after any death.

This package knows nothing of TVM: the library to observe is a path, already loaded by the caller.
"""

from tzerlike.coverage.blocks import find_chains
from tzerlike.coverage.breakpoint import BreakpointCoverage, LoadedCode
from tzerlike.coverage.choice import open_coverage, prepare_coverage
from tzerlike.coverage.death import CodeFrame, DeathRecord, SignalDeath, describe, describe_death
from tzerlike.coverage.native import sealed
from tzerlike.coverage.protocol import Coverage, CoveredLibrary, Indices, NoCoverage
from tzerlike.coverage.sancov import SancovCoverage
from tzerlike.coverage.stacks import STACKS, Stack, StackRecord, in_common

__all__ = [
    "STACKS",
    "BreakpointCoverage",
    "CodeFrame",
    "Coverage",
    "CoveredLibrary",
    "DeathRecord",
    "Indices",
    "LoadedCode",
    "NoCoverage",
    "SancovCoverage",
    "SignalDeath",
    "Stack",
    "StackRecord",
    "describe",
    "describe_death",
    "find_chains",
    "in_common",
    "open_coverage",
    "prepare_coverage",
    "sealed",
]
