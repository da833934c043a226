"""Mutations that kill: planted mutators declare what must become of them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.puzzles.conftest import BLOCKS, fake_run_case, served
from tzerlike.core.case import Case, Provenance
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import Mutation
from tzerlike.core.stored import StoredCase
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import read_bundle
from tzerlike.findings.bundles.mutation_crash import bundle_mutation
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.mutators import MutationEnv
from tzerlike.oracles import examiner
from tzerlike.oracles import mutation as of_mutation
from tzerlike.oracles.crash import PROBE
from tzerlike.oracles.examiner import ask_for
from tzerlike.oracles.mutation import repeat
from tzerlike.oracles.schedule_trace import Tape, without_refused
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api


class Planted:
    """A mutator with a schedule, an attempt that is refused, and an end of its own."""

    name = "planted"

    def __init__(self, end: Callable[[], None]) -> None:
        self.end = end

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        schedule = tvm_api.s_tir.Schedule(tvm_api.module_of(func))
        block = schedule.get_sblock("b")
        with contextlib.suppress(tvm_api.s_tir.ScheduleError):
            schedule.compute_inline(block)
        (loop,) = schedule.get_loops(block)
        outer, inner = schedule.split(loop, [4, None])
        schedule.vectorize(inner)
        self.end()
        schedule.unroll(outer)
        return schedule.mod["main"]


CALLS = (
    "v1 = sch.get_sblock('b')",
    "v3 = sch.get_loops(v1)",
    "v4 = sch.split(v3[0], [4, None])",
    "v5 = sch.vectorize(v4[1])",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.fixture
def case() -> Case:
    return Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(BLOCKS))))


@contextlib.contextmanager
def planted(monkeypatch: pytest.MonkeyPatch, end: Callable[[], None]) -> Iterator[ForkExecutor]:
    """An executor whose children have a mutator that comes to this end."""
    monkeypatch.setattr(of_mutation, "make_mutators", lambda names: (Planted(end),))
    lane = Lane.prepare(0, NoCoverage(), fake_run_case, {**examiner.JOBS, **HARNESS.jobs})
    with served(lane, Limits()) as executor:
        yield executor


def mutation(case: Case) -> Mutation:
    return Mutation(seed=1, worker=0, iteration=5, draw=0, mutator="planted", parent=case.id)


def test_the_last_call_is_the_one_that_kills(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    with planted(monkeypatch, die) as executor:
        tried = repeat(ask_for(PROBE, executor.call), mutation(case), case)
    assert tried.signal == signal.SIGSEGV
    assert tried.calls == CALLS


def test_the_calls_that_kill_are_made_again_on_another_program(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    """They are what a smaller program is tried with, and what is made fewer; the planted death is that of a primitive
    here."""
    held = {"mutation": mutation(case).to_json(), "calls": list(CALLS)}
    monkeypatch.setattr(tvm_api.s_tir.Schedule, "vectorize", lambda *args: die())
    other = replace(case, ir=case.ir.replace('"b"', '"c"'))
    with planted(monkeypatch, lambda: None) as executor:
        ask = ask_for(PROBE, executor.call)
        look = of_mutation.look_again(ask, case, held)
        (finding,) = look.findings
        assert finding.parts == ("mutate", "Schedule.vectorize", "SIGSEGV")
        assert finding.observation.backtrace and look.held["calls"][-1] == "v4 = sch.vectorize(v3[1])"
        less = [fewer["calls"] for fewer in of_mutation.smaller(look.held)]
        looks, given = look.held["calls"][:2], "v4 = sch.vectorize(v2[0])"
        assert less == [[*looks, given]], "each takes what the one before it gives, or was given"
        idle = [CALLS[0], "v2 = sch.get_loops(v1)", *CALLS[1:]]
        assert [*CALLS] in [fewer["calls"] for fewer in of_mutation.smaller({"calls": idle})]
        assert not of_mutation.look_again(ask, other, held).findings, "no block is called so"


def test_a_mutation_that_kills_is_bundled_and_replayed_where_its_calls_alone_do_not(
    monkeypatch: pytest.MonkeyPatch, case: Case, tmp_path: Path
) -> None:
    (tmp_path / "findings").mkdir()
    stored = StoredCase(case, Provenance("test"))
    with planted(monkeypatch, die) as executor:
        path = bundle_mutation(mutation(case), signal.SIGSEGV, stored, tmp_path / "findings", executor, HARNESS, {})
        assert path is not None
        held = read_bundle(path).environment
        assert held["calls"] == [], "they alone do not kill here"
        assert of_mutation.look_again(ask_for(PROBE, executor.call), case, held).findings
    assert path.name.startswith("crash-mutate-schedule-vectorize-sigsegv-")
    # The planted death is not TVM's, so no script of TVM alone shows it.
    assert "Needs tzerlike." in (path / "repro.py").read_text()


def test_a_mutation_that_does_not_kill_again_is_not_bundled(
    monkeypatch: pytest.MonkeyPatch, case: Case, tmp_path: Path
) -> None:
    stored = StoredCase(case, Provenance("test"))
    with planted(monkeypatch, lambda: None) as executor:
        assert bundle_mutation(mutation(case), signal.SIGSEGV, stored, tmp_path, executor, HARNESS, {}) is None
    assert list(tmp_path.iterdir()) == []


def test_refused_calls_are_left_out() -> None:
    lines = ["v1 = sch.a()", "v2 = sch.b(v1)", "# the call above was refused: v2", "v3 = sch.c(v1)"]
    assert without_refused(lines) == ["v1 = sch.a()", "v3 = sch.c(v1)"]


@pytest.mark.parametrize("value", [None, True, 3, 0.5, "x", ("read", 0), (1,), (), [1, ("a", None)], []])
def test_arguments_are_written_so_that_they_read_back(value: object) -> None:
    assert eval(Tape(lambda line: None).text(value)) == value


def test_an_argument_without_a_text_is_refused() -> None:
    with pytest.raises(ValueError, match="no text for a function"):
        Tape(lambda line: None).text(lambda: 0)


def test_a_strangers_program_that_does_not_load_is_no_crash(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    broken = replace(case, ir=case.ir.replace('"iter_values"', '"other"'))
    assert broken.ir != case.ir
    with planted(monkeypatch, die) as executor:
        tried = repeat(ask_for(PROBE, executor.call), mutation(case), broken)
    assert (tried.signal, tried.calls) == (0, ())


OPEN = """
@T.prim_func(s_tir=True)
def main(B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("b"):
            v = T.axis.spatial(4, i)
            T.reads()
            T.writes(B[i])
            B[i] = v
"""


def test_calls_on_a_program_that_no_schedule_takes_are_no_crash(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    """A reducer may make one, of which TVM says that it is not well-formed."""
    func = tvm_api.tvm.script.from_source(OPEN, check_well_formed=False)
    used = replace(case, ir=tvm_api.dump_ir(tvm_api.module_of(func)))
    with planted(monkeypatch, die) as executor:
        tried = repeat(ask_for(PROBE, executor.call), mutation(case), used, calls=CALLS)
    assert (tried.signal, tried.calls) == (0, ())
