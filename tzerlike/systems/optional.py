"""The passes that TVM can do without, as tried on the versions named here. Imports no TVM.

`opt_level` switches off no pass of TIR: all of them are of level 0. What a build is to do without is named. The table
is for LLVM, and what scripts/optional_passes.py finds: one pass left out at a time, on all seeds. What lowers something
that programs may hold (threads, narrow floats, parallel loops that begin at 3), or tells other passes what to leave
alone, is none of these. StorageRewrite is one although TVM 0.27 fails without it on buffers that are allocated within a
while loop (one seed): LowerTVMBuiltin opens no scope for While, so it frees such a buffer behind the loop, where LLVM's
verifier no longer finds it. StorageRewrite takes them out of loops. Such programs have no baseline: one with it would
not be what reports say of the baseline, and would hide what StorageRewrite does wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tzerlike.core.case import ContextConfig

LEVELS = "levels"
"""The default pipeline at LLVM level 0: the baseline of schedules, of bundles that name none, and of versions that are
not in the table."""

UNASKED = (
    "s_tir.PlanAndUpdateBufferAllocationLocation",
    "s_tir.CompactBufferAllocation",
    "s_tir.StmtSimplify",
    "tirx.NarrowDataType",
    "tirx.StorageRewrite",
    "s_tir.HoistIfThenElse",
    "s_tir.RenormalizeSplitPattern",
    "tirx.StmtSimplify",
    "tirx.RemoveNoOp",
    "tirx.CommonSubexprElim",
)
"""What TVM does to all programs to make them faster."""

_WISHES = (
    "s_tir.ManifestSharedMemoryLocalStage",
    "s_tir.InjectPermutedLayout",
    "s_tir.InjectSoftwarePipeline",
    "s_tir.InjectDoubleBuffer",
    "tirx.UnrollLoop",
    "s_tir.RewriteUnsafeSelect",
)
"""What it does where a program asks for it, or to be on the safe side: no matter of speed."""

DISPENSABLE: Mapping[str, tuple[str, ...]] = MappingProxyType({"0.27.0.post1": (*UNASKED, *_WISHES)})
"""Version -> the passes of its default pipeline that it can do without; bundles name a baseline by its version."""

_PLAIN = ("tirx.disable_assert", True)
"""No checks of arguments that are known to fit."""

SERIAL_LOOPS = ("tirx.disable_vectorize", True)
"""VectorizeLoop then makes serial loops of vectorised ones, which nothing else lowers."""


def baseline_named(version: str) -> str:
    """Return the name of the baseline for a version of TVM."""
    return version if version in DISPENSABLE else LEVELS


def context_of(baseline: str) -> ContextConfig:
    """Return what a baseline is built under."""
    if baseline not in DISPENSABLE:
        return ContextConfig(opt_level=0, options=(_PLAIN,))
    return ContextConfig(0, (_PLAIN, SERIAL_LOOPS), DISPENSABLE[baseline])


def in_words(baseline: object) -> str:
    """Return what a baseline is: "LLVM level 0, without vectorisation and ..."; `baseline` is its name or unknown."""
    left_out = DISPENSABLE.get(baseline, ()) if isinstance(baseline, str) else ()
    if not left_out:
        return "opt_level 0, which leaves out no pass, and LLVM level 0"
    names = dict.fromkeys(name.rpartition(".")[2] for name in left_out)
    return f"LLVM level 0, loops not vectorized, without {', '.join(names)}"
