"""Bugs that no build shows: the type checker, immutability or the oracle of primitives sees them, and names who."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.planted.forgetful import FORGETFUL, PROGRAM
from tests.planted.invalid import CHANGES_INPUT
from tests.planted.primitives import PRIMITIVES
from tests.planted.test_invalid import ALWAYS
from tests.puzzles.conftest import served
from tests.puzzles.test_metamorphic import base, scheduled
from tzerlike.core.case import TIR, Case, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.coverage import NoCoverage
from tzerlike.execution import stages
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.oracles import ORACLES, effort_for, judged, make_oracles
from tzerlike.oracles.schedules import judge
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api

PLANTED = "tirx.RemoveNoOp"
"""What the planted pass is called: a pass that may stand anywhere."""

ALL = tuple(name for name, row in ORACLES.items() if row.harness in ("", TIR))
"""The oracles that understand cases of tensor IR."""


def found_by_all(monkeypatch: pytest.MonkeyPatch, step: Callable[[Any], Any]) -> list[tuple[str, ...]]:
    """What all oracles say of a compilation that begins with a pass, but for what TVM always does."""
    own = tvm_api.tvm.transform.module_pass(lambda module, _: step(module), opt_level=0, name=PLANTED)
    monkeypatch.setattr(stages, "steps_of", lambda specs: [(PLANTED, own)])
    module = tvm_api.module_of(tvm_api.parse_script(PROGRAM))
    case = Case(tvm_api.dump_ir(module), (PassSpec(PLANTED),))
    with served(Lane.prepare(0, NoCoverage(), HARNESS.run_case, HARNESS.jobs), Limits()) as executor:
        executor.effort = effort_for(ALL)
        (seen,) = executor.run([case], count=False)
    assert not seen.faults
    found: list[Finding] = judged(make_oracles(ALL), case, seen.sound())
    always = {("immutability", name.rpartition(".")[2]) for _, name, _ in ALWAYS}
    return [one.parts for one in found if one.parts not in always]


@pytest.mark.parametrize("name", FORGETFUL)
def test_a_forgetful_pass_is_seen_by_the_type_checker_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rule, step = FORGETFUL[name]
    found = found_by_all(monkeypatch, lambda module: tvm_api.module_of(step(tvm_api.entry_of(module))))
    assert found == [("ill-typed", PLANTED.rpartition(".")[2], rule)]


@pytest.mark.parametrize("name", CHANGES_INPUT)
def test_a_changed_input_is_seen_by_immutability_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert found_by_all(monkeypatch, CHANGES_INPUT[name]) == [("immutability", PLANTED.rpartition(".")[2])]


def test_a_pass_without_a_bug_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_by_all(monkeypatch, lambda module: module) == []


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_wrong_primitive_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """No build shows it: what it makes is a program of its own, which is compiled as it is."""
    text, steps, bug = PRIMITIVES[name]
    original = base(text)
    schedule = scheduled(original, steps)
    assert judge.first_wrong(original, schedule) is None
    applied = judge._applied

    def wrongly(func: Any, trace: Any) -> Any:
        made = applied(func, trace)
        if all(str(instruction.kind.name) != name for instruction in trace.insts):
            return made
        wrong = bug(made)
        assert wrong is not None
        return wrong

    monkeypatch.setattr(judge, "_applied", wrongly)
    suspect = judge.first_wrong(original, schedule)
    assert suspect is not None
    assert suspect.primitive == name


def test_there_are_enough() -> None:
    assert len(FORGETFUL) + len(CHANGES_INPUT) + len(PRIMITIVES) >= 30
