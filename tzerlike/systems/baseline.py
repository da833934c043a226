"""The baseline build, with which every other build of a program is compared: without the passes that TVM can do
without.
"""

from __future__ import annotations

from tzerlike.core.case import Case, ContextConfig
from tzerlike.systems.optional import baseline_named, context_of
from tzerlike.systems.tvm_api import TVM_VERSION

REFERENCE_TARGET = '{"kind": "llvm", "opt-level": 0}'


def baseline_config(baseline: str = "") -> ContextConfig:
    """Return what a baseline is built under, that of the TVM at hand where none is named."""
    return context_of(baseline or baseline_named(TVM_VERSION))


def baseline_case(case: Case, baseline: str = "") -> Case:
    """Return the case that is the baseline build of the program of `case`, for the same inputs."""
    return Case(case.ir, (), baseline_config(baseline), REFERENCE_TARGET, case.input_seed)
