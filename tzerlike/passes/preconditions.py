"""The preconditions of passes, as data.

TVM writes almost none of this down. Each rule says where it comes from: "doc" is the pass's own docstring, "check" a
check in the pass that names what it wants, "pipeline" the place the pass has in TVM's default pipelines
(`tvm/s_tir/pipeline.py`, `tvm/tirx/compilation_pipeline.py`), and "trial" what happened when every pass, every ordered
pair of passes and every default pipeline with one pass dropped, swapped or repeated was run over small functions.
A pass without preconditions ran everywhere in those trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from tzerlike.core.case import PassSpec
from tzerlike.passes.dlight import DLIGHT
from tzerlike.passes.facts import Fact, Facts
from tzerlike.passes.rule import NONE, Rule
from tzerlike.passes.tilelang import ASCEND, FORKED, TILE_RULES
from tzerlike.systems import under_test


def _facts(*facts: Fact) -> Facts:
    return frozenset(facts)


F = Fact
_ANYWHERE: Final = Rule(source="trial: ran everywhere")
_ADRENO: Final = Rule(needs=_facts(F.ADRENO), source="pipeline: of the backend")
_BLOCKS: Final = _facts(F.BLOCKS, F.ITERATORS, F.INIT, F.BLOCK_BUFFERS, F.MATCHES)

PRECONDITIONS: Final[Mapping[str, Rule]] = {
    "s_tir.AnnotateIrregularLoop": Rule(removes=_facts(F.JUMPS), source="doc: marks loops that are left early"),
    "s_tir.CanonicalizeLoop": Rule(removes=_facts(F.STEPS), source="doc: loops from zero in steps of one"),
    "s_tir.CompactBufferAllocation": Rule(
        forbids=_facts(F.ITERATORS, F.INIT, F.PACKED),
        clashes=(_facts(F.FLATTENED, F.DIM_ALIGN),),
        source="check: only works on opaque blocks; trial: fails on the calls that MakePackedAPI makes, and looks for "
        "the dimensions to align in buffers that have lost them",
    ),
    "s_tir.ConvertBlocksToOpaque": Rule(
        forbids=_facts(F.INIT), removes=_facts(F.ITERATORS), source="check: a block without init"
    ),
    "s_tir.ConvertSSA": Rule(removes=_facts(F.DUPLICATES), source="doc"),
    "s_tir.DecorateDeviceScope": Rule(
        forbids=_facts(F.HOST_CODE, F.ALLOCATIONS),
        source="doc: makes the whole body device code; trial: packed calls, assertions, workspaces then lack a device",
    ),
    "s_tir.DefaultGPUSchedule": Rule(
        forbids=_facts(F.LOWERED, F.DUPLICATES),
        source="trial: checks that the function can be scheduled, which lowering ends, and is well-formed",
    ),
    "s_tir.HoistExpression": Rule(
        forbids=_facts(F.BLOCKS),
        source="trial: moves block iterators out of their blocks without a word",
    ),
    "s_tir.HoistIfThenElse": _ANYWHERE,
    "s_tir.InferFragment": _ANYWHERE,
    "s_tir.InjectDoubleBuffer": Rule(forbids=_facts(F.ND), source="check: expects flat 1-d buffers"),
    "s_tir.InjectPTXAsyncCopy": Rule(forbids=_facts(F.ND), source="check: one index; pipeline: after FlattenBuffer"),
    "s_tir.InjectPTXLDG32": Rule(forbids=_facts(F.ND), source="pipeline: after FlattenBuffer"),
    "s_tir.InjectPermutedLayout": _ANYWHERE,
    "s_tir.InjectSoftwarePipeline": Rule(
        forbids=_facts(F.ITERATORS, F.INIT),
        removes=_facts(F.SOFTWARE_PIPELINE),
        source="pipeline: after ConvertBlocksToOpaque and LowerInitBlock",
    ),
    "s_tir.InjectVirtualThread": Rule(
        forbids=_facts(F.THREAD_LOOPS),
        removes=_facts(F.VIRTUAL_THREADS),
        clashes=(_facts(F.ND, F.VIRTUAL_THREADS),),
        source="pipeline: after LowerOpaqueBlock, FlattenBuffer; check: flat memory; trial: leaves thread loops as "
        "they are",
    ),
    "s_tir.InstrumentBoundCheckers": Rule(
        forbids=_facts(F.ND), source="check: as many physical indices as dimensions; pipeline: after FlattenBuffer"
    ),
    "s_tir.InstrumentProfileIntrinsics": Rule(
        forbids=_facts(F.SOFTWARE_PIPELINE),
        source="pipeline: after InjectSoftwarePipeline, which counts the statements of a loop",
    ),
    "s_tir.LiftThreadBinding": _ANYWHERE,
    "s_tir.LoopPartition": Rule(
        forbids=_facts(F.JUMPS),
        removes=_facts(F.LIKELY),
        source="pipeline: after AnnotateIrregularLoop; trial: code generation knows no likely",
    ),
    "s_tir.LowerAsyncDMA": Rule(
        source="trial: of ASYNC it makes device_api.cpu.dma_copy, which no runtime but Hexagon's has; pipelines run "
        "it for every target, so that is left to the judge of results",
    ),
    "s_tir.LowerAutoCopy": _ANYWHERE,
    "s_tir.LowerCrossThreadReduction": Rule(removes=_facts(F.CROSS_THREAD), source="trial: ran everywhere"),
    "s_tir.LowerInitBlock": Rule(
        forbids=_facts(F.CROSS_THREAD),
        removes=_facts(F.INIT),
        source="doc; trial on cuda: without its init a block is no reduction to LowerCrossThreadReduction, and "
        "ThreadSync fails later",
    ),
    "s_tir.LowerMatchBuffer": Rule(removes=_facts(F.MATCHES), source="doc"),
    "s_tir.LowerOpaqueBlock": Rule(
        forbids=_facts(F.ITERATORS, F.INIT, F.MATCHES, F.SOFTWARE_PIPELINE, F.JUMPS),
        adds=_facts(F.LOWERED),
        removes=_BLOCKS | _facts(F.THREAD_LOOPS),
        source="check: call ConvertBlocksToOpaque before; pipeline: after LowerMatchBuffer, AnnotateIrregularLoop, "
        "whose mark keeps loops of one round, InjectSoftwarePipeline",
    ),
    "s_tir.LowerThreadAllreduce": Rule(
        needs=_facts(F.TARGET),
        forbids=_facts(F.BLOCKS),
        source="check: requires the target attribute, and of a view the allocation, which it does not see in a block; "
        "pipeline: after LowerOpaqueBlock",
    ),
    "s_tir.LowerVtcmAlloc": _ANYWHERE,
    "s_tir.ManifestSharedMemoryLocalStage": _ANYWHERE,
    "s_tir.MergeSharedMemoryAllocations": _ANYWHERE,
    "s_tir.PlanAndUpdateBufferAllocationLocation": Rule(forbids=_facts(F.INIT), source="check: a block without init"),
    "s_tir.RemoveStoreUndef": _ANYWHERE,
    "s_tir.RemoveWeightLayoutRewriteBlock": _ANYWHERE,
    "s_tir.RenormalizeSplitPattern": _ANYWHERE,
    "s_tir.RewriteUnsafeSelect": _ANYWHERE,
    "s_tir.StmtSimplify": _ANYWHERE,
    "s_tir.ThreadSync": _ANYWHERE,
    "s_tir.TransformMmaBufferLayout": _ANYWHERE,
    "s_tir.UnifyThreadBinding": _ANYWHERE,
    "s_tir.UseAssumeToReduceBranches": _ANYWHERE,
    "s_tir.VerifyGPUCode": _ANYWHERE,
    "s_tir.VerifyVTCMLimit": _ANYWHERE,
    "s_tir.analysis.OOBChecker": _ANYWHERE,
    "s_tir.backend.adreno.InjectTextureAlloc": _ADRENO,
    DLIGHT: Rule(
        needs=_facts(F.S_TIR),
        forbids=_facts(F.LOWERED, F.DUPLICATES, F.THREAD_LOOPS, F.DEVICE_CODE, F.HOST_CODE),
        adds=_facts(F.THREAD_LOOPS, F.DEVICE_CODE, F.CROSS_THREAD, F.VIRTUAL_THREADS, F.VECTORIZED)
        | _facts(F.ALLOCATIONS, F.BLOCK_BUFFERS, F.INIT, F.DEVICE_MEMORY),
        source="pipeline: of models for GPUs, on what LegalizeOps and FuseTIR leave; it leaves alone what is scheduled",
    ),
    "s_tir.backend.adreno.TextureFlatten": _ADRENO,
    "tirx.AnnotateEntryFunc": _ANYWHERE,
    "tirx.BF16ComputeLegalize": Rule(removes=_facts(F.BF16), source="doc"),
    "tirx.BF16StorageLegalize": Rule(
        forbids=_facts(F.BUFFER_PARAMS, F.BF16),
        removes=_facts(F.BF16_STORAGE),
        source="check: must be called after MakePackedAPI; trial: stored types clash before BF16ComputeLegalize",
    ),
    "tirx.BindTarget": Rule(adds=_facts(F.TARGET), source="doc"),
    "tirx.CommonSubexprElim": Rule(
        forbids=_facts(F.BLOCKS),
        source="pipeline: after LowerOpaqueBlock; trial: puts variables where blocks want regions",
    ),
    "tirx.ConvertSSA": _ANYWHERE,
    "tirx.FP8ComputeLegalize": Rule(removes=_facts(F.FP8), source="doc"),
    "tirx.FP8StorageLegalize": Rule(
        forbids=_facts(F.BUFFER_PARAMS, F.FP8),
        removes=_facts(F.FP8_STORAGE),
        source="check: must be called after MakePackedAPI; trial: stored types clash before FP8ComputeLegalize",
    ),
    "tirx.FlattenBuffer": Rule(
        forbids=_facts(F.BLOCKS),
        adds=_facts(F.LOWERED, F.FLATTENED),
        removes=_facts(F.ND),
        source="doc: for TIR without opaque blocks",
    ),
    "tirx.ForceNarrowIndexToInt32": Rule(
        forbids=_facts(F.PACKED, F.INT64_STORAGE),
        source="trial: fails on the calls that MakePackedAPI makes; check: no int64 buffers",
    ),
    "tirx.InlinePrivateFunctions": _ANYWHERE,
    "tirx.LowerIntrin": Rule(needs=_facts(F.TARGET), source="check: requires the target attribute"),
    "tirx.LowerTIRx": Rule(forbids=_facts(F.S_TIR), source="doc: of tirx programs; check: fails on s_tir ones"),
    "tirx.LowerTIRxCleanup": Rule(
        forbids=_facts(F.S_TIR), source="trial: on s_tir programs it accesses buffers that nothing defines"
    ),
    "tirx.LowerTIRxOpaque": Rule(
        forbids=_facts(F.BLOCKS),
        adds=_facts(F.LOWERED),
        removes=_facts(F.THREAD_LOOPS),
        source="doc: no handling of blocks whatsoever",
    ),
    "tirx.LowerTVMBuiltin": Rule(
        needs=_facts(F.PACKED),
        adds=_facts(F.BUILTINS_LOWERED),
        removes=_facts(F.HOST_CODE),
        source="check: unknown device id outside a packed function; pipeline: a host finalisation",
    ),
    "tirx.LowerWarpMemory": Rule(
        needs=_facts(F.TARGET),
        forbids=_facts(F.ND, F.THREAD_LOOPS),
        source="check: requires the target attribute, flat memory, a launch of threadIdx.x around warp memory",
    ),
    "tirx.MakePackedAPI": Rule(
        needs=_facts(F.TARGET),
        forbids=_BLOCKS | _facts(F.THREAD_LOOPS, F.VIRTUAL_THREADS),
        adds=_facts(F.PACKED),
        removes=_facts(F.BUFFER_PARAMS),
        source="check: requires the target attribute, no undefined variables, as iterators are to it",
    ),
    "tirx.NarrowDataType": Rule(
        forbids=_facts(F.BLOCKS, F.ND, F.PACKED),
        waived_by=_facts(F.TILED),
        source="doc: run after FlattenBuffer; trial: SIGSEGV on blocks, fails on the calls that MakePackedAPI makes; "
        "pipeline: TileLang's drivers narrow before they flatten",
    ),
    "tirx.PointerValueTypeRewrite": Rule(
        forbids=_facts(F.BLOCK_BUFFERS, F.BUFFER_PARAMS),
        source="check: loads and stores after the declaration, which a block is not; doc: rewrites the type of "
        "arguments, after which callers of a function of buffers no longer fit",
    ),
    "tirx.RemapThreadAxis": Rule(
        forbids=_facts(F.WIDE_THREADS),
        source="trial: its argument has threads of 32 bits, which are then at odds with those of 64",
    ),
    "tirx.RemoveAssume": _ANYWHERE,
    "tirx.RemoveNoOp": _ANYWHERE,
    "tirx.SkipAssert": _ANYWHERE,
    "tirx.SplitHostDevice": Rule(
        needs=_facts(F.TARGET),
        forbids=_BLOCKS | _facts(F.THREAD_LOOPS, F.VIRTUAL_THREADS),
        adds=_facts(F.SPLIT),
        clashes=(_facts(F.SPLIT, F.DEVICE_CODE),),
        source="check: requires the target attribute; pipeline: after LowerOpaqueBlock; trial: loses block iterators "
        "and virtual threads; on cuda the launches that an earlier split made do not survive a second one",
    ),
    "tirx.StmtSimplify": _ANYWHERE,
    "tirx.StorageRewrite": Rule(
        forbids=_facts(F.BLOCK_BUFFERS, F.ND, F.VECTORIZED, F.VIRTUAL_THREADS, F.PACKED),
        source="check: VectorizeLoop before it, as many dimensions accessed as allocated; pipeline: after "
        "InjectVirtualThread, before MakePackedAPI, whose device scope it would move allocations out of",
    ),
    "tirx.TilePrimitiveDispatch": Rule(
        forbids=_facts(F.S_TIR), source="doc: of tirx programs; check: fails on s_tir ones"
    ),
    "tirx.UnrollLoop": Rule(
        forbids=_facts(F.STEPS, F.JUMPS),
        adds=_facts(F.DUPLICATES),
        source="trial: block iterators are defined once per copy, steps are taken for one; pipeline: after "
        "CanonicalizeLoop, AnnotateIrregularLoop",
    ),
    "tirx.VectorizeLoop": Rule(
        forbids=_facts(F.BLOCKS, F.ND, F.STEPS),
        removes=_facts(F.VECTORIZED),
        source="check: only the last index may be a vector, no default for regions; trial: steps are taken for one; "
        "pipeline: after CanonicalizeLoop and FlattenBuffer",
    ),
    "tirx.VerifyMemory": _ANYWHERE,
    "tirx.VerifySSA": _ANYWHERE,
    "tirx.backend.cuda.LowerIket": _ANYWHERE,
    "tirx.backend.trn.LowerTrainiumLayout": Rule(
        needs=_facts(F.TRAINIUM),
        forbids=_facts(F.BOOL_STORAGE),
        source="pipeline: of the backend; trial: fails on buffers of booleans",
    ),
}
"""Every pass of TVM."""

ELSEWHERE: Final = frozenset(
    {
        "s_tir.LowerAsyncDMA",
        "s_tir.LowerVtcmAlloc",
        "s_tir.VerifyVTCMLimit",
        "s_tir.backend.adreno.InjectTextureAlloc",
        "s_tir.backend.adreno.TextureFlatten",
        "tirx.backend.trn.LowerTrainiumLayout",
    }
)
"""Passes for targets that no campaign has (Hexagon, Adreno, Trainium), which none draws. The default pipelines run some
of them for every target."""

OF_DEVICE_MEMORY: Final = frozenset(
    {
        "s_tir.InferFragment",
        "s_tir.InjectPTXAsyncCopy",
        "s_tir.LowerAutoCopy",
        "s_tir.LowerVtcmAlloc",
        "s_tir.ManifestSharedMemoryLocalStage",
        "s_tir.MergeSharedMemoryAllocations",
        "s_tir.TransformMmaBufferLayout",
        "tirx.LowerWarpMemory",
    }
)
"""Passes to which the scope of a buffer is more than a hint."""

_CODE_GENERATION: Final = Rule(
    needs=_facts(F.PACKED, F.TARGET),
    forbids=_BLOCKS
    | _facts(F.ND, F.LIKELY, F.BUFFER_PARAMS, F.BF16, F.FP8, F.BF16_STORAGE, F.FP8_STORAGE)
    | _facts(F.LAUNCH, F.TILES),
    source="check: CodeGenLLVM wants flat buffers; trial: the default pipeline with each pass dropped",
)
"""What must hold at the end of a lowering."""


@dataclass(frozen=True, slots=True)
class Violation:
    """The first place of a sequence where a precondition fails; `index` is len(sequence) for code generation."""

    index: int
    name: str
    fact: Fact
    wanted: bool

    def __str__(self) -> str:
        verb = "needs" if self.wanted else "cannot take"
        return f"pass {self.index + 1} ({self.name}) {verb} {self.fact.value}"


@cache
def rule_of(name: str) -> Rule:
    """Return the rule of a pass; one that the table does not know has no preconditions."""
    name = under_test().name_in_tvm(name)
    return TILE_RULES.get(name) or PRECONDITIONS.get(FORKED.get(name, name), _ANYWHERE)


def drawn(name: str) -> bool:
    """Whether a campaign draws a pass for any place in a sequence; dlight comes first where it is needed."""
    return under_test().name_in_tvm(name) not in ELSEWHERE | ASCEND | {DLIGHT}


def out_of_place(name: str) -> bool:
    """Whether a pass has no business on any target that there is, whatever the program."""
    return not rule_of(name).needs.isdisjoint({F.TRAINIUM, F.ADRENO, F.ASCEND})


def facts_after(passes: Iterable[PassSpec], facts: Facts) -> Facts:
    """Return what holds after `passes` have run on a program with `facts`."""
    for spec in passes:
        facts = rule_of(spec.name).apply(facts)
    return facts


def legal(passes: Iterable[PassSpec], facts: Facts, *, to_code: bool = False) -> Violation | None:
    """Return the first violated precondition of a sequence on a program with `facts`, or None.

    With `to_code` the sequence must also leave what code generation takes.
    """
    index = -1
    for index, spec in enumerate(passes):
        rule = rule_of(spec.name)
        found = rule.violation(facts)
        if found is not None:
            return Violation(index, spec.name, *found)
        facts = rule.apply(facts)
    if to_code:
        found = _CODE_GENERATION.violation(facts)
        if found is not None:
            return Violation(index + 1, "code generation", *found)
    return None


def left_for_code(passes: tuple[PassSpec, ...], facts: Facts) -> bool:
    """Whether a lowering of one's own leaves what code generation does not take, as bfloat16 is."""
    violation = legal(passes, facts, to_code=True)
    return violation is not None and violation.index == len(passes)


def composed(passes: Iterable[PassSpec], *, to_code: bool = False) -> Rule | None:
    """Return the rule that stands for a whole sequence, or None where no program makes it legal.

    `legal(passes, facts, to_code=to_code)` is None exactly where the rule has no violation.
    """
    rules = [rule_of(spec.name) for spec in passes]
    if to_code:
        rules.append(_CODE_GENERATION)
    whole = Rule()
    for rule in rules:
        gone = whole.removes - whole.adds
        waived = not rule.waived_by.isdisjoint(whole.adds)
        forbids, rules_clashes = (NONE, ()) if waived else (rule.forbids, rule.clashes)
        clashes = [clash - whole.adds for clash in rules_clashes if clash.isdisjoint(gone)]
        if rule.needs & gone or forbids & whole.adds or NONE in clashes:
            return None
        # What is left of a clash by one fact is forbidden from the start.
        single = frozenset(fact for clash in clashes if len(clash) == 1 for fact in clash)
        whole = Rule(
            needs=whole.needs | (rule.needs - whole.adds),
            forbids=whole.forbids | (forbids - whole.removes) | single,
            clashes=whole.clashes + tuple(clash for clash in clashes if len(clash) > 1),
            adds=(whole.adds - rule.removes) | rule.adds,
            removes=(whole.removes - rule.adds) | rule.removes,
        )
    return None if whole.needs & whole.forbids or any(clash <= whole.needs for clash in whole.clashes) else whole
