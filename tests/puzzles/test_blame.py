"""Who is to blame for what TVM 0.27 fails on: the pass that did not keep what the failing one goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.bundles import wrong
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.limits import Limits
from tzerlike.core.observation import NOT_KEPT, Exit, Observation, Stage
from tzerlike.execution.diagnosis.ask import ask_walk
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.origin import concerns
from tzerlike.findings.bisect.role import bisection
from tzerlike.findings.bundles.examined import look_again
from tzerlike.oracles import judged, make_oracles
from tzerlike.oracles.metamorphic import HELD, PROBE
from tzerlike.reporting.triage.cause import cause_of, named_by
from tzerlike.systems import tvm_api
from tzerlike.systems.baseline import baseline_case
from tzerlike.systems.optional import LEVELS

ORACLES = ("crash", "inconsistency", "internal-error")
GPU = '{"kind": "cuda", "arch": "sm_90", "host": {"kind": "llvm"}}'


def case(parameters: str, body: str, target: str = "llvm") -> Case:
    head = f"# from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\ndef main({parameters}):\n"
    text = head + "\n".join(f"    {line}" for line in body.strip("\n").splitlines()) + "\n"
    return Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))), target=target)


TWO = 'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")'
PRIVATE = """
D = T.sblock_alloc_buffer((8, 8))
for i in range(8):
    with T.sblock("both"):
        vi = T.axis.spatial(8, i)
        T.reads(A[vi, 0:8], D[vi, 0:8])
        T.writes(B[vi, 0:8], D[vi, 0:8])
        T.sblock_attr({"buffer_dim_align": [[1, 0, 8, 3]]})
        for j in range(8):
            D[vi, j] = A[vi, j] + T.float32(1)
        for j in range(8):
            B[vi, j] = D[vi, j]
"""
BY_ROWS = """
n = T.int32()
A = T.match_buffer(a, (n, 16))
B = T.match_buffer(b, (n, 16))
for i in range(n):
    with T.sblock("outer"):
        vi = T.axis.spatial(n, i)
        T.reads(A[0:n, 0:16])
        T.writes(B[vi, 0:16])
        C = T.sblock_alloc_buffer((n, 16))
        for k, j in T.grid(n, 16):
            with T.sblock("fill"):
                vk, vj = T.axis.remap("SS", [k, j])
                T.reads(A[vk, vj])
                T.writes(C[vk, vj])
                C[vk, vj] = A[vk, vj]
        for j in range(16):
            with T.sblock("take"):
                vj = T.axis.spatial(16, j)
                T.reads(C[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = C[vi, vj]
"""
LOCAL = """
n = T.int32()
A = T.match_buffer(a, (64, n))
B = T.match_buffer(b, (64, n))
C = T.sblock_alloc_buffer((8, 64), scope="local")
for t in T.thread_binding(8, thread="threadIdx.x"):
    for j in range(n):
        with T.sblock("fill"):
            vt = T.axis.spatial(8, t)
            vj = T.axis.spatial(64, j)
            T.reads(A[vt, vj])
            T.writes(C[vt, vj])
            C[vt, vj] = A[vt, vj]
    for j in range(n):
        with T.sblock("take"):
            vt = T.axis.spatial(8, t)
            vj = T.axis.spatial(64, j)
            T.reads(C[vt, vj])
            T.writes(B[vt, vj])
            B[vt, vj] = C[vt, vj]
"""

NOT_THE_FAILING_ONE = {
    "an annotation by place": (
        case(TWO, PRIVATE),
        "s_tir.CompactBufferAllocation",
        "s_tir.PlanAndUpdateBufferAllocationLocation",
    ),
    "an extent of no memory": (
        case("a: T.handle, b: T.handle", BY_ROWS),
        "tirx.LowerTVMBuiltin",
        "s_tir.CompactBufferAllocation",
    ),
    "a size left to run time": (case("a: T.handle, b: T.handle", LOCAL, GPU), "", "s_tir.CompactBufferAllocation"),
}


@pytest.mark.parametrize("name", NOT_THE_FAILING_ONE)
def test_the_pass_that_did_not_keep_what_a_later_one_goes_by_is_named(real: ForkExecutor, name: str) -> None:
    given, failing, guilty = NOT_THE_FAILING_ONE[name]
    (seen,) = real.run([given], count=False)
    assert (seen.pass_name, seen.culprit) == (failing, guilty), seen.message
    assert seen.origin is not None and seen.origin.check == NOT_KEPT
    (finding,) = judged(make_oracles(ORACLES), given, seen)
    assert finding.parts[0] == guilty.partition(".")[2]
    assert bisection(finding.signature, seen, None).guilty == guilty


BESIDE = """
n = T.int32()
A = T.match_buffer(a, (8, n))
B = T.match_buffer(b, (8, n))
C = T.sblock_alloc_buffer((8, 64), scope="local")
for i, j in T.grid(8, n):
    with T.sblock("fill"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj]
for i, j in T.grid(8, n):
    with T.sblock("take"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = C[vi, vj]
for i in range(4):
    with T.sblock("equal"):
        vi = T.axis.spatial(4, i)
        Z[vi] = X[vi] == Y[vi]
"""
BOOLS = 'a: T.handle, b: T.handle, X: T.Buffer((4,), "bool"), Y: T.Buffer((4,), "bool"), Z: T.Buffer((4,), "bool")'


def test_who_did_not_keep_it_is_not_blamed_for_what_fails_without_it_too(real: ForkExecutor) -> None:
    """LLVM's verifier refuses the comparison of truth values."""
    (seen,) = real.run([case(BOOLS, BESIDE)], count=False)
    assert "LLVM module verification failed" in seen.message
    assert (seen.culprit, seen.origin) == ("", None)


CAST = """
n = T.int64()
A = T.match_buffer(a, (n, 5))
B = T.match_buffer(b, (n, 5))
for i, j in T.grid(T.Cast("uint8", n), T.int64(5)):
    with T.sblock("copy"):
        vi = T.axis.spatial(n, T.Cast("int64", i))
        vj = T.axis.spatial(T.int64(5), j)
        B[vi, vj] = A[vi, vj]
"""


def test_who_leaves_ill_typed_ir_is_not_blamed_for_what_fails_without_it_too(real: ForkExecutor) -> None:
    """The schedule refuses the axis, which is bound to a cast, be the cast of the right type or not."""
    narrowing = PassSpec("tirx.ForceNarrowIndexToInt32"), PassSpec("s_tir.DefaultGPUSchedule")
    given = replace(case("a: T.handle, b: T.handle", CAST, GPU), passes=narrowing)
    (seen,) = real.run([given], count=False)
    assert "required to have an affine binding" in seen.message
    assert (seen.culprit, seen.origin) == ("DefaultGPUSchedule", None)
    walk = ask_walk(real.call, given, Limits(seconds=10.0))
    assert walk is not None and walk.change is Change.ILL_TYPED
    assert bisection("s", seen, walk).guilty == "DefaultGPUSchedule"


SUM = """
for o in range(9):
    for i in {loop}(4):
        with T.sblock("add"):
            v0 = T.axis.spatial(5, (o * 4 + i) // 7)
            v1 = T.axis.spatial(7, (o * 4 + i) % 7)
            T.where(o * 4 + i < 35)
            T.reads(A[v0, v1])
            T.writes(B[v0, v1])
            B[v0, v1] = A[v0, v1] + 1
"""
GRID = 'A: T.Buffer((5, 7), "int32"), B: T.Buffer((5, 7), "int32")'


def cached_twice(given: Case) -> dict[str, object]:
    """A trace of which the last call leaves out the condition under which the loops run."""
    schedule = tvm_api.s_tir.Schedule(tvm_api.load_ir(given.ir), debug_mask=0)
    add = schedule.get_sblock("add")
    schedule.compute_at(schedule.cache_read(add, 0, "global"), schedule.get_loops(add)[-1], preserve_unit_loops=True)
    schedule.cache_read(add, 0, "global")
    return {HELD: {"trace": str(tvm_api.tvm.ir.save_json(schedule.trace.as_json())), "calls": []}}


@pytest.mark.parametrize("loop", ["T.vectorized", "T.serial"])
def test_a_value_that_is_due_to_a_pass_is_not_told_of_a_primitive(real: ForkExecutor, loop: str) -> None:
    """VectorizeLoop gives all lanes one copy of what is cached in the loop; of serial loops the values are right."""
    given = case(GRID, SUM.format(loop=loop))
    look = look_again(real, PROBE, cached_twice(given), baseline_case(given, LEVELS))
    assert look.findings == (), look.word


ROUNDED = """
for i in range(8):
    rounded: T.let[T.float32] = T.Cast("float32", T.Cast("bfloat16", A[i]))
    B[i] = rounded
"""


def test_what_two_passes_leave_to_code_generation_is_blamed_on_the_first(real: ForkExecutor) -> None:
    """BF16StorageLegalize takes BF16ComputeLegalize's word that no cast is left to it."""
    (seen,) = real.run([case('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', ROUNDED)], count=False)
    assert "storaged lowered first" in seen.message
    assert (seen.stage, seen.culprit) == (Stage.BUILD, "tirx.BF16ComputeLegalize")


VECTORISED = """
t = T.sblock_alloc_buffer((2,), "bfloat16")
for i in range(3):
    for j in T.vectorized(2):
        with T.sblock("a"):
            k, x = T.axis.remap("SS", [i, j])
            T.reads(A[k, x])
            T.writes(t[x])
            t[x] = A[k, x]
        with T.sblock("b"):
            y = T.axis.spatial(2, j)
            T.reads(t[y])
            T.writes(B[y])
            B[y] = T.Cast("float32", t[y])
"""


def test_of_passes_between_which_nothing_can_be_interpreted_the_one_with_a_switch_is_tried(real: ForkExecutor) -> None:
    """Where bfloat16 becomes float32, VectorizeLoop gives all lanes one copy of what is in the loop."""
    given = case('A: T.Buffer((3, 2), "bfloat16"), B: T.Buffer((2,), "float32")', VECTORISED)
    (seen,) = real.run([replace(given, input_seed=4010580845)], count=False)
    assert seen.results is not None
    assert (seen.results.blame, seen.results.guilty) == ("optimised", "VectorizeLoop")


LOADED = """
for i in range(8):
    loaded: T.let[T.float32] = T.Cast("float32", A[i])
    B[i] = loaded
"""
STORED = """
for i in range(8):
    B[i] = T.Cast("float32", A[i])
"""


def test_what_a_pass_leaves_is_one_cause_be_it_refused_later_or_another_value(real: ForkExecutor) -> None:
    (seen,) = real.run([case('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', ROUNDED)], count=False)
    refused = cause_of("ice-on-valid", seen, named_by(seen))
    assert refused is not None
    small = 'A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "float32")'
    walk = ask_walk(real.call, case(small, LOADED))
    assert walk is not None
    (guilty,) = walk.suspects
    assert refused == cause_of("wrong-code", wrong("value", "both"), guilty, deed=walk.deed)
    stored = ask_walk(real.call, case(small, STORED))
    assert stored is not None
    assert not stored.suspects


KEPT = """
t = T.sblock_alloc_buffer((8,), "{dtype}")
for i in range(8):
    t[i] = T.Cast("{dtype}", A[i])
for i in range(8):
    kept: T.let[T.float32] = T.Cast("float32", t[i])
    B[i] = kept
"""
NARROW = """
for i in range(8):
    narrow: T.let[T.bfloat16] = T.Cast("bfloat16", A[i])
    B[i] = T.Cast("float32", narrow + narrow)
"""


def test_what_legalisers_leave_is_one_cause_be_it_refused_by_a_verifier_or_where_it_is_left(real: ForkExecutor) -> None:
    bodies = (ROUNDED, KEPT.format(dtype="bfloat16"), KEPT.format(dtype="float8_e4m3fn"), NARROW)
    given = [case('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', body) for body in bodies]
    seen = real.run(given, count=False)
    assert {one.exit for one in seen} == {Exit.REJECTED}
    assert len({one.pass_name for one in seen}) > 2
    causes = {cause_of("ice-on-valid", one, named_by(one)) for one in seen}
    assert [str(cause) for cause in causes] == ["BF16ComputeLegalize: leftover in Bind"]


COUNTED = """
N = T.alloc_buffer((), "int32")
N[()] = A[0]
for i in T.thread_binding(N[()] + 1, thread="blockIdx.x"):
    for j in T.thread_binding(32, thread="threadIdx.x"):
        B[j] = A[j] + N[()]
"""


def test_threads_that_memory_counts_are_lost_where_host_and_device_part(real: ForkExecutor) -> None:
    """FlattenBuffer leaves the old count in the thread's domain, which nobody reads."""
    ints = 'A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")'
    (seen,) = real.run([case(ints, COUNTED, GPU)], count=False)
    assert (seen.pass_name, seen.culprit) == ("tirx.MakePackedAPI", "tirx.SplitHostDevice")


REFUSED = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: Check failed: (it) is false: x is 3", "a.Later")
UNDEFINED = replace(REFUSED, message="InternalError: variable x has been used before definition!")


@pytest.mark.parametrize(
    ("seen", "without", "counts"),
    [
        (REFUSED, {"built": True}, True),
        (REFUSED, {"refused": ("a.Later", "InternalError: Check failed: (it) is false: x is <n>")}, False),
        (REFUSED, {"refused": ("a.Later", "InternalError: other")}, True),
        (REFUSED, {"refused": ("a.Between", "InternalError: other")}, False),
        (UNDEFINED, {"refused": ("a.Between", "InternalError: other")}, True),
        (REFUSED, None, False),
        (UNDEFINED, None, True),
    ],
    ids=["all is well", "the same", "another", "one before it", "about a definition", "a death", "a death, definition"],
)
def test_ill_formed_ir_is_blamed_only_for_what_it_brings_about(
    seen: Observation, without: dict[str, object] | None, counts: bool
) -> None:
    def call(job: str, item: Mapping[str, Any], limits: Limits) -> tuple[list[dict[str, Any]], Observation | None]:
        assert Case.from_json(item["case"]).config.disabled_passes == ("a.Maker",)
        return ([], Observation(Exit.CRASH, Stage.PASSES)) if without is None else ([without], None)

    assert concerns(call, Case("{}"), "a.Maker", seen, Limits(), 0) is counts


MANY_TIMES = """
T_1 = T.alloc_buffer((8,))
U = T.alloc_buffer((8,))
for i in range(8):
    T_1[i] = A[i] + T.float32(1)
for j in range(2000):
    for i in range(8):
        U[i] = T_1[i] * T.float32(2)
for i in range(8):
    B[i] = U[i]
"""


def test_what_takes_many_steps_shows_each_time_that_it_is_looked_at(real: ForkExecutor) -> None:
    """StorageRewrite has U in the place of T. What is over the step budget is compared with the baseline build."""
    given = case('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', MANY_TIMES)
    for _ in range(2):
        (seen,) = real.run([given], count=False)
        assert seen.results is not None
        assert (seen.results.blame, seen.results.guilty) == ("optimised", "StorageRewrite")
