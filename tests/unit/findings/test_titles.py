"""Titles of issues of programs: what they say, and what they leave out to have at most 80 characters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.subjects import OFF, SCRIPT, frames, subject, wrong
from tzerlike.core.observation import NOT_KEPT, Exit, Observation, Offence, Stage
from tzerlike.core.results import Rejection
from tzerlike.findings.issue.headline import headline
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.titles import title


def test_a_title_says_of_which_dtypes_the_indices_of_a_buffer_are() -> None:
    said = (
        "Schedule.transform_layout fails: Buffer index T.int64(1) has dtype int64, but previous index for the same "
        "buffer access used index type int32"
    )
    assert title("TIR", said) == "[Bug][TIR] Schedule.transform_layout fails on indices of int32 and int64"


def test_a_title_says_which_buffer_is_missing_from_a_signature() -> None:
    said = (
        'LowerCrossThreadReduction fails: The buffer "w5" is written in the block but is not in the block\'s signature '
        "nor is it covered by a match_buffer"
    )
    assert title("TIR", said) == "[Bug][TIR] LowerCrossThreadReduction: w5 is not in its block's signature"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("InternalError: Check failed: (a && (b)) is false: it is too large", "it is too large"),
        ("InternalError: Check failed: (a == b) is false: ", "check a == b"),
        ("InternalError: Check failed: a == b (4 vs. 3) : too many", "too many"),
        ("ValueError: no", "no"),
        ("InternalError: Check failed: (allow_append_) is false: 0x555556605470 local", "check allow_append_"),
    ],
)
def test_a_title_has_the_words_of_a_check_before_its_condition(message: str, words: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.BUILD, message, "tirx.FlattenBuffer", rejection=Rejection("internal-error"))
    assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] FlattenBuffer fails: {words}"


@pytest.mark.parametrize(
    ("how", "message", "told"),
    [
        (
            "the parser raises",
            "error: f() no\nerror: thread_binding() got an unexpected keyword argument 'unroll'\n --> <str>:11:32",
            "TVMScript is not parsed: thread_binding() has no argument 'unroll'",
        ),
        (
            "the parser raises",
            "types\nerror: Incompatible types\n --> <str>:9:9\n   |  \n 9 |          B[A] = 0\n   |          ^^^^^^^^",
            "TVMScript is not parsed back: B[A] = 0",
        ),
        (
            "the parser raises",
            f"no\nerror: no\n --> <str>:9:9\n 9 |  f({50 * '1'})\n   |  {53 * '^'}",
            "TVMScript is not parsed back: no",
        ),
        (
            "the parser raises",
            f"no\nerror: Check failed: (a && b) is false: mismatched types\n 9 |  f({50 * '1'})\n   |  {53 * '^'}",
            "TVMScript is not parsed back: mismatched types",
        ),
        (
            "the printer raises",
            "InternalError: Check failed: fb->value != <n> (<n> vs. <n>) : Divide by zero",
            "TVMScript is not printed: Divide by zero",
        ),
        (
            "the printer raises",
            'Error: Check failed: (a.ty()) is false: T.Cast("float32x8", T.Ramp(0, 1, 8) * T.Broadcast(1, 8) + T.Ram',
            "TVMScript is not printed: T.Cast(...)",
        ),
        (
            "another program comes back",
            "dtype: int<n> becomes\n<root>.body.value.ty.dtype: int32\n<root>.body.value.ty.dtype: ",
            "TVMScript does not round-trip: dtype int32 becomes void",
        ),
        (
            "another program comes back",
            "dtype: int<n> becomes int<n>\n<root>.body.loop_var.ty.dtype: int16\n<root>.body.loop_var.ty.dtype: int32",
            "TVMScript round trip: loop variable's dtype int16 becomes int32",
        ),
    ],
)
def test_a_title_says_what_does_not_come_back(how: str, message: str, told: str) -> None:
    seen = Observation(Exit.OK, Stage.TEXT, message, how)
    assert headline(subject("ice-on-valid", seen, ("roundtrip", how, "x"))) == f"[Bug][TIR] {told}"


@pytest.mark.parametrize(
    ("shape", "strides", "words"),
    [
        ("T.int64(1),", "1,", "raises InternalError on int64 shape and int32 strides"),
        ("2, 4", "T.int64(4), T.int64(1)", "raises InternalError on int32 shape and int64 strides"),
        ("2, 4", "4, 1", "fails: check arg.ty() == value.ty()"),
        ("2, T.int64(4)", "4, 1", "fails: check arg.ty() == value.ty()"),
    ],
)
def test_a_title_says_where_shape_and_strides_differ(shape: str, strides: str, words: str) -> None:
    seen = Observation(
        Exit.REJECTED,
        Stage.BUILD,
        "InternalError: Check failed: (arg.ty() == value.ty()) is false:",
        "tirx.MakePackedAPI",
    )
    script = f'def main(A: T.Buffer(({shape}), "float32", strides=({strides}))):\n    T.evaluate(0)\n'
    told = replace(subject("ice-on-valid", seen), script=script)
    assert headline(told) == f"[Bug][TIR] MakePackedAPI {words}"


def test_a_literal_that_only_its_own_dtype_holds_is_said_to_be_of_that() -> None:
    how = "the parser raises"
    said = "error: Check failed: (a <= b) is false: Literal value 1e+39 exceeds maximum of float32\n"
    said += f" 9 |  f({50 * '1'})\n   |  {53 * '^'}"
    told = subject("ice-on-valid", Observation(Exit.OK, Stage.TEXT, f"no\n{said}", how), ("roundtrip", how, "x"))
    titled = "[Bug][TIR] TVMScript is not parsed back: {} exceeds maximum of float32"
    assert headline(replace(told, script="A[0] = T.float64(1e39)")) == titled.format("T.float64")
    assert headline(replace(told, script="A[0] = T.float32(1e39)")) == titled.format("Literal")


@pytest.mark.parametrize(
    ("shape", "piece", "said"),
    [
        ("(1,)", "A ^ T.uint64(1)", "A[0] of shape (1,) is printed as A"),
        ("(1,)", "B[2] = A", "A[0] of shape (1,) is printed as A"),
        ("(1,)", "A = B[2]", "A = B[2] for A of shape (1,)"),
        ("(1,)", "A[0:2] = B", "A[0:2] = B"),
        ("(1,)", "A: T.int32", "A: T.int32"),
        ("(2,)", "A ^ B", "A ^ B"),
    ],
)
def test_a_buffer_that_is_printed_as_a_name_is_told_with_its_shape(shape: str, piece: str, said: str) -> None:
    message = f"no\nerror: no\n --> <str>:9:9\n 9 |  {piece}\n   |  {len(piece) * '^'}"
    seen = Observation(Exit.OK, Stage.TEXT, message, "the parser raises")
    told = replace(subject("ice-on-valid", seen, ("roundtrip", "x", "x")), script=f'A: T.Buffer({shape}, "uint64")')
    assert headline(told) == f"[Bug][TIR] TVMScript is not parsed back: {said}"
    assert ("TVM prints `A[0]` as `A`, since `A` has one element." in report(told)) == (said.endswith(("A", "(1,)")))


def test_a_buffer_that_is_printed_as_a_name_is_found_in_a_long_text() -> None:
    said = "Check failed: (data_[idx].second != 0) is false: Attribute TCallEffectKind has not been registered"
    lines = [
        '8 |  def main(A: T.Buffer((1,), "float32"), B: T.Buffer((8,), "float32")):',
        "9 |  B[A.y] = T.float32(0)",
        "10 |  A = A + B[1]",
    ]
    message = "\n".join(("no", f"error: {said} for relax.add", *(f"{line}\n   |  {'^' * 80}" for line in lines)))
    seen = Observation(Exit.OK, Stage.TEXT, message, "the parser raises")
    long = replace(subject("ice-on-valid", seen, ("roundtrip", "x", "x")), script='A: T.Buffer((1,), "float32")')
    assert headline(long) == "[Bug][TIR] TVMScript is not parsed back: A[0] of shape (1,) is printed as A"
    assert headline(replace(long, script="")) == "[Bug][TIR] TVMScript does not round-trip"


def test_the_guilty_pass_is_in_the_title_where_what_it_left_is_too_long() -> None:
    where = "S, a view of A_global_global with strides that it does not have"
    origin = Offence(NOT_KEPT, "s_tir.CompactBufferAllocation", "view", where)
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "s_tir.LowerMatchBuffer", origin=origin)
    told = "[Bug][TIR] CompactBufferAllocation leaves IR that LowerMatchBuffer fails on"
    assert headline(subject("ice-on-valid", seen)) == told


def test_an_ill_formed_program_is_told_by_what_the_next_pass_says() -> None:
    origin = Offence(NOT_KEPT, "s_tir.CompactBufferAllocation", "ill-formed", "")
    for message, told in (
        ("Check failed: (!count(v)) is false: variable i has been used before definition!", "leaves i undefined"),
        ("In PrimFunc main variables (x, y) are used, but are not passed in as API arguments", "leaves x undefined"),
        ("Check failed: (a) is false: no", "leaves ill-formed IR: no"),
    ):
        seen = Observation(Exit.REJECTED, Stage.BUILD, f"InternalError: {message}", "tirx.MakePackedAPI", origin=origin)
        assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] CompactBufferAllocation {told}"


def test_a_title_says_that_a_buffer_is_used_too_early_where_its_name_is_long() -> None:
    origin = Offence(NOT_KEPT, "tirx.BF16ComputeLegalize", "ill-formed", "")
    for name, told in (("A", "a use of A before its declaration"), ("A" * 20, "a buffer used before its declaration")):
        message = (
            f"InternalError: Check failed: (x) is false: Load/Store of buffer {name} occurred before its declaration."
        )
        seen = Observation(Exit.REJECTED, Stage.BUILD, message, "tirx.StorageRewrite", origin=origin)
        assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] BF16ComputeLegalize leaves {told}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "Check failed: it->second.level < scope_.size() (1 vs. 1) :  buf=b0",
            "FlattenBuffer fails: check it->second.level < scope_.size() (1 vs. 1)",
        ),
        (
            (
                "Check failed: shape.size() == input_indices.size() (1 vs. 2) : BufferType is 1-dimensional, cannot be "
                "indexed with the 2-dimensional indices provided."
            ),
            "FlattenBuffer fails: 2 indices of a 1-dimensional buffer",
        ),
    ],
)
def test_a_check_is_told_by_words_that_say_something(message: str, told: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.BUILD, f"InternalError: {message}", "tirx.FlattenBuffer")
    assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] {told}"


def test_a_title_ends_in_no_word_that_asks_for_another() -> None:
    where = "a_very_long_name_of_a_hint of the statement at the end of the program, which it should not be"
    origin = Offence(NOT_KEPT, "s_tir.PlanAndUpdateBufferAllocationLocation", "meaning", where)
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "s_tir.CompactBufferAllocation", origin=origin)
    told = headline(subject("ice-on-valid", seen))
    assert told == "[Bug][TIR] PlanAndUpdateBufferAllocationLocation leaves wrong IR"


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("llvm.abs of int32, bool typed int64", "NarrowDataType leaves ill-typed IR: llvm.abs(int32, bool) -> int64"),
        (
            "tirx.get_active_lane_mask of int32, int32 typed uint1x6",
            "NarrowDataType leaves IR with get_active_lane_mask(...) -> uint1x6",
        ),
        ("a buffer laid out by int32x4", "NarrowDataType leaves a buffer sized by int32x4"),
        ("Add of int32 and int64", "NarrowDataType leaves ill-typed IR: Add of int32 and int64"),
    ],
)
def test_ill_typed_ir_is_told_as_people_write_types(where: str, told: str) -> None:
    seen = Observation(Exit.OK, Stage.DONE, offences=(Offence("types", "tirx.NarrowDataType", "call", where),))
    ill_typed = subject("invalid-ir", seen, ("ill-typed", "NarrowDataType", "call"))
    assert headline(ill_typed) == f"[Bug][TIR] {told}"


def test_a_division_that_no_execution_makes_is_told_as_such() -> None:
    message = "InternalError: Check failed: pb->value != 0 (0 vs. 0) : Divide by zero"
    for support, told in (("defined", "division by zero in TVM's own arithmetic"), ("builds", "Divide by zero")):
        rejection = Rejection("internal-error", True, support)
        seen = Observation(Exit.REJECTED, Stage.BUILD, message, "s_tir.StmtSimplify", rejection=rejection)
        assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] StmtSimplify fails: {told}"
    defined = Rejection("internal-error", True, "defined")
    of_floats = replace(seen, message=message.replace("pb", "fb"), rejection=defined)
    told = "[Bug][TIR] StmtSimplify fails: division of floats by zero"
    assert headline(subject("ice-on-valid", of_floats)) == told
    cast = "InternalError: Check failed: (value >= 0) is false: cannot make uint from negative value -1"
    for support, told in (
        ("defined", "it makes an unsigned constant of -1"),
        ("builds", "cannot make uint from negative value -1"),
    ):
        rejection = Rejection("internal-error", True, support)
        seen = Observation(Exit.REJECTED, Stage.BUILD, cast, "s_tir.StmtSimplify", rejection=rejection)
        assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] StmtSimplify fails: {told}"


def test_a_check_of_a_constructor_tells_what_cannot_be_made() -> None:
    message = "InternalError: Check failed: (value.ty() == var->ty.as_or_throw<PrimType>()) is false: "
    seen = Observation(
        Exit.REJECTED, Stage.BUILD, message, "tirx.P", backtrace=frames("tvm::prim::Let::Let(x) at src/ir/expr.cc:7")
    )
    assert headline(subject("ice-on-valid", seen)) == "[Bug][TIR] P fails on Let: check value.ty() == var->ty"
    other = replace(seen, backtrace=frames("tvm::tirx::Binder::BindScalar(x) at src/tirx/transform/binder.cc:71"))
    assert headline(subject("ice-on-valid", other)) == "[Bug][TIR] P fails in BindScalar: check value.ty() == var->ty"
    long = replace(other, pass_name="tirx.MakePackedAPIOfFunctions")
    assert headline(subject("ice-on-valid", long)).endswith("Functions fails: check value.ty() == var->ty")
    longer = replace(other, pass_name="tirx.MakePackedAPIOfVeryVeryManyFunctions")
    assert headline(subject("ice-on-valid", longer)).endswith("Functions: check value.ty() == var->ty")


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ("(2, 2147483647)", "a buffer of shape (2, 2147483647)"),
        ("(1, 4, T.min(64, n0 * 2))", "an extent of T.min(64, n0 * 2)"),
        ("(1, 1, T.min(5, T.max(n0, 1)))", "an extent of T.min(5, T.max(n0, 1))"),
        ("(n * 858993459 + 429496729, 4)", "an extent of n * 858993459 + 429496729"),
        ("(T.min(64, n0 * 2), T.min(64, n0 * 2))", "IR with bad extents of p0_global"),
    ],
)
def test_a_shape_is_told_without_the_name_of_its_buffer_where_it_is_short(shape: str, told: str) -> None:
    origin = Offence(NOT_KEPT, "s_tir.CompactBufferAllocation", "shape", f"p0_global of shape {shape}")
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "s_tir.FlattenBuffer", origin=origin)
    assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] CompactBufferAllocation leaves {told}"


def test_a_failed_proof_is_told_without_its_expressions() -> None:
    said = "The padding factor (T.int64(2) + A[2]) * T.int64(2) is not divisible by T.int64(2) + A[2] for the split x"
    message = f"InternalError: Check failed: (CanProveDivisible(info.padding_factor, divisor)) is false: {said}"
    seen = Observation(Exit.REJECTED, Stage.BUILD, message, "s_tir.CompactBufferAllocation")
    told = "[Bug][TIR] CompactBufferAllocation fails: the padding factor is not divisible"
    assert headline(subject("ice-on-valid", seen)) == told


def test_wrong_code_of_a_pass_with_a_long_name_is_told_with_its_values() -> None:
    seen = wrong("optimised")
    assert seen.results is not None
    seen = replace(seen, results=replace(seen.results, guilty="PlanAndUpdateBufferAllocationLocation"))
    told = "[Bug][TIR] Wrong code (PlanAndUpdateBufferAllocationLocation): 8, not 7"
    assert headline(subject("wrong-code", seen)) == told


@pytest.mark.parametrize(("extent", "where"), [("n", " on vthread.x of symbolic extent"), ("2", "")])
def test_a_crash_of_a_program_with_as_many_virtual_threads_as_a_name_says_tells_it(extent: str, where: str) -> None:
    seen = Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "s_tir.InjectVirtualThread", 11)
    loop = f'    for i in T.thread_binding({extent}, thread="vthread.x"):\n'
    told = replace(subject("crash", seen), script=SCRIPT + loop)
    assert headline(told) == f"[Bug][TIR] InjectVirtualThread crashes (SIGSEGV){where}"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("    A = T.sblock_alloc_buffer((), 'bool')\n", "P overlooks that a block allocates A"),
        ("", "P"),
    ],
)
def test_a_buffer_that_a_block_allocates_need_not_be_in_its_signature(made: str, told: str) -> None:
    refusal = 'ValueError: The buffer "A" is written in the block but is not in the block\'s signature'
    seen = Observation(Exit.REJECTED, Stage.BUILD, refusal, "s_tir.P")
    of = replace(subject("ice-on-valid", seen), script="def main():\n" + made)
    assert headline(of).startswith(f"[Bug][TIR] {told}")
    assert ("overlooks" in headline(of)) == ("The block allocates `A` itself" in report(of)) == bool(made)


def test_a_check_without_words_tells_what_is_rare_in_the_program() -> None:
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: Check failed: (p.has_value()) is false: ")
    told = replace(subject("ice-on-valid", seen), script='def main(A: T.Buffer((1,), "int8x4")):\n')
    assert headline(told) == "[Bug][TIR] Code generation fails on int8x4: check p.has_value()"


def test_a_crash_without_names_tells_what_is_rare_in_the_program() -> None:
    seen = Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", signal=11)
    told = replace(subject("crash", seen), script=SCRIPT + "    T.Shuffle(1)\n")
    assert headline(told) == "[Bug][TIR] Codegen crashes (SIGSEGV): program with T.Shuffle" or headline(told) == (
        "[Bug][TIR] Code generation crashes (SIGSEGV): program with T.Shuffle"
    )
    named = replace(seen, backtrace=frames("tvm::codegen::CodeGenLLVM::Verify()"))
    assert headline(subject("crash", named)).endswith("in codegen::CodeGenLLVM::Verify")


@pytest.mark.parametrize(
    ("functions", "where"),
    [
        (("lib.so+0x30", "UnchangedOr<Any> tvm::ObjectMutator::DispatchNode<M, tvm::prim::RampNode>(x)"), " on Ramp"),
        (("tvm::f()", "UnchangedOr<Any> tvm::ObjectMutator::DispatchNode<M, tvm::prim::RampNode>(x)"), ""),
        (("lib.so+0x30", "tvm::g()"), ""),
    ],
)
def test_a_crash_in_a_visitor_without_a_name_tells_what_it_visited(functions: tuple[str, ...], where: str) -> None:
    seen = Observation(Exit.CRASH, Stage.BUILD, "", "tirx.P", 11, backtrace=frames(*functions))
    assert headline(subject("crash", replace(seen, message="SIGSEGV"))) == f"[Bug][TIR] P crashes (SIGSEGV){where}"


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("range(2147483646)", " on an extent of 2147483646"),
        ("T.grid(8, T.int64(1000000), 2)", " on an extent of 1000000"),
    ],
)
def test_lack_of_memory_is_told_with_the_extent_that_may_be_why(loop: str, told: str) -> None:
    seen = Observation(Exit.OOM, Stage.BUILD, "", "tirx.UnrollLoop")
    said = replace(subject("oom", seen), script=f"def main():\n    for i in {loop}:\n        A[99999999] = 2\n")
    assert headline(said) == f"[Bug][TIR] UnrollLoop runs out of memory{told}"
    assert headline(subject("oom", seen)) == "[Bug][TIR] UnrollLoop runs out of memory"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('identifier "x" is undefined', 'CUDA source does not compile: identifier "x" is undefined'),
        (
            "more than one instance of overloaded function min matches the argument list:",
            "CUDA source does not compile: call of min is ambiguous",
        ),
        (
            "no suitable user-defined conversion from ushort2 to double2 exists",
            "CUDA source does not compile: no conversion of ushort2 to double2",
        ),
        ("x" * 99, "CUDA source does not compile"),
    ],
)
def test_what_a_cuda_compiler_refuses_is_no_failed_check(said: str, told: str) -> None:
    message = f"SourceRefused: the CUDA compiler says error: {said}\nkernels.cu(1): error: no"
    seen = Observation(Exit.REJECTED, Stage.COMPILE_DEVICE, message, rejection=Rejection("internal-error"))
    assert headline(subject("ice-on-valid", seen)) == f"[Bug][TIR] {told}"


def test_bad_cuda_source_is_told_with_what_it_is_generated_for() -> None:
    refused = "SourceRefused: the CUDA compiler says error: expression must be an lvalue or a function designator"
    seen = Observation(Exit.REJECTED, Stage.COMPILE_DEVICE, refused)
    told = replace(subject("ice-on-valid", seen), script=SCRIPT + '    T.reinterpret("int32x4", T.float32(0))\n')
    assert headline(told) == "[Bug][TIR] Bad CUDA source for T.reinterpret: expression must be an lvalue"
    undefined = (
        'SourceRefused: the CUDA compiler says error: identifier "TVMFFIErrorSetRaisedFromCStrParts" is undefined'
    )
    told = replace(told, seen=replace(seen, message=undefined), script=SCRIPT + '    assert A[0] > 0, "no"\n')
    assert headline(told) == "[Bug][TIR] Bad CUDA source for assert: no TVMFFIErrorSetRaisedFromCStrParts"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "RenormalizeSplitPattern fails: Trying to update var 'v' with a different const bound: original=1, new=0",
            "RenormalizeSplitPattern: var updated with different bounds",
        ),
        ("P fails: the order of the operands is wrong. It is " + "very " * 20, "P: the order of the operands is wrong"),
        ("P fails: one dtype is int32, but " + "the other " * 9, "P: one dtype is int32"),
        ("P leaves IR that Q fails on: it is ill-formed", "P leaves ill-formed IR"),
        (
            "ToMixedPrecision leaves an ill-formed module: DataflowVar lv is not defined.",
            "ToMixedPrecision leaves DataflowVar lv undefined",
        ),
        (
            "P leaves IR that " + "Q" * 50 + " fails on: a buffer of a negative extent",
            "P leaves IR with a buffer of a negative extent",
        ),
        (
            'P leaves IR that code generation fails on: T.Cast("float32", T.Cast("bfloat16", T.Cast("float32", i)))',
            "P leaves IR with a cast to bfloat16 and back",
        ),
        (
            'P leaves IR that code generation fails on: T.Cast("float8_e4m3fn", A[0] + B[0] * T.float32(2.0))',
            "P leaves IR with a cast to float8_e4m3fn",
        ),
        (
            'Q fails: unknown intrinsic ir.Op(span=None, name="tirx.atan", x=(), support_level=10)',
            "Q fails: unknown intrinsic tirx.atan",
        ),
        ("P fails: check " + "a.b() == c &&" * 9, "P fails a check in tirx::P::Visit"),
        ("Wrong code (P): " + "a" * 42 + "[0, 0, 0, 0] is 1, not 2", "Wrong code (P): 1, not 2"),
        (
            f"P fails on nd: Dimension of u[3] ({'n * m + ' * 2}2) must equal dimension of a[3] ({'n * m + ' * 2}2).",
            f"P fails on nd: {'n * m + ' * 2}2 is not found equal to itself",
        ),
    ],
)
def test_a_title_that_is_too_long_says_less_and_does_not_break_off(said: str, told: str) -> None:
    made = title("TIR", said, "P fails a check in tirx::P::Visit")
    assert len(made) <= 80
    assert not made.endswith("...")
    assert made == f"[Bug][TIR] {told}"


def test_numbers_that_are_close_are_told_in_as_many_digits_as_it_takes() -> None:
    close = replace(OFF, dtype="float64", got="-2.8639982299023465", expected="-2.8639981215112127", bound="1.1e-11")
    assert headline(subject("wrong-code", wrong(difference=close))).endswith("B[0, 2] is -2.8639982, not -2.8639981")


NESTED = """\
def main(A: T.Buffer((1,), "int32")):
    with T.sblock("root"):
        with T.sblock("row"):
            {}with T.sblock("stage"):
                A[0] = 1
"""


TWO_IN_A_LOOP = """\
def main(A: T.Buffer((2,), "int32")):
    for i in range(2):
        with T.sblock("a"):
            A[i] = 1
        with T.sblock("b"):
            A[i] = 2
"""


@pytest.mark.parametrize(
    ("script", "on"),
    [
        (NESTED.format(""), " on a nested block"),
        (NESTED.format("with T.init():\n             "), " on a block in T.init()"),
        (NESTED.replace('        with T.sblock("row"):\n', "").format(""), " on a block under no loop"),
        (
            NESTED.replace('with T.sblock("row"):', "B = T.match_buffer(A)").format(""),
            " on a block with a match_buffer",
        ),
        (NESTED.replace('with T.sblock("row"):', "for i in range(2):").format(""), ""),
        (TWO_IN_A_LOOP, " on a loop over two blocks"),
        (
            TWO_IN_A_LOOP.replace(
                '        with T.sblock("b")', '        for j in range(2):\n            with T.sblock("b")'
            ),
            "",
        ),
        ("def main():\n    T.evaluate(0)\n", ""),
    ],
)
def test_the_title_of_a_primitive_says_what_block_is_unusual(script: str, on: str) -> None:
    seen = Observation(Exit.CRASH, Stage.MUTATE, message="SIGSEGV in Schedule.reindex", signal=11, pass_name="blocks")
    dies = replace(subject("crash", seen, ("mutate", "Schedule.reindex", "SIGSEGV")), script=script)
    assert headline(dies) == f"[Bug][TIR] Schedule.reindex crashes (SIGSEGV){on}"
    said = "InternalError: Check failed: (found) is false:{}"
    for words, told in ((" ", f" fails{on}: check found"), (" no loop", " fails: no loop")):
        seen = Observation(Exit.REJECTED, Stage.MUTATE, said.format(words), "Schedule.reindex")
        assert headline(replace(subject("ice-on-valid", seen), script=script)) == f"[Bug][TIR] reindex{told}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("IndexError: The statement is not found in the state of the schedule that was asked for it", ""),
        ("IndexError: No such statement is in the state. To have one, make one of these statements first", "No such"),
        (f"InternalError: Check failed: ({' && '.join(5 * ['statement'])}) is false:", ""),
    ],
)
def test_a_title_names_the_block_where_what_is_said_is_cut(message: str, told: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.MUTATE, message, "Schedule.reverse_compute_at")
    titled = headline(replace(subject("ice-on-valid", seen), script=NESTED.format("")))
    error = message.partition(":")[0]
    assert titled.startswith(f"[Bug][TIR] reverse_compute_at{': ' + told if told else f' raises {error} on a nested'}")
