"""The label of a rejected sequence: a wrong order, a documented refusal, or a failure of TVM."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from tzerlike.passes import dlight
from tzerlike.passes.facts import Fact, Facts
from tzerlike.passes.preconditions import legal
from tzerlike.passes.sequence import Sequence


@unique
class Label(StrEnum):
    ILLEGAL_ORDER = "illegal-order"
    """A pass at or before the failing one ran on IR that its preconditions exclude."""
    INTERNAL_ERROR = "internal-error"
    """Nothing excuses the failure: every pass had what it needs."""
    DOCUMENTED_REFUSAL = "documented-refusal"
    """The failing pass verifies, or does not support this program and says so."""


REFUSALS: Final[Mapping[str, str]] = {
    "Out of bounds checker": "s_tir.analysis.OOBChecker reports an access that it cannot prove in bounds",
    "GPU constraint": "s_tir.VerifyGPUCode verifies the limits that are its arguments",
    "Memory verification failed|Did you forget to bind": "tirx.VerifyMemory reports host code on device memory",
    "vtcm|VTCM": "s_tir.VerifyVTCMLimit verifies a capacity",
    "not in SSA form": "tirx.VerifySSA verifies",
    "The buffer (parameter .*|.* buffer map )has dtype": "tirx.ForceNarrowIndexToInt32 takes no int64 buffers",
    "Failed to vectorize loop with extent": "vector loops need a constant extent",
    "A while loop inside a vectorized loop": "there are no vector loops around while",
    "Cannot vectorize ShuffleNode with multiple vectors": "tirx.VectorizeLoop takes shuffles of one vector",
    "WhileNode in InjectVirtualThread not supported": "there are no virtual threads around while",
    "Nested async scopes not supported": "s_tir.InjectPTXAsyncCopy takes no asynchronous scope within another",
    "Shuffled indeces are suppose to be int": "a shuffle of lanes that there are not",
    "Cannot unroll non-constant loop": "unrolling needs a constant extent",
    "All loops that are bound to": "two extents of one thread axis",
    "It is better to split with multiple of 2": "s_tir.InjectDoubleBuffer takes split_loop 1 or an even number",
    "Double buffer scope must be inside a loop": "s_tir.InjectDoubleBuffer says what it wants",
    "does not satisfy the offset_factor": "s_tir.LowerMatchBuffer takes an offset that it can prove to be a multiple",
    r"is_zero\(op->min\)": "s_tir.InjectVirtualThread wants loops as s_tir.CanonicalizeLoop leaves them, from zero",
    "Loop step for .* may not be positive": "s_tir.CanonicalizeLoop takes steps that it can prove to be positive",
    "Nested parallel loop is not supported": "LLVM code generation has one level of parallel loops",
    "Do not have a default for tirx.(Break|Continue)": "S-TIR's lowering knows no jumps",
    "Cannot find function .* global registry": "a runtime without the device that the program asks for",
    r"is not enabled|Function target\..* not found": "a target without a code generator in this TVM",
    "Cannot allocate global memory when targeting CUDA": "kernels get global memory as arguments",
    "Predicated buffer (load|store) is not supported": "code generation in C has no predicated accesses",
    "cannot handle for type": "LLVM code generation has no thread launches",
    "^(InternalError: )?not implemented$": "LLVM code generation has no thread indices",
    r"Unresolved call .*\.(start|end)_profile_intrinsic\b": "profiling is Hexagon's",
    r"Unresolved call .*\bptx\.": "code generation for a CPU has no PTX",
    "T.assume (must contain|buffer constraint)": "s_tir.UseAssumeToReduceBranches takes assumptions of some forms",
    r"Unresolved call .*\.(a?(sin|cos|tan)h?|atan2|exp2|exp10|log2|log10|log1p|erf|rsqrt|nearbyint|popcount|clz)\b": (
        "code generation in C has this function for some types only"
    ),
    "for buffers in scope .* is not implemented|CPU .* only supports|for fragment not implemented": (
        "TileLang's operators take tiles of some scopes"
    ),
    "tl.reduce requires": "TileLang shares tiles out among threads in some ways only",
    "requires a target-specific implementation": "a TileLang operator that the target has not got",
    "No (infer layout|lower) function found": "TileLang's products are lowered by Python code that takes torch",
    "XOR-butterfly AllReduce requires": "tl.LowerTileOp reduces among powers of two of threads",
    "The layout for fragment .* can not be inferred": "tl.LayoutInference: nothing says how to share registers out",
}
"""Patterns of messages by which TVM refuses a program whatever ran before, and what each says."""

REFUSALS_IN_ORDER: Final[Mapping[str, str]] = {
    "in the software pipeline|software_pipeline|pipeline annotation": "an annotation that does not fit its loop",
    r"src_info\.stage <= dst_info\.stage": "s_tir.InjectSoftwarePipeline: stages against the order of dependence",
    "Parallel launch require canonical loop": "code generation has no parallel loops from other than zero",
    "The body of the software pipeline should be SeqStmt": "s_tir.InjectSoftwarePipeline: nothing to overlap",
    "Multiple buffer read": "s_tir.LowerAutoCopy: an annotation on a block that is no copy",
    "Cross-thread reduction requires all the reduction-related loops": "s_tir.LowerCrossThreadReduction: bound in part",
    "physical dimensions, but is accessed as having": "tirx.StorageRewrite wants flat buffers",
    r"block->(reads|writes)\.size\(\)": "s_tir.LowerAutoCopy: an annotation on a block that is no copy",
    "queue_id_node": "s_tir.LowerAsyncDMA: an asynchronous attribute without a queue",
    "VectorizeLoop before LiftStorageAlloc": "tirx.VectorizeLoop leaves vector loops inside of vector loops",
    "Expect no tvm_stack_make_shape outside": "memory of a scope that the target lacks",
    "unknown intrinsic": "an intrinsic that the target has no rule for at that dtype",
    "async_wait_inflight_count": "an asynchronous wait without its second half",
    "Expect the body of the block to be BufferStore to shared memory": "an annotation that does not fit its block",
    "is allocated but not accessed": "s_tir.CompactBufferAllocation: what nobody uses is another pass's to drop",
    "exceeds the size of the write regions": "s_tir.InjectSoftwarePipeline: an annotation that does not fit its block",
    "scalable vector": "scalable vectors are supported in few places",
    "the index of an async queue must be": "CUDA has one queue of copies",
    "Accumulator only support": "tensor cores add up in few types",
    r"Cannot convert type .* to CUDA type|[Oo]nly support (an even number|even lane)|t\.bits\(\) == 8 \? 16": (
        "CUDA has vectors of few lengths"
    ),
    "Cross-thread reduction cannot be applied": "s_tir.LowerCrossThreadReduction says which reductions it takes",
    "LowerWarpMemory failed": "tirx.LowerWarpMemory wants indices of warp memory that it can take apart",
    "No matched reducer": "s_tir.LowerCrossThreadReduction knows these reductions",
    "Not all reduce index are presented": "s_tir.LowerThreadAllreduce: threads that nothing launches",
    "The dtype of the domain of an IterVar must be": "threads are counted by signed integers",
    "Duplicated block name": "s_tir.DefaultGPUSchedule goes by the names of blocks",
    r"thread_scope_ == op": "tirx.StorageRewrite: threads launched inside of a parallel loop",
    "uses too much (shared|local|parameter) ": "a device has so much memory of a kind, and no more",
    "data type .* not supported yet": "tirx.MakePackedAPI has no such argument type",
    "buffer .* allocated in the function has dtype": "tirx.ForceNarrowIndexToInt32 is for programs of narrow buffers",
    "Unknown device id in current IR": "tirx.LowerTVMBuiltin: host threads of a launch have no memory of their own",
}
"""Patterns of messages that a wrong order brings about as well: a refusal only when every precondition holds."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """A message that is a refusal where `holds` says so of the passes, the facts and the failing pass, by its short
    name; elsewhere it is an internal error."""

    pattern: str
    holds: Callable[[Sequence, Facts, str], bool]
    why: str


_DIVIDES: Final = "[Dd]ivide by zero"
_A_VALUE: Final = re.compile(
    r"divide by zero|exceeds (range|minimum|maximum) of|below minimum of|is negative for unsigned|"
    r"make uint from negative|Cannot convert (infinity|-?nan) to",
    re.IGNORECASE,
)
_ALIGNING: Final = ("CompactBufferAllocation", "LowerOpaqueBlock")
_NARROWING: Final = ("NarrowDataType", "ForceNarrowIndexToInt32")

EXCUSES: Final = (
    Excuse(
        r"_M_range_check|Index \d+ out of bounds",
        lambda passes, facts, failing: failing in _ALIGNING and Fact.MISALIGNED in facts,
        "a block wants dimensions aligned that its buffers do not have: an annotation that does not fit",
    ),
    Excuse(
        "ScheduleError",
        lambda passes, facts, failing: failing == dlight.NAME,
        "dlight schedules what operators are lowered to: a primitive may refuse what else has the looks of that",
    ),
    Excuse(
        _DIVIDES,
        lambda passes, facts, failing: Fact.DIVISIONS in facts,
        "TVM folds no division by zero; no excuse where nothing computes one (`divides_by_zero`)",
    ),
    Excuse(
        "Shift amount must be",
        lambda passes, facts, failing: Fact.SHIFTS in facts and failing not in ("", *_NARROWING),
        "TVM folds no shift too far, be it one that nothing computes; to narrow what is shifted is its own doing",
    ),
    Excuse(
        "Can only handle constant size stack allocation",
        lambda passes, facts, failing: Fact.RUN_TIME_MEMORY in facts,
        "a kernel's own memory has a size that is known when it is compiled; no excuse where a pass made it unknown",
    ),
    Excuse(
        "Cannot insert syncs inside condition",
        lambda passes, facts, failing: Fact.CONDITIONS in facts,
        "s_tir.ThreadSync lets no thread skip a barrier; no excuse where a pass made the condition",
    ),
    Excuse(
        "expects rewritten allocations to be flat memory",
        lambda passes, facts, failing: not _runs_before("tirx.FlattenBuffer", "s_tir.InjectVirtualThread", passes),
        "s_tir.InjectVirtualThread says what it wants",
    ),
    Excuse(
        r"exceeds range of int32|max_value\(target_data_type_\)",
        lambda passes, facts, failing: "tirx.ForceNarrowIndexToInt32" in {spec.name for spec in passes},
        "tirx.ForceNarrowIndexToInt32 is for programs whose constants fit",
    ),
)
"""Messages that are refusals of some programs alone, where every precondition holds."""


def label(passes: Sequence, facts: Facts, failing: str, message: str) -> Label:
    """Label the rejection of a program with `facts` after `passes`, the passes of the default pipeline included.

    `failing` is the pass that raised, by either of its names, or "" for code generation. `message` may span lines;
    the first that is not blank decides. A violated precondition counts only when the pass it belongs to
    had run by then, so that a late violation does not excuse an early failure.
    """
    first = next((line for line in message.splitlines() if line.strip()), "")
    if _matches(REFUSALS, first):
        return Label.DOCUMENTED_REFUSAL
    if _out_of_order(passes, facts, failing):
        return Label.ILLEGAL_ORDER
    return Label.DOCUMENTED_REFUSAL if documented(message, facts, passes, failing) else Label.INTERNAL_ERROR


def divides_by_zero(message: str) -> bool:
    """Whether TVM refuses a program for a division by zero, be it one that nothing computes."""
    return re.search(_DIVIDES, message) is not None


def blames_a_value(message: str) -> bool:
    """Whether TVM says that a constant which it computed does not fit its type, or that a divisor is zero.

    The program's own values may be to blame: it takes one that is known to be defined to say that they are not.
    """
    return _A_VALUE.search(message) is not None


def missing_support(message: str) -> bool:
    """Whether a compiled function says that the runtime lacks what it calls: nothing is wrong with the code then."""
    return "Cannot find function" in message.partition("\n")[0]


def documented(message: str, facts: Facts = frozenset({Fact.TARGET}), passes: Sequence = (), failing: str = "") -> bool:
    """Whether a message is one by which TVM refuses such a program, where every precondition holds."""
    first = next((line for line in message.splitlines() if line.strip()), "")
    if _matches(REFUSALS, first) or _matches(REFUSALS_IN_ORDER, first):
        return True
    short = failing.rpartition(".")[2]
    return any(re.search(e.pattern, first) and e.holds(passes, facts, short) for e in EXCUSES)


def _matches(patterns: Mapping[str, str], text: str) -> bool:
    return any(re.search(pattern, text) for pattern in patterns)


def _runs_before(first: str, second: str, passes: Sequence) -> bool:
    """Whether the first pass of one name runs before all of another."""
    names = [spec.name for spec in passes]
    return first in names and second in names and names.index(first) < names.index(second)


def _out_of_order(passes: Sequence, facts: Facts, failing: str) -> bool:
    violation = legal(passes, facts, to_code=True)
    if violation is None:
        return False
    not_before = {spec.name for spec in passes[violation.index :]}
    return not failing or failing in not_before or failing not in {spec.name for spec in passes}
