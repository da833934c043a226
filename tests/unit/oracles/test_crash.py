import signal
from dataclasses import replace

import pytest

from tzerlike.core.case import Case, ContextConfig, parse_sequence
from tzerlike.core.errors import UserError
from tzerlike.core.observation import Exit, Frame, Observation, Stage, message_template
from tzerlike.oracles import make_oracles
from tzerlike.oracles.crash import judge_crash
from tzerlike.systems import TVM, tvm_api

CASE = Case("{}")


def frames(*names: str, library: str = "libtvm_compiler.so") -> tuple[Frame, ...]:
    return tuple(Frame(name, library) for name in names)


SEGFAULT = Observation(
    Exit.CRASH,
    Stage.PASSES,
    "SIGSEGV",
    "tirx.StorageRewrite",
    signal=int(signal.SIGSEGV),
    backtrace=frames("tvm::a", "tvm::b", "tvm::c", "tvm::d"),
    depth=12,
)


def signature(observation: Observation) -> str:
    finding = judge_crash(CASE, observation)
    assert finding is not None
    return finding.signature


@pytest.mark.parametrize("exit_", [Exit.OK, Exit.REJECTED])
def test_what_is_no_crash_is_no_finding(exit_: Exit) -> None:
    assert judge_crash(CASE, Observation(exit_, Stage.BUILD)) is None


@pytest.mark.parametrize(("exit_", "kind"), [(Exit.CRASH, "crash"), (Exit.TIMEOUT, "hang"), (Exit.OOM, "oom")])
def test_kinds(exit_: Exit, kind: str) -> None:
    finding = judge_crash(CASE, replace(SEGFAULT, exit=exit_))
    assert finding is not None
    assert finding.kind == kind


def test_a_pass_crashes_alike_in_a_sequence_and_in_the_default_pipeline() -> None:
    assert signature(SEGFAULT) == signature(replace(SEGFAULT, stage=Stage.BUILD))


LOWERED = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "{dtype}")):
    T.evaluate(0)
"""


@pytest.mark.parametrize(
    ("dtype", "pipeline", "found"),
    [("float32", "none", True), ("bfloat16", "none", False), ("bfloat16", "default", True)],
)
def test_code_generation_may_crash_on_what_no_pipeline_leaves_it(dtype: str, pipeline: str, found: bool) -> None:
    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(LOWERED.format(dtype=dtype))))
    passes = parse_sequence("tirx.BindTarget; tirx.FlattenBuffer; tirx.MakePackedAPI")
    case = Case(ir, passes, ContextConfig(pipeline=pipeline))
    assert (judge_crash(case, replace(SEGFAULT, stage=Stage.BUILD, pass_name="")) is not None) == found
    assert judge_crash(case, replace(SEGFAULT, stage=Stage.BUILD)) is not None


@pytest.mark.parametrize(
    "other",
    [
        replace(SEGFAULT, pass_name="tirx.UnrollLoop"),
        replace(SEGFAULT, signal=int(signal.SIGABRT)),
        replace(SEGFAULT, backtrace=frames("tvm::a", "tvm::x")),
        replace(SEGFAULT, pass_name="", stage=Stage.BUILD),
        replace(SEGFAULT, exit=Exit.TIMEOUT),
    ],
)
def test_different_crashes_have_different_signatures(other: Observation) -> None:
    assert signature(other) != signature(SEGFAULT)


@pytest.mark.parametrize(
    "other",
    [
        replace(SEGFAULT, backtrace=SEGFAULT.backtrace[:3] + frames("tvm::elsewhere")),
        replace(SEGFAULT, backtrace=frames("raise", library="libc.so.6") + SEGFAULT.backtrace),
        replace(SEGFAULT, backtrace=frames("tvm::ffi::AnyView::x", "tvm::ObjectVisitor::Visit") + SEGFAULT.backtrace),
        replace(SEGFAULT, message="SIGSEGV at 0x1234", stderr="noise", elapsed=3.0),
    ],
)
def test_what_varies_between_runs_is_not_in_the_signature(other: Observation) -> None:
    assert signature(other) == signature(SEGFAULT)


def test_a_crash_inside_visitors_alone_keeps_their_names() -> None:
    finding = judge_crash(CASE, replace(SEGFAULT, backtrace=frames("tvm::ObjectVisitor::Visit")))
    assert finding is not None
    assert "tvm::ObjectVisitor::Visit" in finding.parts


def test_a_stack_overflow_is_told_by_its_cycle_wherever_it_ended() -> None:
    overflow = replace(SEGFAULT, stack_overflow=True, depth=9000)
    one = replace(overflow, backtrace=frames(*("tvm::f", "tvm::g") * 30))
    two = replace(overflow, backtrace=frames("tvm::leaf", *("tvm::g", "tvm::f") * 30))
    assert signature(one) == signature(two)
    assert "stack overflow" in (judge_crash(CASE, one) or pytest.fail("no finding")).parts


def test_directories_have_plain_names() -> None:
    finding = judge_crash(CASE, replace(SEGFAULT, backtrace=frames("a<b>/../c d")))
    assert finding is not None
    assert set(finding.directory) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_an_unknown_oracle_is_named() -> None:
    with pytest.raises(UserError, match="no oracle 'taste'; there are crash"):
        make_oracles(["taste"])


@pytest.mark.parametrize(
    ("message", "template"),
    [
        ("ValueError: var v_3 at 0x7ffc12 is 'x'", "ValueError: var v_<n> at <address> is <string>"),
        ("Traceback (most recent call last):\n  File x\nInternalError: 17 < 4.5e3", "InternalError: <n> < <n>"),
        ("", ""),
        ("\n\n  spaced  \nrest", "spaced"),
    ],
)
def test_message_templates(message: str, template: str) -> None:
    assert message_template(message) == template


def test_dispatch_between_visitors_is_no_place() -> None:
    names = (
        "non-virtual thunk to tvm::tirx::Vectorizer::VisitExpr_(tvm::tirx::RampNode const*)",
        "tvm::NodeFunctor<tvm::PrimExpr (tvm::ffi::ObjectRef const&)>::operator()(tvm::ffi::ObjectRef const&) const",
        "tvm::tirx::ExprFunctor<tvm::PrimExpr (tvm::PrimExpr const&)>::VisitExpr(tvm::PrimExpr const&)",
        "tvm::tirx::Vectorizer::VisitStmt_(tvm::tirx::ForNode const*)",
    )
    frames = tuple(Frame(name, "libtvm_compiler.so") for name in names)
    assert [frame.function for frame in TVM.code.telling(frames)] == [names[3]]
    assert TVM.code.telling(frames[:2]) == list(frames[:2])
