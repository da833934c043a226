"""The build without optimisation, which every other build of a program is compared with."""

from __future__ import annotations

from tzerlike.core.case import Case, ContextConfig

REFERENCE_CONFIG = ContextConfig(opt_level=0, options=(("tirx.disable_assert", True),))
"""How the reference is built: no optional passes, and no checks of arguments that are known to fit."""

REFERENCE_TARGET = '{"kind": "llvm", "opt-level": 0}'


def baseline_case(case: Case) -> Case:
    """Return the case that builds the program of `case` as the reference, for the same inputs."""
    return Case(case.ir, (), REFERENCE_CONFIG, REFERENCE_TARGET, case.input_seed)
