"""TileLang's own passes: their inputs, a sensible order, and the lowering of TileLang's drivers.

They are found where the library of its wheel is loaded. Paths are those of its package. Sources of rules are named as
in `preconditions`: "pipeline" is `cpu/pipeline.py` and `cuda/pipeline.py` here, "check" and "doc" are of `src/`, and
"trial" ran what any program may be given on some functions of TVM, raw and lowered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tzerlike.core.case import Case, PassSpec, Scalar, parse_sequence
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.passes.facts import Fact as F
from tzerlike.passes.rule import Rule

_ANYWHERE: Final = Rule(source="trial: ran everywhere")

TILE_ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[Scalar, ...]]]] = {
    "tl.MaterializeKernelLaunch": {
        "lower_grid_binding": (True, False),
        "lower_thread_binding": (True, False),
        "default_threads": (128, 32, 256),
        "unsupported_annotations": (None, "cluster_dims"),
        "launch_dim_tags": (None,),
    },
    "tl.MergeSharedMemoryAllocations": {
        "enable_aggressive_merge": (False, True),
        "align_bytes": (16, 128),
        "disable_reuse": (False, True),
    },
    "tl.Simplify": {"simplify_arguments": (False, True)},
    "tl.ThreadSync": {"storage_scope": ("shared", "shared.dyn", "global")},
    "tl.VectorizeLoop": {"enable_vectorize": (True, False)},
    "tl.cuda.MarkCudaSyncCalls": {"have_pdl": (False, True)},
    "tl.AscendThreadSync": {"storage_scope": ("shared",)},
    "tl.MergeUBAllocations": {"align_bytes": (32,), "disable_reuse": (False,)},
}
"""Pass -> argument -> values worth trying; the first is the one that TileLang's driver for CUDA uses."""

LISTS: Final[Mapping[str, Callable[[Scalar], list[Any]]]] = {
    "default_threads": lambda threads: [threads, 1, 1],
    "unsupported_annotations": lambda key: [key],
    "launch_dim_tags": lambda tag: [tag],
}
"""Arguments that are lists, each with what it makes of the one value that a sequence has for it."""

ASCEND: Final = frozenset(
    f"tl.{name}"
    for name in (
        *("AnnotateMultiBufferEligible", "AscendInsertOOBPadding", "AscendLayoutInference", "AscendLowerTileOp"),
        *("AscendRemoveNoOp", "AscendSimdVFLowerParallel", "AscendThreadSync", "AssignCore", "AutoSchedule"),
        *("EstimateLatency", "InferBufferAliases", "InsertNd2Nz", "InsertSync", "LegalizeSimdMerging"),
        *("LowerScheduledTIR", "MarkScalarDcacheBypass", "MaterializeMultiBuffer", "MaterializeScheduleUnits"),
        *("MergeUBAllocations", "NormalizeAscendFractalStorage", "NormalizeBufferVersion", "NormalizeConflictHints"),
        *("NormalizeControlFlowForSchedule", "PrepareMultiBuffer", "ResolveCore", "RestoreWhileLoops"),
        *("RewriteAscendBufferVersionLayout", "RewriteDualCopy", "RewriteFlagToBuf", "RewriteFp4ToFp4x2"),
        "UnrollLoopSkipVF",
    )
)
"""Passes for Huawei's NPUs (`src/ascend`), which no campaign has: none draws them."""

_PROLOGUE: Final = "tl.LegalizeNegativeIndex; tl.InjectAssumes; tl.Simplify{simplify_arguments=false}; \
tl.CanonicalizeLegacyReducer; tl.VerifyReducerEpoch; tl.VerifyBufferInit"
_SIMPLIFY: Final = "tl.Simplify{simplify_arguments=false}"
_LAYOUT: Final = "tl.LayoutInference; tl.ReducerPlanAndMaterialize; tl.LowerTileOp; tl.VerifyReducerConsumed"
_LEGAL: Final = "tl.LegalizeVectorizedLoop; tl.LegalizeSafeMemoryAccess; tl.LowerAccessPtr; " + _SIMPLIFY
_LOOPS: Final = "tl.ConfigIndexBitwidth; tirx.Simplify; tl.VectorizeLoop{enable_vectorize=true}; tl.StorageRewrite; \
tl.LoopUnswitching; tl.UnrollLoop; s_tir.RenormalizeSplitPattern; tirx.Simplify; tirx.RemoveNoOp; \
s_tir.HoistIfThenElse; tirx.VerifyMemory; tirx.AnnotateEntryFunc; s_tir.InferFragment"
_BLOCKS: Final = "tl.HoistGlobalBufferAllocations; tl.LowerOpaqueBlock; " + _SIMPLIFY

_LAUNCH: Final = "tl.MaterializeKernelLaunch{lower_grid_binding=%s, lower_thread_binding=%s, default_threads=128, \
unsupported_annotations=%s, launch_dim_tags=null}"

_SPECIALISED: Final = "tl.cuda.AutoWarpSpecialization; tl.cuda.MaterializeWSSchedule; \
tl.cuda.ProducerConsumerWarpSpecialized"
_FUSED: Final = "tl.cuda.FuseMBarrierArriveExpectTx"
_REGISTERS: Final = "tl.cuda.AnnotateWarpGroupRegAlloc"
_FROM_HOPPER: Final = (_SPECIALISED, _FUSED, _REGISTERS)
"""What the driver runs for GPUs that copy tiles by themselves; the second only where a kernel has such a copy."""

_HOPPER: Final = 90

_PIPELINES: Final[Mapping[str, tuple[str, ...]]] = {
    "llvm": (
        _LAUNCH % ("false", "false", '"cluster_dims"'),
        _PROLOGUE,
        "tl.IfStmtBinding",
        _SIMPLIFY,
        _LAYOUT,
        "tl.cpu.LowerCPUAtomics",
        _LEGAL,
        "tl.HoistNonRestrictParams; tl.PlanAndUpdateBufferAllocationLocation",
        _BLOCKS,
        "tirx.NarrowDataType{target_bits=32}; tl.FlattenBuffer; tirx.BF16ComputeLegalize",
        _LOOPS,
        "tl.AnnotateDeviceRegions; tl.SplitHostDevice; tl.AnnotateReadOnlyParams; tl.MergeIfStmt; tl.MakePackedAPI",
        _SIMPLIFY,
        "tl.LowerDeviceKernelLaunch",
    ),
    "cuda": (
        _LAUNCH % ("true", "true", "null"),
        "tl.cuda.AnnotateDeviceBoundTmaCopies",
        _PROLOGUE,
        _SPECIALISED,
        "tl.cuda.LowerBlackwell2SM; tl.IfStmtBinding; tl.UnrollLoop",
        _SIMPLIFY,
        "tl.PipelinePlanning; tl.InjectSoftwarePipeline",
        _SIMPLIFY,
        _LAYOUT,
        "tl.cuda.LowerL2Persistent",
        _LEGAL,
        "tl.HoistNonRestrictParams; tl.cuda.LowerSharedTmem",
        "tl.PlanAndUpdateBufferAllocationLocation; tl.cuda.LowerSharedBarrier",
        _FUSED,
        _BLOCKS,
        "tirx.NarrowDataType{target_bits=32}; tl.FlattenBuffer",
        _LOOPS,
        "tl.LowerThreadAllreduce; tl.cuda.LowerLDGSTG; tl.cuda.LowerHopperIntrin; tl.AnnotateDeviceRegions",
        "tl.SplitHostDevice; tl.cuda.MarkCudaSyncCalls{have_pdl=false}; tl.AnnotateReadOnlyParams",
        "tl.MergeSharedMemoryAllocations{enable_aggressive_merge=false, align_bytes=16, disable_reuse=false}",
        "tl.cuda.InjectFenceProxy",
        'tl.ThreadSync{storage_scope="shared"}; tl.ThreadSync{storage_scope="shared.dyn"}',
        "tl.cuda.InjectTcgen05Fence; tl.MergeIfStmt",
        _REGISTERS,
        "tl.MakePackedAPI",
        _SIMPLIFY,
        "tl.LowerDeviceKernelLaunch; tl.cuda.PersistThreadblock",
    ),
}


def tile_pipeline(target: str) -> tuple[PassSpec, ...]:
    """Return what TileLang's driver runs on a kernel in its dialect for a target, before code generation.

    `CPUPassPipelineBody` and `CUDAPassPipelineBody` with default options; their passes in Python
    (AddWrapperForSingleBufStore, DecoupleTypeCast), which need torch, are left out. Both run NarrowDataType before
    FlattenBuffer, against TVM's documentation.
    """
    hopper = int(re.findall(r"\d+", arch_of_target(target))[0]) >= _HOPPER
    steps = [step for step in _PIPELINES[kind_of_target(target)] if hopper or step not in _FROM_HOPPER]
    sequence = "; ".join(steps)
    return parse_sequence(sequence.replace("have_pdl=false", "have_pdl=true") if hopper else sequence)


def is_drivers_own(case: Case) -> bool:
    """Whether a case runs what TileLang's driver runs on tiles, and nothing else."""
    return case.config.pipeline == "tiles" and case.passes == tile_pipeline(case.target)


def _before_lowering(**others: Any) -> Rule:
    return Rule(needs=frozenset({F.TILES}), forbids=frozenset({F.LAUNCH}), source="pipeline", **others)


_LOWERED: Final = Rule(needs=frozenset({F.TILED}), source="pipeline: after LowerTileOp")

TILE_RULES: Final[Mapping[str, Rule]] = {
    "tl.MaterializeKernelLaunch": Rule(
        needs=frozenset({F.LAUNCH}), removes=frozenset({F.LAUNCH}), source="doc: lowers the launch of a kernel"
    ),
    "tl.LayoutInference": _before_lowering(adds=frozenset({F.LAYOUTS})),
    "tl.ReducerPlanAndMaterialize": _before_lowering(),
    "tl.LowerTileOp": Rule(
        needs=frozenset({F.TILES, F.LAYOUTS}),
        forbids=frozenset({F.LAUNCH}),
        removes=frozenset({F.TILES, F.BF16, F.BF16_STORAGE, F.FP8, F.FP8_STORAGE}),
        adds=frozenset({F.TILED, F.ND}),
        source="pipeline: after LayoutInference, whose annotations it reads; no pass legalises narrow floats for cuda",
    ),
    **dict.fromkeys(
        (
            *("tl.LegalizeNegativeIndex", "tl.InjectAssumes", "tl.VerifyReducerEpoch", "tl.VerifyBufferInit"),
            *("tl.IfStmtBinding", "tl.LetInline", "tl.PipelinePlanning", "tl.VerifyParallelLoop"),
            *("tl.cuda.AnnotateDeviceBoundTmaCopies", "tl.cuda.AutoWarpSpecialization", "tl.cuda.LowerBlackwell2SM"),
            *("tl.cuda.MaterializeWSSchedule", "tl.cuda.ProducerConsumerWarpSpecialized"),
        ),
        _before_lowering(),
    ),
    **dict.fromkeys(
        (
            *("tl.ConfigIndexBitwidth", "tl.HoistGlobalBufferAllocations", "tl.HoistNonRestrictParams"),
            *("tl.LegalizeSafeMemoryAccess", "tl.LegalizeVectorizedLoop", "tl.LoopUnswitching", "tl.LowerAccessPtr"),
            *("tl.LowerDeviceKernelLaunch", "tl.MergeIfStmt", "tl.VerifyReducerConsumed", "tl.cpu.LowerCPUAtomics"),
            *("tl.cuda.AnnotateWarpGroupRegAlloc", "tl.cuda.FuseMBarrierArriveExpectTx", "tl.cuda.InjectFenceProxy"),
            *("tl.cuda.InjectTcgen05Fence", "tl.cuda.LowerHopperIntrin", "tl.cuda.LowerL2Persistent"),
            *("tl.cuda.LowerLDGSTG", "tl.cuda.LowerSharedBarrier", "tl.cuda.LowerSharedTmem"),
            *("tl.cuda.MarkCudaSyncCalls", "tl.cuda.PersistThreadblock"),
        ),
        _LOWERED,
    ),
    **dict.fromkeys(
        ("tl.AnnotateDeviceRegions", "tl.AnnotateReadOnlyParams", "tl.CanonicalizeLegacyReducer", "tl.Simplify"),
        _ANYWHERE,
    ),
    "tl.PointerValueTypeRewrite": Rule(
        forbids=frozenset({F.BLOCK_BUFFERS, F.PACKED}),
        source="check: as in TVM; trial: fails on the handles that MakePackedAPI makes",
    ),
    **dict.fromkeys(sorted(ASCEND), Rule(needs=frozenset({F.ASCEND}), source="pipeline: of the backend")),
}
"""What is TileLang's alone. Nothing in front of TVM's own programs but what ran on all of them in the trial."""

FORKED: Final[Mapping[str, str]] = {
    f"tl.{name}": f"{namespace}.{name}"
    for namespace, names in (
        (
            "s_tir",
            (
                *("InjectSoftwarePipeline", "LowerOpaqueBlock", "LowerThreadAllreduce", "MergeSharedMemoryAllocations"),
                *("PlanAndUpdateBufferAllocationLocation", "ThreadSync"),
            ),
        ),
        (
            "tirx",
            (
                *("FlattenBuffer", "LowerIntrin", "MakePackedAPI"),
                *("SplitHostDevice", "StorageRewrite", "UnrollLoop", "VectorizeLoop"),
            ),
        ),
    )
    for name in names
}
"""Passes that began as TVM's, each with the one whose rule holds for it too."""
