"""Which pass is guilty, on compilers that are wrong under a condition: no TVM is run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tzerlike.core.case import Case, ContextConfig, parse_sequence
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import CODE_GENERATION, Difference, Ending, Ran, Results
from tzerlike.execution.diagnosis.localise import DEFAULT_PIPELINE, LLVM_OPTIMISATION, localised
from tzerlike.execution.diagnosis.walk import Change, Walk
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.systems.optional import LEVELS

WRONG = Ran(Ending.DIFFERS, difference=Difference(0, "A", "int32", (0,), "1", "0.0", "2", 1, 1, "value"))
PREFIX = parse_sequence("a.A; a.B; a.C; a.D; a.E")


def compiler(wrong: Callable[[Case], bool]) -> Callable[[Case], Observation]:
    def run(case: Case) -> Observation:
        optimised = WRONG if wrong(case) else Ran(Ending.AGREES)
        return Observation(Exit.OK, Stage.DONE, results=Results("defined", optimised=optimised))

    return run


def nowhere(case: Case) -> None:
    """A walk that the interpreter could not take."""
    return None


def guilty(case: Case, wrong: Callable[[Case], bool], walk: Walk | None = None) -> str:
    run = compiler(wrong)
    results = localised(case, run(case), run, lambda case: walk).results
    assert results is not None
    return results.guilty


def names(case: Case) -> list[str]:
    return [spec.name for spec in case.passes]


@pytest.mark.parametrize("name", ["a.A", "a.B", "a.C", "a.D", "a.E"])
def test_the_pass_of_a_prefix_that_brings_it_about(name: str) -> None:
    assert guilty(Case("{}", PREFIX), lambda case: name in names(case)) == name[2:]


def test_the_later_of_two_passes_that_it_takes_together() -> None:
    assert guilty(Case("{}", PREFIX), lambda case: {"a.B", "a.D"} <= set(names(case))) == "D"


def test_what_is_wrong_without_a_prefix_is_the_pipelines_or_llvms() -> None:
    assert guilty(Case("{}", PREFIX), lambda case: True) == DEFAULT_PIPELINE
    assert guilty(Case("{}"), lambda case: True) == DEFAULT_PIPELINE
    assert guilty(Case("{}", PREFIX), lambda case: "opt-level" not in case.target) == LLVM_OPTIMISATION


def test_the_pass_that_a_pipeline_of_its_own_has_on_top() -> None:
    usual = default_pipeline("llvm", ContextConfig()).passes
    extra = parse_sequence("tirx.Simplified; tirx.Strange")
    case = Case("{}", usual[:5] + extra + usual[5:], ContextConfig(pipeline="none"))
    assert guilty(case, lambda case: "tirx.Strange" in names(case)) == "Strange"


@pytest.mark.parametrize("reference", [Ran(Ending.AGREES), WRONG])
def test_the_pass_of_the_default_pipeline_that_it_can_do_without(reference: Ran) -> None:
    def run(case: Case) -> Observation:
        if "tirx.StmtSimplify" in case.config.disabled_passes:
            return Observation(Exit.REJECTED, Stage.PASSES)
        right = "tirx.UnrollLoop" in case.config.disabled_passes
        optimised = Ran(Ending.AGREES) if right else WRONG
        return Observation(Exit.OK, Stage.DONE, results=Results("defined", baseline=reference, optimised=optimised))

    case = Case("{}", PREFIX)
    results = localised(case, run(case), run, nowhere, LEVELS).results
    assert results is not None
    assert results.guilty == "UnrollLoop", "the first that cures; a refusal is no cure"


def test_right_results_are_left_alone() -> None:
    run = compiler(lambda case: False)
    right = run(Case("{}", PREFIX))
    assert localised(Case("{}", PREFIX), right, lambda case: pytest.fail("run again"), nowhere) is right


def level_zero(case: Case) -> bool:
    return "opt-level" in case.target


def test_the_pass_of_a_walk_is_taken_at_its_word() -> None:
    walk = Walk(9, Change.RESULT, ("tirx.StorageRewrite",), 4)
    run = compiler(lambda case: pytest.fail("run again"))
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", baseline=Ran(Ending.AGREES), optimised=WRONG))
    results = localised(Case("{}", PREFIX), seen, run, lambda case: walk).results
    assert results is not None
    assert results.guilty == "StorageRewrite"


def test_wrong_behind_innocent_passes_is_told_apart_by_llvms_level() -> None:
    case = Case("{}", PREFIX)
    assert guilty(case, lambda case: not level_zero(case), Walk(9)) == LLVM_OPTIMISATION
    assert guilty(case, lambda case: True, Walk(9)) == CODE_GENERATION


def test_what_is_wrong_at_level_zero_is_not_built_again_to_see_that() -> None:
    cheap = Case("{}", PREFIX, target='{"kind": "llvm", "opt-level": 0}')
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", optimised=WRONG))
    run = compiler(lambda case: pytest.fail("run again"))
    results = localised(cheap, seen, run, lambda case: Walk(9)).results
    assert results is not None
    assert results.guilty == CODE_GENERATION


@pytest.mark.parametrize("suspicion", ["suspects", "unjudged"])
def test_passes_that_the_interpreter_cannot_tell_apart_are_left_out_in_turn(suspicion: str) -> None:
    def walk(*suspicious: str) -> Walk:
        return Walk(9, **{suspicion: suspicious})  # type: ignore[arg-type]

    def wrong(case: Case) -> bool:
        return "a.D" in names(case) or "tirx.UnrollLoop" not in case.config.disabled_passes

    case = Case("{}", PREFIX[:3])
    assert guilty(case, wrong, walk("a.B", "tirx.UnrollLoop", "a.C")) == "UnrollLoop"
    own = Case("{}", PREFIX)
    assert guilty(own, lambda case: "a.D" in names(case), walk("a.B", "a.D", "a.C")) == "D"
    assert guilty(own, lambda case: True, walk("a.B", "a.D", "a.C")) == "B to C", "nothing cures"


@pytest.mark.parametrize("blame", ["reference", "both"])
def test_the_passes_of_a_wrong_reference_are_its_own(blame: str) -> None:
    walked: list[Case] = []

    def take_walk(case: Case) -> Walk:
        walked.append(case)
        return Walk(9, Change.UNDEFINED, ("s_tir.Lower",), 0)

    optimised = WRONG if blame == "both" else Ran(Ending.AGREES)
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", baseline=WRONG, optimised=optimised))
    results = localised(Case("{}", PREFIX), seen, compiler(lambda case: True), take_walk).results
    assert results is not None
    assert results.guilty == "Lower"
    assert [(case.passes, case.config.opt_level) for case in walked] == [((), 0)]


@pytest.mark.parametrize(("bound", "name"), [("0.4", "StorageRewrite"), ("0.001", CODE_GENERATION)])
def test_a_difference_that_the_walk_may_overlook_is_looked_for_by_leaving_passes_out(bound: str, name: str) -> None:
    wrong = Ran(Ending.DIFFERS, difference=Difference(0, "A", "float16", (0,), "1.0", bound, "2.0", 1, 1, "value"))

    def run(case: Case) -> Observation:
        right = "tirx.StorageRewrite" in case.config.disabled_passes
        return Observation(
            Exit.OK, Stage.DONE, results=Results("defined", optimised=Ran(Ending.AGREES) if right else wrong)
        )

    case = Case("{}")
    results = localised(case, run(case), run, lambda case: Walk(9)).results
    assert results is not None
    assert results.guilty == name
