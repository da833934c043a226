"""Bugs of TVM 0.27 that have been dropped as excused, undefined or unknown: reported, each in its tier; their like that
is nobody's bug is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER, Finding
from tzerlike.core.observation import ILL_FORMED, Exit, Observation, Offence, Stage
from tzerlike.core.results import Ending, Rejection
from tzerlike.core.stored import stored_case
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.offences import FormWatch
from tzerlike.findings.defining import CANDIDATES, defined_finding, doubtful
from tzerlike.findings.tiers import tiered
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.oracles import judged, make_oracles
from tzerlike.passes.label import Label
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import Compilation
from tzerlike.systems.tvm_api import tirx

DATA = Path(__file__).parents[1] / "data"
ORACLES = ("crash", "inconsistency", "internal-error")


def program(parameters: str, body: str, form: str = "") -> str:
    head = f"# from tvm.script import tirx as T\n@T.prim_func{form}\ndef main({parameters}):\n"
    return head + "\n".join(f"    {line}" for line in body.strip("\n").splitlines()) + "\n"


INTS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
FLOATS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
GUARDED = """
for i in range(8):
    for j in T.unroll(4):
        B[i] = T.if_then_else(j > 0, A[i // j], 0)
"""
FROM_FLOAT8 = 'A: T.Buffer((4,), "float8_e4m3fn"), B: T.Buffer((4,), "float32")'
BIND_FLOAT8 = """
for i in range(4):
    x: T.let[T.float8_e4m3fn] = A[i]
    B[i] = T.Cast("float32", x)
"""
ALIGNED = """
with T.sblock("root"):
    C = T.sblock_alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.sblock("dead"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(T.bool(False))
            T.reads(A[vi, vj])
            T.writes(C[vi, vj])
            T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 1]]})
            C[vi, vj] = A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj]
"""
SQUARES = 'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")'

DROPPED = {
    "a division by zero that nothing computes": (program(INTS, GUARDED), FIRST_TIER, "Divide by zero"),
    "an alignment in a block that is dead": (
        program(SQUARES, ALIGNED, "(s_tir=True)"),
        SECOND_TIER,
        "Index 0 out of bounds",
    ),
    "a cast of a vector to float8": (
        program(
            'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float8_e5m2")',
            'for i in T.vectorized(4):\n    B[i] = T.Cast("float8_e5m2", A[i])',
        ),
        FIRST_TIER,
        "if_then_else can only take scalar condition",
    ),
    "a float8 in a bind": (program(FROM_FLOAT8, BIND_FLOAT8), FIRST_TIER, "StructuralEqual"),
    "a float8 in a let": (
        program(
            FROM_FLOAT8,
            'x = T.Var("x", "float8_e4m3fn")\n'
            'for i in range(4):\n    B[i] = T.Let(T.Cast("float32", x), where={x: A[i]})',
        ),
        FIRST_TIER,
        "value.ty() == var->ty",
    ),
    "zero as another type": (
        program('B: T.Buffer((4,), "float32")', 'B[0] = T.reinterpret("float32", 0)'),
        FIRST_TIER,
        "zero reinterpret shortcut",
    ),
    "a masked store of every second element": (
        program(FLOATS, "T.masked_store(B, A[T.Ramp(0, 1, 4)], T.Ramp(0, 2, 4), T.Broadcast(T.bool(True), 4))"),
        SECOND_TIER,
        "LLVM module verification failed",
    ),
}

NOBODYS = {
    "a division by zero that is computed": program(INTS, GUARDED.replace("j > 0", "j >= 0")),
    "a division by zero where an argument says so": program("n: T.int32, " + INTS, GUARDED.replace("j > 0", "n > 3")),
    "a division by the variable of a loop of one step": program(
        INTS, GUARDED.replace("T.unroll(4)", "T.unroll(1)").replace("j > 0", "i > 8")
    ),
    "an alignment of a dimension that there is not": program(
        SQUARES, ALIGNED.replace("[0, 0, 16, 1]", "[0, 2, 16, 1]"), "(s_tir=True)"
    ),
    "a division by zero beside what the interpreter does not model": program(
        INTS,
        'C = T.decl_buffer((32,), "int8", data=A.data)\n'
        "if T.max(T.uint16(7), T.uint16(1)) > T.truncmod(T.uint16(9), T.uint16(0)):\n    B[0] = A[0]",
    ),
    "an infinity as an integer": program(
        'B: T.Buffer((4,), "uint8")', 'B[0] = T.Cast("uint8", T.Add(T.float32("-inf"), T.float32(1)))'
    ),
    "an element of float8 that there is not": program(FROM_FLOAT8, BIND_FLOAT8.replace("A[i]", "A[i + 1]")),
}


UNDEFINED = """
for i in range(8):
    B[i] = A[i + 1]
for i in T.parallel(4):
    A[0] = A[0] + i
B[3] = T.reinterpret("int32", T.uint32(0)) + B[2]
"""


def found(executor: ForkExecutor, text: str) -> tuple[Finding, int] | None:
    case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    judges = make_oracles(ORACLES)

    def judge(other: Case) -> list[Finding]:
        (seen,) = executor.run([other], count=False)
        return judged(judges, other, seen.sound())

    findings = judge(case)
    return tiered(findings[0], executor, HARNESS, judge) if findings else None


@pytest.mark.parametrize("name", DROPPED)
def test_it_is_reported_in_its_tier(real: ForkExecutor, name: str) -> None:
    text, tier, message = DROPPED[name]
    finding = found(real, text)
    assert finding is not None
    assert (finding[0].kind, finding[1]) == ("ice-on-valid", tier)
    assert message in finding[0].observation.message


@pytest.mark.parametrize("name", NOBODYS)
def test_its_like_that_is_nobodys_bug_is_not(real: ForkExecutor, name: str) -> None:
    assert found(real, NOBODYS[name]) is None


def test_what_both_builds_die_of_is_not_held_against_the_baseline_alone(real: ForkExecutor) -> None:
    (bundle,) = (DATA / "reports").glob("wrong-code-reference-canonicalizeloop-died-*")
    case = stored_case(bundle / "case.json").case
    (seen,) = real.run([case], count=False)
    assert seen.results is not None
    assert (seen.results.baseline.ending, seen.results.optimised.ending) == (Ending.DIED, Ending.DIED)
    (finding,) = judged(make_oracles(("inconsistency",)), case, seen)
    assert finding.signature == bundle.name.rpartition("-")[2], "of bundles that are older"


def test_the_pass_that_makes_ill_formed_ir_is_to_blame_for_the_error_behind_it() -> None:
    case = Case("{}")
    refused, origin = Rejection(Label.INTERNAL_ERROR.value, True, "defined"), Offence(ILL_FORMED, "tirx.Maker", "", "")
    seen = Observation(Exit.REJECTED, Stage.BUILD, "no", "tirx.Victim", rejection=refused, origin=origin)
    (finding,) = judged(make_oracles(("internal-error",)), case, seen)
    assert finding.parts[0] == "Maker"


LAUNCHES = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for k in T.unroll(2):
        for i in T.thread_binding(6, thread="blockIdx.x"):
            B[i] = A[5 - i]
"""


def test_a_pass_of_the_pipeline_that_makes_ill_formed_ir_is_named(real: ForkExecutor) -> None:
    """CommonSubexprElim moves a thread's number out of the launches that define it."""
    target = '{"kind": "cuda", "arch": "sm_90", "host": {"kind": "llvm"}}'
    case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(LAUNCHES))), target=target)
    (seen,) = real.run([case], count=False)
    (finding,) = judged(make_oracles(ORACLES), case, seen)
    assert (finding.kind, finding.parts[0]) == ("ice-on-valid", "CommonSubexprElim")
    assert seen.pass_name != "tirx.CommonSubexprElim"


def test_a_pass_that_makes_ill_formed_ir_is_not_named_where_the_same_fails_without_it(real: ForkExecutor) -> None:
    """CanonicalizeLoop makes a second definition of a variable that a Let in the start of a loop defines."""
    case = Case((DATA / "start_of_a_loop_in_a_let.json").read_text())
    (seen,) = real.run([case], count=False)
    (finding,) = judged(make_oracles(ORACLES), case, seen)
    assert (finding.kind, finding.parts[0]) == ("ice-on-valid", "StorageRewrite")
    assert seen.origin is None


LEFT = """
for _ in T.serial(1, annotations={"pragma_auto_unroll_max_step": 64}):
    for i in range(8):
        if A[i] < 0:
            T.break_loop()
        B[i] = A[i]
"""


def test_a_pass_that_leaves_a_jump_without_its_loop_is_named(real: ForkExecutor) -> None:
    """UnrollLoop does, which TVM's verifiers accept; code generation refuses it."""
    case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(program(INTS, LEFT)))))
    (seen,) = real.run([case], count=False)
    (finding,) = judged(make_oracles(ORACLES), case, seen)
    assert (finding.kind, finding.parts[0]) == ("ice-on-valid", "UnrollLoop")
    assert seen.stage is Stage.BUILD and not seen.pass_name


def test_the_first_pass_that_leaves_ill_formed_ir_is_noted() -> None:
    def twice(func: Any, module: Any, context: Any) -> Any:
        defined = tirx.Bind(tirx.Var("x", "int32"), tirx.IntImm("int32", 1))
        return func.with_body(tirx.SeqStmt([defined, defined, func.body]))

    planted = [tirx.transform.prim_func_pass(f, opt_level=0, name=f"planted.{f.__name__}") for f in (twice, keep)]
    watch = FormWatch()
    module = tvm_api.module_of(tvm_api.parse_script(program(INTS, "B[0] = A[0]")))
    Compilation("llvm", ContextConfig(), [(step.info.name, step) for step in planted], [watch]).lower(module)
    assert watch.maker == "planted.twice"


def keep(func: Any, module: Any, context: Any) -> Any:
    return func


def test_what_is_undefined_elsewhere_in_the_program_does_not_hide_an_error(real: ForkExecutor) -> None:
    case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(program(INTS, UNDEFINED)))))
    (seen,) = real.run([case], count=False)
    assert doubtful(seen)
    judges = make_oracles(ORACLES)
    assert judged(judges, case, seen) == []
    finding, tried = defined_finding(case, seen, real, HARNESS, judges)
    assert finding is not None
    assert 0 < tried <= CANDIDATES
    assert "zero reinterpret shortcut" in finding.observation.message
    assert HARNESS.plain(real, finding.case, printed=True)
