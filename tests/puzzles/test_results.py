"""Fake compilers with planted bugs, each judged by the real interpreter: every one declares what must be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.builds import compare_builds
from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.execution.compare.results import Builds, judge_builds, raised
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.oracles.internal_error import judge_internal_error
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused

SCALE = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4, 8), "{dtype}"), B: T.Buffer((4, 8), "{dtype}")):
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j] * T.{dtype}(2) + T.{dtype}(1)
"""

Compiled = Callable[..., None]


def program(text: str = SCALE, dtype: str = "int32") -> Any:
    return tvm_api.parse_script(text.format(dtype=dtype))


def view(tensor: Any) -> Any:
    return numpy.from_dlpack(tensor)


def right(a: Any, b: Any) -> None:
    view(b)[...] = view(a) * 2 + 1


def off_by_one(a: Any, b: Any) -> None:
    right(a, b)
    view(b)[2, 3] += 1


def drops_the_last_row(a: Any, b: Any) -> None:
    kept = view(b)[3].copy()
    right(a, b)
    view(b)[3] = kept


def writes_its_input(a: Any, b: Any) -> None:
    right(a, b)
    view(a)[0, 0] += 1


def strays(a: Any, b: Any) -> None:
    right(a, b)
    beyond = numpy.lib.stride_tricks.as_strided(view(b), (33,), (4,), writeable=True)
    beyond[32] = 0


def complains(a: Any, b: Any) -> None:
    raise ValueError("B has the wrong shape")


def not_a_number(a: Any, b: Any) -> None:
    right(a, b)
    view(b)[1, 1] = numpy.nan


def imprecise(a: Any, b: Any) -> None:
    right(a, b)
    view(b)[...] *= 1 + 1e-4


def judged(
    optimised: Compiled, reference: Compiled | None = right, func: Any = None, effort: Effort | None = None
) -> Results:
    builds = Builds(None if reference is None else lambda: reference, lambda: optimised)
    return judge_builds(func or program(), builds, 1, effort or Effort(), Notebook())


class Notebook:
    """Keeps the stages and the results noted before each run."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.results: list[Results] = []

    def enter_stage(self, stage: Stage) -> None:
        self.stages.append(stage)

    def note_pass(self, name: str) -> None:
        return None

    def note_results(self, results: Results) -> None:
        self.results.append(results)


def parts(results: Results) -> tuple[str, ...] | None:
    finding = judge_inconsistency(Case("{}"), Observation(Exit.OK, Stage.DONE, results=results))
    return None if finding is None else finding.parts


@pytest.mark.parametrize(
    ("planted", "dtype", "manner"),
    [
        (off_by_one, "int32", ("int", "value")),
        (drops_the_last_row, "int32", ("int", "unwritten")),
        (writes_its_input, "int32", ("int", "value")),
        (strays, "int32", ("int", "outside")),
        (complains, "int32", ("raised", "ValueError: B has the wrong shape")),
        (not_a_number, "float32", ("float", "nan")),
        (imprecise, "float32", ("float", "inaccurate")),
        (off_by_one, "uint32", ("uint", "value")),
    ],
)
def test_a_planted_bug_is_found_in_the_build_that_has_it(
    planted: Compiled, dtype: str, manner: tuple[str, ...]
) -> None:
    func = program(dtype=dtype)
    assert parts(judged(planted, right, func)) == ("optimised", *manner)
    assert parts(judged(right, planted, func)) == ("reference", *manner)
    assert parts(judged(planted, planted, func)) == ("both", *manner)
    assert parts(judged(planted, None, func)) == ("optimised", *manner)


def test_what_a_defined_program_computes_is_said_before_any_build_is_made() -> None:
    said: list[str] = []

    def refused() -> Compiled:
        assert said
        raise CompilerRefused(ValueError("no"))

    judge_builds(program(), Builds(None, refused), 1, Effort(), Notebook(), computed=said.append)
    assert len(said) == 1
    judge_builds(program(), Builds(lambda: right, lambda: right), 1, Effort(steps=1), Notebook(), computed=said.append)
    assert len(said) == 1, "over the step budget nobody knows"


def test_a_baseline_is_spared_where_the_interpreter_knows_the_results_and_no_bug_with_it() -> None:
    def sparing(optimised: Compiled, effort: Effort) -> tuple[Results, list[Stage]]:
        notes = Notebook()
        builds = Builds(lambda: right, lambda: optimised, spares_baseline=True)
        return judge_builds(program(), builds, 1, effort, notes), notes.stages

    results, stages = sparing(off_by_one, Effort())
    assert parts(results) == ("optimised", "int", "value")
    assert Stage.BUILD_BASELINE not in stages
    results, stages = sparing(off_by_one, Effort(steps=1))
    assert results.undecided
    assert Stage.BUILD_BASELINE in stages


@pytest.mark.parametrize("alike", [True, False])
def test_a_program_that_is_known_to_be_lowered_well_is_not_run(alike: bool) -> None:
    notes = Notebook()
    builds = Builds(lambda: right, lambda: off_by_one, lowered_alike=lambda inputs, judgement: alike)
    results = judge_builds(program(), builds, 1, Effort(), notes)
    assert results.defined
    assert parts(results) == (None if alike else ("optimised", "int", "value"))
    assert ({Stage.BUILD, Stage.RUN} < set(notes.stages)) is not alike


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64"])
def test_right_builds_are_no_finding(dtype: str) -> None:
    results = judged(right, right, program(dtype=dtype))
    assert results.defined
    assert parts(results) is None
    assert results.baseline.ending == results.optimised.ending == "agrees"


def test_a_difference_says_where_and_what() -> None:
    found = judged(off_by_one).optimised.difference
    assert found is not None
    assert (found.parameter, found.name, found.index, found.count, found.size) == (1, "B", (2, 3), 1, 32)
    assert int(found.got) == int(found.expected) + 1
    assert float(found.bound) == 0.0


RACE = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for i in T.parallel(8):
        B[0, 0] = A[0, i]
"""

FAR = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for i in range(9):
        B[0, i] = A[0, i]
"""


@pytest.mark.parametrize(("text", "rule"), [(RACE, "race"), (FAR, "out-of-bounds")])
def test_an_undefined_program_is_never_run(text: str, rule: str) -> None:
    def never(*arguments: Any) -> None:
        pytest.fail("it was run")

    results = judged(never, never, program(text))
    assert (results.verdict, results.rule) == ("undefined", rule)
    assert parts(results) is None


DIVIDES = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        B[i] = T.float32(1) / A[i]
"""


def test_inputs_without_exceptional_values_are_looked_for() -> None:
    def divide(a: Any, b: Any) -> None:
        view(b)[...] = 1 / view(a)

    attempts = set()
    for seed in range(8):
        func = program(DIVIDES)
        results = judge_builds(func, Builds(lambda: divide, lambda: divide), seed, Effort(), Notebook())
        assert results.defined, "some scheme has no zeros"
        attempts.add(results.attempts)
    assert max(attempts) > 1


def test_over_the_budget_builds_are_compared_with_each_other_and_nothing_is_claimed() -> None:
    few = Effort(steps=8)
    agree = judged(off_by_one, off_by_one, effort=few)
    assert (agree.verdict, agree.rule, agree.undecided) == ("unknown", "step-budget", False)
    differ = judged(off_by_one, right, effort=few)
    assert differ.undecided
    assert parts(differ) is None
    assert parts(judged(off_by_one, right, effort=few.thorough())) == ("optimised", "int", "value")


def test_a_build_that_is_refused_leaves_the_other_to_be_judged() -> None:
    def refuse() -> Compiled:
        raise CompilerRefused(ValueError("no"))

    results = judge_builds(program(), Builds(refuse, lambda: off_by_one), 1, Effort(), Notebook())
    assert (results.baseline.ending, results.baseline.message) == ("refused", "ValueError: no")
    assert parts(results) == ("optimised", "int", "value")


def test_all_is_built_and_what_is_known_is_noted_before_anything_runs() -> None:
    notes = Notebook()

    def look(a: Any, b: Any) -> None:
        assert notes.results[-1].defined
        assert notes.stages[-1] in (Stage.RUN, Stage.RUN_BASELINE)
        right(a, b)

    judge_builds(program(), Builds(lambda: look, lambda: look), 1, Effort(), notes)
    assert notes.results[-1].baseline.ending == "agrees"
    assert notes.stages == [
        Stage.INTERPRET,
        *(Stage.BUILD_BASELINE, Stage.BUILD),
        *(Stage.RUN_BASELINE, Stage.COMPARE),
        *(Stage.RUN, Stage.COMPARE),
    ]


def test_time_is_unlimited_only_for_the_interpreter() -> None:
    limited: list[bool] = []
    judge_builds(program(), Builds(None, lambda: right), 1, Effort(), Notebook(), limited.append)
    assert limited == [False, True]


def test_two_modules_are_compared_with_a_program() -> None:
    """What the planted passes of tests/planted use, on the real compiler."""
    good = tvm_api.module_of(program())
    bad = tvm_api.module_of(program(SCALE.replace("+ T.{dtype}(1)", "+ T.{dtype}(2)")))
    assert parts(compare_builds(good, good, good)) is None
    assert parts(compare_builds(good, good, bad)) == ("optimised", "int", "value")
    assert parts(compare_builds(good, bad, good)) == ("reference", "int", "value")
    assert parts(compare_builds(bad, good, good)) == ("both", "int", "value")


AGREES = Ran(Ending.AGREES)


def observed(baseline: Ran, optimised: Ran) -> Observation:
    return Observation(Exit.OK, Stage.DONE, results=Results("defined", baseline=baseline, optimised=optimised))


@pytest.mark.parametrize(
    ("message", "ending"),
    [
        ("RuntimeError: Cannot find function device_api.cpu.dma_copy in the global registry.", Ending.REFUSED),
        ("RuntimeError: A has 3 elements\nCannot find function", Ending.RAISED),
    ],
)
def test_what_the_runtime_lacks_is_not_wrong_code(message: str, ending: Ending) -> None:
    assert raised(message).ending is ending
    case = Case('{"nodes": []}')
    found = [
        judge_inconsistency(case, observed(AGREES, raised(message))),
        judge_internal_error(case, observed(Ran(Ending.REFUSED, message), AGREES)),
    ]
    assert [finding is None for finding in found] == [ending is Ending.REFUSED] * 2
