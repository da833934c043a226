"""Planted slow passes are found on programs that were made large, and named; the same code twice is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.planted.slow import SLOW, not_vectorised
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Ending, Results
from tzerlike.execution.compare.enlarge import enlarged
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.compare.speed import Race
from tzerlike.harnesses.tir.regression_speed import speed_tests
from tzerlike.harnesses.tir.script import repro_script
from tzerlike.oracles.examiner import Look, Made
from tzerlike.oracles.performance import PROBE, examiner, judge_performance
from tzerlike.passes.catalog import steps_of
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.processes.forked import in_child
from tzerlike.systems.compilation import Compilation
from tzerlike.systems.tvm_api import dump_ir, entry_of, load_ir, module_of, parse_script, script_of, tvm
from tzerlike.tir.allowlist import native

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for k in range(8):
            for j in range(8):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


COPY = """
@T.prim_func
def main({parameters}):
    for i in range(8):
        A1[i] = A0[i]
"""


def program(text: str = PROGRAM) -> str:
    return dump_ir(module_of(parse_script("# from tvm.script import tirx as T\n" + text)))


@pytest.mark.parametrize(("buffers", "grows"), [(2, True), (7, False)])
def test_a_program_grows_as_long_as_there_are_inputs_for_it(buffers: int, grows: bool) -> None:
    parameters = ", ".join(f'A{number}: T.Buffer((8,), "float32")' for number in range(buffers))
    assert (enlarged(program(COPY.format(parameters=parameters)), 0) is not None) == grows


def test_a_loop_that_has_next_to_no_part_in_the_cost_is_not_what_grows() -> None:
    """Twice as many of its rounds cost so little more that no number of them would be large enough."""
    text = """
@T.prim_func
def main(A: T.Buffer((7,), "int32"), B: T.Buffer((9973,), "int32")):
    for i in range(7):
        A[i] = i
    for j in T.parallel(9973):
        B[j] = j
"""
    assert enlarged(program(text), 0) is None


def compilation(planted: Callable[[Any], Any] | None) -> Any:
    """The passes of the default pipeline, the planted one behind those that share and move memory."""
    steps = list(steps_of(default_pipeline().passes))
    place = next(index for index, (name, _) in enumerate(steps) if name == "tirx.AnnotateEntryFunc")
    if planted is not None:
        steps.insert(place, ("planted", lambda module: module_of(planted(entry_of(module)))))
    return Compilation("llvm", ContextConfig(options=(("tirx.disable_assert", True),), pipeline="none"), steps)


def raced(planted: Callable[[Any], Any] | None) -> Results:
    """Both builds timed in a child, the second with the planted pass."""

    def work() -> str:
        large = enlarged(program(), 0)
        assert large is not None
        module = load_ir(large.ir)
        plain, other = (native.entry_point(module, compilation(step).build(module)) for step in (None, planted))
        race = Race(entry_of(module), 0, large.attempt)
        results = race.judged(plain, other)
        seen = {"slow": race.looks_slow(plain, other), "results": results.to_json()}
        timing = race.timed(plain, other)
        return json.dumps(seen | {"timing": [timing.baseline, timing.optimised, timing.floor]})

    answer, signal = in_child(work)
    assert answer is not None, f"died of signal {signal}"
    seen = json.loads(answer)
    results = Results.from_json(
        {
            **seen["results"],
            "timing": dict(zip(("reference", "optimised", "floor"), seen["timing"], strict=True)),
            "guilty": "planted",
        }
    )
    assert (results.defined, results.baseline.ending, results.optimised.ending) == (True, Ending.AGREES, Ending.AGREES)
    finding = judge_performance(Case(program()), Observation(Exit.OK, Stage.DONE, results=results))
    assert (finding is not None) <= seen["slow"], "what is slow looks slow"
    assert finding is None or (finding.kind, finding.parts) == ("slow-code", ("planted",))
    return results if finding is not None else Results("defined")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if at else name for at, name in enumerate(SLOW)]
)
def test_a_slow_pass_is_found(name: str) -> None:
    assert raced(SLOW[name]).timing is not None


def test_the_same_code_twice_is_not() -> None:
    assert raced(None).timing is None


PASS = "tirx.Planted"


class WithPlanted(Compilation):
    """Compiles for LLVM with a slow pass more, unless that is disabled."""

    def build(self, module: Any) -> Any:
        if PASS in self.config.disabled_passes:
            return super().build(module)
        step = tvm.transform.module_pass(lambda it, _: module_of(not_vectorised(entry_of(it))), opt_level=0, name=PASS)
        return Compilation(self.target, self.config, [(PASS, step)], self.instruments).build(module)


def ask(item: Mapping[str, Any]) -> tuple[list[dict[str, Any]], None]:
    """Have a child examine an item."""
    records: list[dict[str, Any]] = []

    class Notebook:
        def enter_stage(self, stage: Stage) -> None:
            return None

        def add_result(self, record: dict[str, Any]) -> None:
            records.append(record)

    def work() -> str:
        examiner.examine(item, Notebook(), 5.0)  # type: ignore[arg-type]
        return json.dumps(records)

    answer, _ = in_child(work)
    return json.loads(answer or "[]"), None


def made(case: Case, *, inserted: bool = True) -> Made:
    return Made(case, inserted, None, None, lambda purpose: pytest.fail("nothing is drawn"))


@pytest.mark.long
def test_a_program_of_a_campaign_is_made_large_and_its_slow_pass_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examiner, "UNASKED", (PASS, "tirx.StmtSimplify"))
    assert examiner.look(ask, made(Case(program()))) == Look(word="timed")
    monkeypatch.setattr(examiner, "Compilation", WithPlanted)
    look = examiner.look(ask, made(Case(program())))
    (finding,) = look.findings
    assert (finding.kind, finding.parts) == ("slow-code", (PASS,))
    assert PROBE.owns(finding, finding.observation, look.held)
    PROBE.check(look.held)
    assert f"--- before {PASS}\n+++ after {PASS}" in PROBE.account(finding, finding.observation, look.held).diff
    assert examiner.look_again(ask, finding.case, look.held).shows(finding)
    monkeypatch.undo()
    assert not examiner.look_again(ask, finding.case, look.held).findings, "the pass is mended"


@pytest.mark.long
def test_a_case_is_chosen_by_itself_and_a_share_of_them() -> None:
    cases = [Case(program(), input_seed=number) for number in range(400)]
    chosen = [case for case in cases if examiner.wants(made(case))]
    assert chosen == [case for case in cases if examiner.wants(made(case))]
    assert 0.5 < len(chosen) * examiner.ONE_IN / len(cases) < 2
    assert not any(examiner.wants(made(case, inserted=False)) for case in cases)
    assert not any(examiner.wants(made(replace(case, target="cuda"))) for case in cases)
    asked = 'T.serial(8, annotations={"software_pipeline_stage": [0]})'
    piped = program(PROGRAM.replace("range(8)", asked, 1))
    assert not any(examiner.wants(made(Case(piped, input_seed=number))) for number in range(400))


def test_what_is_overwritten_is_not_timed() -> None:
    """One of the builds may leave it out."""
    text = PROGRAM.replace("C[i, j] = C[i, j] + A[i, k] * B[k, j]", "C[i, j] = A[i, k] * B[k, j]")
    assert examiner.look(ask, made(Case(program(text)))) == Look(word="overwritten")


def test_memory_of_a_gpu_is_not_timed() -> None:
    text = PROGRAM.replace("    for i in", '    S = T.alloc_buffer((8,), scope="shared")\n    for i in', 1)
    text = text.replace(
        "C[i, j] = C[i, j] + A[i, k] * B[k, j]", "S[j] = B[k, j]\n                C[i, j] = C[i, j] + S[j]"
    )
    assert examiner.look(ask, made(Case(program(text)))) == Look(word="memory of a GPU")


@pytest.mark.long
def test_the_script_of_a_bundle_times_both_builds(tmp_path: Path) -> None:
    """The pass that it is about does nothing here."""
    large = enlarged(program(), 0)
    assert large is not None
    case = Case(large.ir)
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", guilty="tirx.CommonSubexprElim"))
    evidence = evidence_for(case, seen.results)
    (tmp_path / "inputs.npz").write_bytes(evidence.archive)
    finding = Finding("slow-code", ("tirx.CommonSubexprElim",), case, seen)
    text = repro_script(finding, Limits(), "", evidence.parameters)
    assert 'disabled_pass=["tirx.CommonSubexprElim"]' in text
    (tmp_path / "repro.py").write_text(text)
    done = subprocess.run([sys.executable, tmp_path / "repro.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("without the pass ")


@pytest.mark.long
def test_the_test_of_slow_code_fails_while_the_default_build_is_slower(tmp_path: Path) -> None:
    """A pass that does nothing here; with sleeps in place of the functions one build is the slower."""
    case = Case(program())
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", guilty="tirx.CommonSubexprElim"))
    evidence = evidence_for(case, seen.results)
    finding = Finding("slow-code", ("tirx.CommonSubexprElim",), case, seen)
    ones, read = speed_tests(finding, script_of(load_ir(case.ir)), evidence.parameters)
    assert "np.ones((8, 8)" in ones.text and 'DATA["argument0"]' in read.text
    (tmp_path / "inputs.npz").write_bytes(evidence.archive)

    def status(text: str) -> int:
        (tmp_path / "test_regression.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_regression.py"]
        return subprocess.run(command, capture_output=True, check=False).returncode

    began = "began = time.perf_counter()"
    slow = read.text.replace(began, f"{began}\n        time.sleep(0.002 * (function is default))")
    assert slow != read.text and [status(text) for text in (slow, ones.cured)] == [1, 0]
    told = f"assert all((one.numpy() == 1).all() for one in arguments)\n        {began}"
    kept = ones.cured.replace(began, told)
    assert kept.count("== 1") == 1 and status(kept) == 0, "each run finds the inputs as they are given"
