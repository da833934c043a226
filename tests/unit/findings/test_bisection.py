"""Bisection without TVM: the search, what a child's death tells, and what is written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import CODE_GENERATION, Difference, Ending, Ran, Results
from tzerlike.execution.diagnosis.ask import ask_walk
from tzerlike.execution.diagnosis.localise import LLVM_OPTIMISATION
from tzerlike.execution.diagnosis.search import Correctness, last_known, turning_point
from tzerlike.execution.diagnosis.walk import Change, Walk
from tzerlike.findings.bisect.role import bisection, has_culprit, in_baseline
from tzerlike.findings.bundles.bisection import BISECTION, Bisection, read_bisection, write_bisection
from tzerlike.findings.bundles.bundle import read_bundle

DIFFERENCE = Difference(1, "B", "float32", (0, 3), "2.0", "0.0", "nan", 3, 16, "nan")


@given(st.lists(st.sampled_from(Correctness)))
def test_the_turn_is_the_last_one_from_right_to_wrong(states: list[Correctness]) -> None:
    looked: list[int] = []

    def look(step: int) -> Correctness:
        looked.append(step)
        return states[step]

    found = turning_point(len(states), look)
    known = [state for state in states if state is not Correctness.UNKNOWN]
    assert (found is not None) == (bool(known) and known[-1] is Correctness.WRONG)
    if found is not None:
        right, wrong = found
        assert right == -1 or states[right] is Correctness.RIGHT
        assert states[wrong] is Correctness.WRONG
        assert set(states[right + 1 : wrong]) <= {Correctness.UNKNOWN}
        assert Correctness.RIGHT not in states[wrong:]
        assert min(looked) >= max(right, 0), "nothing before the last right step is looked at"


@given(st.lists(st.sampled_from(Correctness)))
def test_the_last_known_step(states: list[Correctness]) -> None:
    step = last_known(len(states), states.__getitem__)
    assert step == max((i for i, state in enumerate(states) if state is not Correctness.UNKNOWN), default=-1)


class Child:
    """Gives what a child of each kind lays down: one that walks to the end, and one that stops before a pass."""

    def __init__(self, records: list[dict[str, Any]], death: Observation | None, stopped: Walk | None = None) -> None:
        self.answers = (json.loads(json.dumps(records)), death)
        self.stopped = [] if stopped is None else json.loads(json.dumps([{"walk": stopped.to_json()}]))
        self.stops: list[int | None] = []

    def __call__(
        self, job: str, item: Mapping[str, Any], limits: Limits | None = None
    ) -> tuple[list[dict[str, Any]], Observation | None]:
        self.stops.append(item["stop"])
        return self.answers if item["stop"] is None else (self.stopped, None)


def marks(*names: str) -> list[dict[str, Any]]:
    """What is laid down as the named passes run one after another, the last of them not to its end."""
    begun = [({"at": index, "name": name}, {"at": None, "name": ""}) for index, name in enumerate(names)]
    return [mark for pair in begun for mark in pair][:-1]


SEGFAULT = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV")


def test_a_walk_to_the_end_is_the_answer() -> None:
    walk = Walk(9, Change.RESULT, ("tirx.A",), 4, "B[0] is 1", DIFFERENCE, "a diff", ())
    child = Child([*marks("tirx.A", "tirx.B"), {"walk": Walk(1).to_json()}, {"walk": walk.to_json()}], None)
    assert ask_walk(child, Case("{}")) == walk
    assert child.stops == [None]


def test_the_pass_that_a_child_dies_in() -> None:
    given = Walk(3, Change.RAISED, ("tirx.C",), 2, "TrailEnds", diff="the module")
    child = Child(marks("tirx.A", "tirx.B", "tirx.C"), SEGFAULT, given)
    walk = ask_walk(child, Case("{}"))
    assert walk == Walk(3, Change.DIED, ("tirx.C",), 2, "SIGSEGV", diff="the module")
    assert child.stops == [None, 2]


def test_the_pass_that_made_it_ill_formed_comes_before_the_one_that_dies_of_that() -> None:
    broken = Walk(3, Change.ILL_FORMED, ("tirx.A",), 0, diff="a diff")
    walk = ask_walk(Child(marks("tirx.A", "tirx.B", "tirx.C"), SEGFAULT, broken), Case("{}"))
    assert walk == broken


def test_a_death_between_passes_is_none_of_theirs() -> None:
    child = Child([*marks("tirx.A"), {"at": None, "name": ""}], SEGFAULT)
    assert ask_walk(child, Case("{}")) == Walk(1, Change.DIED, detail="SIGSEGV")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("SIGSEGV [05:06:04] codegen_cpu.cc:1183: Warning: Unknown pragma", "SIGSEGV"),
        ("SIGABRT terminate called after throwing", "SIGABRT terminate called after throwing"),
        ("over the time limit", "over the time limit"),
    ],
)
def test_no_warning_is_what_a_process_died_of(message: str, said: str) -> None:
    child = Child(marks("tirx.A"), replace(SEGFAULT, message=message), Walk(1, Change.RAISED, ("tirx.A",), 0))
    walk = ask_walk(child, Case("{}"))
    assert walk is not None and walk.detail == said


def test_a_function_that_dies_is_no_compiler_that_does() -> None:
    found = bisection("0" * 12, seen("gradient of take"), Walk(1, Change.DIED, detail="SIGSEGV"))
    assert (found.guilty, found.change, found.detail) == ("gradient of take", Change.NONE, "")


def test_a_case_without_passes_may_die_too() -> None:
    assert ask_walk(Child([{"at": None, "name": ""}], SEGFAULT), Case("{}")) == Walk(0, Change.DIED, detail="SIGSEGV")


def test_a_death_of_the_interpreter_tells_nothing() -> None:
    assert ask_walk(Child(marks("tirx.A"), Observation(Exit.OOM, Stage.INTERPRET)), Case("{}")) is None


def seen(guilty: str) -> Observation:
    return Observation(Exit.OK, Stage.DONE, results=Results("defined", guilty=guilty))


@pytest.mark.parametrize(
    ("observed", "walk", "guilty"),
    [
        (seen("B"), Walk(9, Change.RESULT, ("tirx.B",), 3), "tirx.B"),
        (seen("B to C"), Walk(9, Change.RESULT, ("tirx.B", "tirx.C"), 3), "B to C"),
        (seen(LLVM_OPTIMISATION), Walk(9), LLVM_OPTIMISATION),
        (seen(CODE_GENERATION), None, CODE_GENERATION),
        (SEGFAULT, Walk(9, Change.DIED, ("tirx.B",), 8), "tirx.B"),
        (SEGFAULT, Walk(9, Change.DIED), CODE_GENERATION),
        (SEGFAULT, None, ""),
    ],
)
def test_who_is_guilty(observed: Observation, walk: Walk | None, guilty: str) -> None:
    assert bisection("0" * 12, observed, walk).guilty == guilty


FOUND = Bisection(
    "0" * 12, "tirx.B", "reference", Change.RESULT, 3, 60, "B[0, 3] is nan", DIFFERENCE, "--- before", True
)


@pytest.mark.parametrize(
    ("baseline", "optimised", "there"),
    [
        (Ending.REFUSED, Ending.DIFFERS, False),
        (Ending.REFUSED, Ending.AGREES, True),
        (Ending.DIFFERS, Ending.AGREES, True),
        (Ending.DIFFERS, Ending.DIFFERS, True),
        (Ending.AGREES, Ending.DIFFERS, False),
    ],
)
def test_the_build_that_is_wrong_is_followed_and_not_the_one_that_is_refused(
    baseline: Ending, optimised: Ending, there: bool
) -> None:
    results = Results("defined", baseline=Ran(baseline), optimised=Ran(optimised))
    assert in_baseline(Observation(Exit.OK, Stage.DONE, results=results)) == there


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    assert read_bisection(tmp_path) is None
    for found in (FOUND, Bisection("0" * 12, "")):
        write_bisection(tmp_path, found)
        assert read_bisection(tmp_path) == found
    assert [path.name for path in tmp_path.iterdir()] == [BISECTION]


def test_a_line_says_who_where_and_what() -> None:
    assert FOUND.line() == "tirx.B (pass 4 of 60): after it the program computes something else, in the baseline build"
    assert Bisection("0", "gradient of take").line() == "gradient of take: it is wrong by itself"


@pytest.mark.parametrize(
    "change",
    [
        {"guilty": 1},
        {"index": -1},
        {"index": "3"},
        {"change": "mood"},
        {"build": "both"},
        {"schema_version": 2},
        {"difference": {}},
        {"diff": None},
        {"reduced": 1},
    ],
)
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / BISECTION).write_text(json.dumps(FOUND.to_json() | change))
    with pytest.raises(UserError) as caught:
        read_bisection(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / BISECTION}: ")
    assert next(iter(change)) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"guilty": NaN}'])
def test_what_is_no_bisection_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / BISECTION).write_text(text)
    with pytest.raises(UserError, match=BISECTION):
        read_bisection(tmp_path)


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("wrong-code-optimised-vectorizeloop", True),
        ("invalid-ir-ill-typed-compactbufferallocation", True),
        ("invalid-ir-immutability-annotateentryfunc", False),
        ("wrong-code-schedule-reindex-other-values", False),
        ("crash-passes-narrowdatatype", False),
        ("ice-on-valid-forcenarrowindextoint32", True),
        ("ice-on-valid-legalizeops", False),
    ],
)
def test_the_culprit_is_shown_of_what_a_pass_does_to_the_program(named: str, shown: bool) -> None:
    (path,) = (Path(__file__).parents[2] / "data" / "reports").glob(f"{named}-*")
    assert has_culprit(read_bundle(path)) is shown
