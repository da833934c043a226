"""Oracles of results, refusals and speed on fabricated observations: no TVM."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from tzerlike.core.case import Case, ContextConfig, PassSpec, parse_sequence
from tzerlike.core.effort import Check, Effort
from tzerlike.core.finding import Finding, kind_of
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.core.results import Difference, Ending, Ran, Rejection, Results, Timing
from tzerlike.execution.compare.ranks import chance_of_greater
from tzerlike.oracles import ORACLES, effort_for
from tzerlike.oracles.crash import judge_crash
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.oracles.internal_error import judge_internal_error
from tzerlike.oracles.performance import judge_performance

CASE = Case('{"nodes": []}')
RIGHT = Ran(Ending.AGREES)
OFF = Difference(1, "B", "int32", (2, 0), "7", "0.0", "8", 3, 12, "value")
WRONG = Ran(Ending.DIFFERS, difference=OFF)
RAISED = Ran(Ending.RAISED, "RuntimeError: B has 3 elements")


def seen(reference: Ran = RIGHT, optimised: Ran = RIGHT, verdict: str = "defined", **more: object) -> Observation:
    rule = {"defined": "", "undefined": "race", "unstable": "float-branch", "unknown": "step-budget"}[verdict]
    return Observation(
        Exit.OK, Stage.DONE, results=Results(verdict, rule, "", 10, "small", 1, False, reference, optimised, **more)
    )  # type: ignore[arg-type]


def found(observation: Observation) -> Finding:
    finding = judge_inconsistency(CASE, observation)
    assert finding is not None
    return finding


@pytest.mark.parametrize(
    ("expected", "bound", "got", "nature", "only"),
    [
        ("1.97", "97.6", "nan", "nan", True),
        ("-1.97", "97.6", "inf", "infinity", True),
        ("1.97", "0.3", "inf", "infinity", True),
        ("1.97", "0.1", "nan", "nan", False),
        ("1.97", "97.6", "200.0", "value", False),
        ("inf", "0.0", "nan", "nan", False),
    ],
)
def test_within_a_wide_bound_all_that_is_sure_is_that_it_is_finite(
    expected: str, bound: str, got: str, nature: str, only: bool
) -> None:
    assert Difference(0, "B", "float16", (0,), expected, bound, got, 1, 4, nature).only_finite is only


def test_what_is_written_around_a_buffer_has_no_element_to_tell() -> None:
    around = Difference(1, "B", "int32", (), "", "", "", 1, 12, "outside")
    assert str(Ran(Ending.DIFFERS, difference=around)) == "differs: something is written outside of B"
    assert str(WRONG) == "differs: B[2, 0] is 8, not 7 ± 0.0 (3 of 12 elements)"


@pytest.mark.parametrize(
    ("reference", "optimised", "blame"),
    [
        (RIGHT, WRONG, "optimised"),
        (WRONG, RIGHT, "reference"),
        (WRONG, WRONG, "both"),
        (Ran(), WRONG, "optimised"),
        (Ran(Ending.REFUSED), WRONG, "optimised"),
        (RIGHT, RAISED, "optimised"),
        (Ran(Ending.DIED), Ran(), "reference"),
    ],
)
def test_a_build_of_a_defined_program_that_is_wrong_is_blamed(reference: Ran, optimised: Ran, blame: str) -> None:
    finding = found(seen(reference, optimised))
    assert finding.kind == "wrong-code"
    assert finding.parts[0] == blame


@pytest.mark.parametrize("verdict", ["undefined", "unstable", "unknown"])
def test_what_is_not_defined_is_never_reported(verdict: str) -> None:
    assert judge_inconsistency(CASE, seen(WRONG, RAISED, verdict)) is None


@pytest.mark.parametrize("optimised", [RIGHT, Ran(), Ran(Ending.REFUSED)])
def test_a_build_that_agrees_or_was_not_run_is_no_finding(optimised: Ran) -> None:
    assert judge_inconsistency(CASE, seen(optimised=optimised)) is None
    assert judge_inconsistency(CASE, Observation(Exit.OK, Stage.DONE)) is None


@pytest.mark.parametrize(
    "same",
    [
        replace(OFF, index=(0, 1), expected="70", got="3", count=1, size=99, name="C", parameter=4),
        replace(OFF, dtype="int64"),
        replace(OFF, dtype="int8x4"),
    ],
)
def test_a_signature_does_not_vary_with_the_program(same: Difference) -> None:
    assert (
        found(seen(optimised=Ran(Ending.DIFFERS, difference=same))).signature == found(seen(optimised=WRONG)).signature
    )


@pytest.mark.parametrize(
    "other",
    [
        seen(optimised=Ran(Ending.DIFFERS, difference=replace(OFF, nature="unwritten"))),
        seen(optimised=Ran(Ending.DIFFERS, difference=replace(OFF, dtype="float32"))),
        seen(optimised=WRONG, guilty="StorageRewrite"),
        seen(WRONG, WRONG),
        seen(optimised=RAISED),
    ],
)
def test_different_causes_have_different_signatures(other: Observation) -> None:
    assert found(other).signature != found(seen(optimised=WRONG)).signature


def test_a_program_that_dies_is_wrong_code_and_no_crash_of_the_compiler() -> None:
    results = Results("defined").died(False, "SIGSEGV")
    died = Observation(Exit.CRASH, Stage.RUN, "SIGSEGV", signal=11, results=results)
    assert judge_crash(CASE, died) is None
    assert found(died).parts == ("optimised", "died", "SIGSEGV")
    assert judge_crash(CASE, replace(died, stage=Stage.BUILD_BASELINE)) is not None


@pytest.mark.parametrize("verdict", ["undefined", "unknown"])
def test_a_program_that_dies_of_its_own_undefined_behaviour_is_no_finding(verdict: str) -> None:
    rule = {"undefined": "race", "unknown": "step-budget"}[verdict]
    died = Observation(Exit.TIMEOUT, Stage.RUN, results=Results(verdict, rule).died(False, "over the time limit"))
    assert judge_inconsistency(CASE, died) is None
    assert judge_crash(CASE, died) is None
    assert died.results is not None
    assert died.results.undecided == (rule == "step-budget")


def test_a_pass_that_ran_where_it_should_not_is_not_wrong_for_that() -> None:
    blocks = json.dumps({"nodes": [{"type": "s_tir.SBlock", "data": {"iter_vars": 1, "init": 2, "alloc_buffers": 1,
        "match_buffers": 1}}, {"type": "ffi.Array", "data": []}, {"type": "None"}]})  # fmt: skip
    misused = Case(blocks, parse_sequence("tirx.StmtSimplify; s_tir.HoistExpression"))
    assert judge_inconsistency(misused, seen(optimised=WRONG)) is None
    assert judge_inconsistency(misused, seen(WRONG, WRONG)) is not None, "the baseline build is wrong too"
    simplified = replace(misused, passes=misused.passes[:1])
    assert judge_inconsistency(simplified, seen(optimised=WRONG)) is not None
    own = replace(simplified, config=ContextConfig(pipeline="none"))
    assert judge_inconsistency(own, seen(optimised=WRONG)) is None, "blocks are left to code generation"


def test_a_pass_that_was_really_given_what_it_excludes_excuses_the_optimised_build_alone() -> None:
    assert judge_inconsistency(CASE, seen(optimised=WRONG, misused="tirx.StorageRewrite")) is None
    assert judge_inconsistency(CASE, seen(WRONG, WRONG, misused="tirx.StorageRewrite")) is not None


@pytest.mark.parametrize("hint", ["async_commit_queue_scope", "software_pipeline_async_stages"])
def test_asynchronous_copies_mean_nothing_until_a_pass_acts_on_them(hint: str) -> None:
    program = Case(json.dumps({"nodes": [{"type": "ffi.String", "data": hint}]}))
    assert judge_inconsistency(program, seen(optimised=WRONG)) is not None
    own = replace(program, passes=parse_sequence("s_tir.LowerAsyncDMA"))
    assert judge_inconsistency(own, seen(optimised=WRONG)) is None
    by_option = replace(program, config=ContextConfig(options=(("tirx.use_async_copy", True),)))
    assert judge_inconsistency(by_option, seen(optimised=WRONG)) is None
    assert judge_inconsistency(by_option, seen(WRONG, WRONG)) is not None
    plain = replace(by_option, ir=CASE.ir)
    assert judge_inconsistency(plain, seen(optimised=WRONG)) is not None


def test_a_scope_means_nothing_until_a_pass_acts_on_it_where_there_is_no_such_memory() -> None:
    program = Case(json.dumps({"nodes": [{"type": "ffi.String", "data": "wmma.accumulator"}]}))
    acting = replace(program, passes=parse_sequence("s_tir.TransformMmaBufferLayout"))
    assert judge_inconsistency(program, seen(optimised=WRONG)) is not None
    assert judge_inconsistency(acting, seen(optimised=WRONG)) is None
    assert judge_inconsistency(acting, seen(WRONG, WRONG)) is not None
    assert judge_inconsistency(replace(acting, ir=CASE.ir), seen(optimised=WRONG)) is not None


@pytest.mark.parametrize(("dtype", "widened"), [("int64", True), ("uint64x4", True), ("int32", False)])
def test_what_is_widened_need_not_fit_what_narrows_by_force(dtype: str, widened: bool) -> None:
    nodes = [{"type": "prim.Cast", "data": {"ty": 1}}, {"type": "ir.PrimType", "data": {"dtype": dtype}}]
    program = Case(json.dumps({"nodes": nodes}))
    forced = replace(program, passes=parse_sequence("tirx.ForceNarrowIndexToInt32"))
    assert judge_inconsistency(program, seen(optimised=WRONG)) is not None
    assert (judge_inconsistency(forced, seen(optimised=WRONG)) is None) is widened
    assert judge_inconsistency(forced, seen(WRONG, WRONG)) is not None


@pytest.mark.parametrize("name", ["tirx.backend.trn.LowerTrainiumLayout", "s_tir.backend.adreno.TextureFlatten"])
def test_a_pass_of_a_target_that_is_not_there_is_nobodys_bug(name: str) -> None:
    case = replace(CASE, passes=parse_sequence(name))
    assert judge_inconsistency(case, seen(optimised=WRONG)) is None
    died = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", name, signal=11)
    assert judge_crash(case, died) is None
    assert judge_crash(case, replace(died, pass_name="tirx.StmtSimplify")) is not None


FRAMES = tuple(
    Frame(name, "")
    for name in (
        "TVMFFIPyCallManager::ForwardPyErrorToFFI()",
        "void tvm::tirx::Pass::Check(tvm::Stmt, int) const",
        "void tvm::tirx::Pass::Check(const tvm::tirx::ForNode*)",
        "tvm::tirx::StmtVisitor::VisitStmt(tvm::tirx::Stmt const&)",
        "virtual tvm::ffi::UnchangedOr<tvm::tirx::Stmt> tvm::tirx::Pass::Mutate_(const tvm::tirx::ForNode*)",
    )
)
ICE = Observation(
    Exit.REJECTED,
    Stage.BUILD,
    "InternalError: Check failed: n_1 (0x55) is 17",
    "tirx.StorageRewrite",
    backtrace=FRAMES,
    rejection=Rejection("internal-error", True, "builds"),
)


def test_an_internal_error_on_a_valid_program_is_named_by_pass_message_and_frames() -> None:
    finding = judge_internal_error(CASE, ICE)
    assert finding is not None
    assert finding.kind == "ice-on-valid"
    assert finding.parts == (
        "StorageRewrite",
        "InternalError: Check failed: <name> is <n>",
        "tvm::tirx::Pass::Check",
        "tvm::tirx::Pass::Mutate_",
    )


@pytest.mark.parametrize(
    "rejection",
    [
        None,
        Rejection("documented-refusal", True, "builds"),
        Rejection("illegal-order", True, "defined"),
        Rejection("internal-error", False, "builds"),
        Rejection("internal-error", True, ""),
    ],
)
def test_a_refusal_with_an_excuse_or_without_a_valid_program_is_no_finding(rejection: Rejection | None) -> None:
    assert judge_internal_error(CASE, replace(ICE, rejection=rejection)) is None


def test_a_defined_program_that_only_the_reference_build_refuses_is_an_internal_error() -> None:
    refused = Ran(Ending.REFUSED, "InternalError: Check failed: 3 < 4")
    finding = judge_internal_error(CASE, seen(refused, RIGHT))
    assert finding is not None
    assert finding.parts == ("build_reference", "InternalError: Check failed: <n> < <n>")
    assert judge_internal_error(CASE, seen(refused, RIGHT, "undefined")) is None
    documented = Ran(Ending.REFUSED, "InternalError: Failed to vectorize loop with extent n")
    assert judge_internal_error(CASE, seen(documented, RIGHT)) is None


def noisy(center: float, spread: float = 0.05, seed: int = 1, count: int = 40) -> tuple[float, ...]:
    rng = random.Random(seed)
    return tuple(center * (1 + spread * rng.random()) for _ in range(count))


FAST, SLOW = noisy(100e-6), noisy(200e-6, seed=2)
FULL = Case("{}", target="llvm")


def timed(reference: tuple[float, ...], optimised: tuple[float, ...], floor: float = 1.01) -> Observation:
    return seen(timing=Timing(reference, optimised, floor))


def test_a_slow_down_well_over_the_noise_is_found() -> None:
    finding = judge_performance(FULL, timed(FAST, SLOW))
    assert finding is not None
    assert (finding.kind, finding.parts) == ("slow-code", ("default pipeline",))
    prefix = replace(FULL, passes=(PassSpec("tirx.UnrollLoop"),), config=ContextConfig(pipeline="none"))
    assert judge_performance(prefix, timed(FAST, SLOW)) != finding


@pytest.mark.parametrize(
    "observation",
    [
        timed(SLOW, FAST),
        timed(FAST, FAST),
        timed(FAST, noisy(130e-6)),
        timed(noisy(2e-6), noisy(4e-6)),
        timed(FAST, SLOW, floor=1.5),
        timed(noisy(100e-6, 6.0, 3), noisy(160e-6, 6.0, 4)),
        timed((), ()),
        timed(FAST[:2], SLOW[:2]),
        seen(),
        seen(WRONG, RIGHT, timing=Timing(FAST, SLOW, 1.0)),
        seen(RIGHT, RIGHT, "unknown", timing=Timing(FAST, SLOW, 1.0)),
    ],
    ids=["faster", "same", "little", "short", "noise", "scatter", "none", "few", "untimed", "wrong", "unknown"],
)
def test_what_is_not_a_sound_slow_down_is_no_finding(observation: Observation) -> None:
    assert judge_performance(FULL, observation) is None


def test_code_that_llvm_was_told_not_to_optimise_is_not_slow_code() -> None:
    assert judge_performance(Case("{}", target='{"kind": "llvm", "opt-level": 0}'), timed(FAST, SLOW)) is None


def test_ranks() -> None:
    # Of the 252 ways to draw 5 ranks of 10, one has the five greatest: 1/252 is about 0.004.
    assert chance_of_greater((1, 2, 3, 4, 5), (6, 7, 8, 9, 10)) == pytest.approx(1 / 252, abs=3e-3)
    assert chance_of_greater((6, 7, 8, 9, 10), (1, 2, 3, 4, 5)) > 0.99
    assert chance_of_greater((1, 4, 5, 8), (2, 3, 6, 7)) == pytest.approx(0.5, abs=0.1)
    assert chance_of_greater((3, 3, 3), (3, 3, 3)) == 1.0
    assert chance_of_greater((), (1.0,)) == 1.0


def test_observations_with_results_survive_json() -> None:
    full = replace(
        ICE,
        results=Results(
            "defined", "", "w", 5, "small", 2, True, RIGHT, WRONG, "StorageRewrite", Timing(FAST, SLOW, 1.2)
        ),
    )
    data = json.loads(json.dumps(full.to_json()))
    assert Observation.from_json(data) == full
    older = full.to_json()
    del older["results"], older["rejection"]
    assert Observation.from_json(older).results is None


def test_efforts_are_those_that_the_oracles_need() -> None:
    assert effort_for(["crash"]).checks == frozenset()
    assert effort_for(["crash", "inconsistency"]).checks == {Check.RESULTS}
    assert effort_for(list(ORACLES)).checks == set(Check)
    effort = Effort(frozenset(Check), 7, "/somewhere/inputs.npz")
    assert Effort.from_json(effort.to_json()) == effort


@pytest.mark.parametrize("kind", ["crash", "wrong-code", "ice-on-valid", "slow-code"])
def test_a_directory_tells_its_kind(kind: str) -> None:
    assert kind_of(Finding(kind, ("code", "x"), CASE, seen()).directory) == kind
