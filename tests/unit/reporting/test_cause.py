"""Which findings have one cause, and which have not; the messages and frames are those of TVM 0.27."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bundles import crashed, program, refused, wrong
from tzerlike.core.observation import Observation, Stage
from tzerlike.reporting.triage.cause import cause_of, failed_check
from tzerlike.tir.shape import shape_of

NARROW = "void tvm::s_tir::Collector::Narrow(const tvm::Region&)"
BIND = "void tvm::sym::TransitiveComparisonAnalyzer::Impl::Bind(const tvm::Var&, const tvm::Range&, bool)"
VISIT = "tvm::ObjectVisitor::Visit(tvm::ffi::AnyView)"
FOLD = "tvm::ffi::Optional<tvm::PrimExpr> tvm::prim::detail::TryConstFold(tvm::PrimExpr, tvm::PrimExpr) [with Op = X]"
CTOR = "tvm::IntImm::IntImm(tvm::PrimType, tvm::ffi::BigInt, tvm::Span)"
SIMPLIFY = "tvm::sym::CanonicalSimplifier::operator()(tvm::PrimExpr const&)"
REWRITE = "tvm::sym::RewriteSimplifier::operator()(tvm::PrimExpr const&)"


@pytest.mark.parametrize(
    ("message", "check"),
    [
        (
            "InternalError: Check failed: (it != accesses_.end()) is false: lv3_red is allocated but not accessed",
            "InternalError: (it != accesses_.end())",
        ),
        (
            "InternalError: Check failed: undefined.size() == 0 (1 vs. 0) : In PrimFunc main variables (v_k,) are used",
            "InternalError: undefined.size() == <n>",
        ),
        (
            "InternalError: Check failed: (f) is false: Cannot find intrinsic declaration: llvm.ctpop",
            "InternalError: (f) llvm.ctpop",
        ),
        (
            "InternalError: Check failed: (o) is false: Binding of v1 as I.Range(0, 4) conflicts with ir.Range(0xf0)",
            "InternalError: (o)",
        ),
        ("InternalError: Do not have a default for tirx.Break", "InternalError: Do not have a default for tirx.Break"),
        ("\n  IndexError: Index 3 out of bounds 2\nmore", "IndexError: Index <n> out of bounds <n>"),
        ("", ""),
    ],
)
def test_the_check_is_told_without_what_varies(message: str, check: str) -> None:
    assert failed_check(message) == check


def ice(pass_name: str, message: str, *functions: str, guilty: str = "") -> object:
    return cause_of("ice-on-valid", refused(pass_name, message, *functions), guilty)


CHECK = "InternalError: Check failed: (found) is false: {} is not accessed"


def test_one_check_in_one_function_of_one_pass_is_one_cause_whatever_the_program_calls_things() -> None:
    assert ice("s_tir.Compact", CHECK.format("p0"), NARROW) == ice("s_tir.Compact", CHECK.format("T_add"), NARROW)


def test_the_guilty_pass_tells_causes_apart() -> None:
    first, other = (ice(name, CHECK.format("a"), NARROW) for name in ("s_tir.Compact", "tirx.StorageRewrite"))
    assert first != other
    blamed = [ice(name, CHECK.format("a"), NARROW, guilty="tirx.Unroll") for name in ("s_tir.Compact", "tirx.Other")]
    assert blamed[0] == blamed[1] != first


def test_code_generation_is_named_as_a_bisection_names_it() -> None:
    seen = replace(refused("", CHECK, NARROW), stage=Stage.BUILD)
    assert cause_of("ice-on-valid", seen) == cause_of("ice-on-valid", seen, "code generation")
    assert cause_of("ice-on-valid", replace(seen, stage=Stage.LOAD)) is None


def test_another_condition_or_function_is_another_cause() -> None:
    first = ice("a.B", CHECK.format("x"), NARROW)
    assert first != ice("a.B", CHECK.replace("found", "lost").format("x"), NARROW)
    assert first != ice("a.B", CHECK.format("x"), BIND)
    assert first != ice("a.B", CHECK.format("x").replace("Internal", "Value"), NARROW)


def test_tvms_own_names_tell_causes_apart() -> None:
    texts = [f"InternalError: Check failed: (f) is false: no intrinsic llvm.{name}" for name in ("ctpop", "abs")]
    assert ice("a.B", texts[0], NARROW) != ice("a.B", texts[1], NARROW)


def test_helpers_count_with_the_class_that_calls_them() -> None:
    """Visitors do not count; below the first method lie helpers that anything may have called."""
    text = "InternalError: Check failed: (pb != 0) is false: Divide by zero"
    assert ice("a.B", text, FOLD, VISIT, SIMPLIFY) == ice("a.B", text, FOLD, SIMPLIFY, REWRITE)
    assert ice("a.B", text, FOLD, SIMPLIFY) != ice("a.B", text, FOLD, REWRITE)
    assert ice("a.B", text, CTOR, SIMPLIFY) != ice("a.B", text, CTOR, REWRITE)
    assert ice("a.B", text, BIND, SIMPLIFY) == ice("a.B", text, BIND, REWRITE)


def test_without_a_telling_frame_there_is_no_cause() -> None:
    assert ice("a.B", CHECK, VISIT, "TVMFFIPyCallManager::ForwardPyErrorToFFI()") is None


def crash(seen: Observation, guilty: str = "") -> object:
    return cause_of("crash", seen, guilty)


def test_a_crash_is_its_pass_signal_and_deepest_telling_function() -> None:
    deep = crashed("s_tir.Inject", "tvm::ObjectMutator::Mutate(x)", "lib+0x1", "lib+0x2")
    assert crash(deep) == crash(crashed("s_tir.Inject", "lib+0x1", "lib+0x3"))
    assert crash(deep) != crash(crashed("s_tir.Inject", "lib+0x2", "lib+0x1"))
    assert crash(deep) != crash(crashed("s_tir.Other", "lib+0x1", "lib+0x2"))
    assert crash(deep) != crash(replace(deep, signal=6))
    assert crash(deep) != ice("s_tir.Inject", "SIGSEGV", "lib+0x1")


def test_an_abort_takes_more_functions() -> None:
    """The deepest is what ends the process, whoever asked for it."""
    aborts = [replace(crashed("a.B", "lib+0x1", "lib+0x2", last), signal=6) for last in ("lib+0x3", "lib+0x4")]
    assert crash(aborts[0]) != crash(aborts[1])
    assert crash(aborts[0]) == crash(replace(aborts[0], backtrace=(*aborts[0].backtrace, *aborts[1].backtrace)))


def test_an_exception_that_nothing_caught_is_the_check_that_raised_it() -> None:
    what = "SIGABRT   what():  Check failed: constraints_.size() == size ({} vs. 2) :"
    one = replace(crashed("a.B", "lib+0x1", "lib+0x2"), signal=6, message=what.format(4))
    other = replace(crashed("a.B", "lib+0x3"), signal=6, message=what.format(8))
    assert crash(one) == crash(other)
    assert crash(one) != crash(replace(one, message=what.replace("size ", "length ")))
    assert crash(one) != crash(replace(one, pass_name="a.C"))


def test_a_crash_of_no_pass_or_of_no_function_has_no_cause() -> None:
    assert crash(replace(crashed("", "lib+0x1"), stage=Stage.BUILD)) is None
    assert crash(crashed("a.B")) is None
    assert crash(replace(crashed("schedule-blocks", "lib+0x1"), stage=Stage.MUTATE)) is None


def test_a_stack_overflow_is_the_classes_of_its_recursion() -> None:
    add, mul = "tvm::sym::Simplifier::VisitAdd(x)", "tvm::sym::Simplifier::VisitMul(x)"
    one = crashed("a.B", "tvm::sym::Helper::Top(x)", add, mul, add, mul, stack_overflow=True)
    other = crashed("a.B", mul, mul, add, stack_overflow=True)
    assert crash(one) == crash(other)
    assert crash(one) != crash(crashed("a.B", add, mul, add, mul))
    assert crash(one) != crash(
        crashed("a.B", add, "tvm::sym::Other::F(x)", add, "tvm::sym::Other::F(x)", stack_overflow=True)
    )


def test_wrong_code_needs_a_guilty_pass_and_a_reduced_program() -> None:
    shape = shape_of(program("tirx.For", "tirx.BufferStore", "prim.Add"))
    assert cause_of("wrong-code", wrong("value")) is None
    assert cause_of("wrong-code", wrong("value"), "", shape) is None
    assert cause_of("wrong-code", wrong("value"), "tirx.Unroll") is None
    first = cause_of("wrong-code", wrong("value"), "tirx.Unroll", shape)
    assert first is not None
    assert first == cause_of("wrong-code", wrong("value", "both", "int32"), "tirx.Unroll", shape)
    assert first != cause_of("wrong-code", wrong("unwritten"), "tirx.Unroll", shape)
    assert first != cause_of("wrong-code", wrong("value"), "tirx.Other", shape)
    assert first != cause_of("wrong-code", wrong("value"), "tirx.Unroll", shape_of(program("tirx.For")))


def test_a_shape_is_the_kinds_of_nodes() -> None:
    text = program("tirx.For", "prim.Add", "prim.Add", "ir.IntImm", "ffi.Array", "tirx.BufferType", "s_tir.SBlock")
    assert shape_of(text) == ("prim.Add", "s_tir.SBlock", "tirx.For of kind 0")
    assert shape_of("") == shape_of("[3]") == shape_of('{"nodes": [3]}') == ()
