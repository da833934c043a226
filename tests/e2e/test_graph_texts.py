"""The texts in the bundle of a model: scripts and regression tests, each of which says what it is about."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import msgspec
import pytest

from tests.models import (
    CONSTANT,
    INACCURATE,
    OTHER,
    REFUSED,
    RIGHT,
    SQUEEZED,
    behind_log,
    called,
    case_of,
    drawn_module,
    floats,
    observed,
)
from tests.puzzles.conftest import served
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import ILL_FORMED, Exit, Observation, Offence, Stage
from tzerlike.core.results import Results
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.compilation import confirming_limits
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, VaryingExtent, Vertex
from tzerlike.graph.relax import change_of_type
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import in_tvms_words
from tzerlike.graph.stored import model_of
from tzerlike.harnesses.graph import failing
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.harnesses.graph.passes import (
    WITH_ARGUMENTS,
)
from tzerlike.harnesses.graph.program import script_of_model, source_program
from tzerlike.harnesses.graph.regression import applied_test, regression_test, step_test
from tzerlike.harnesses.graph.texts import repro_script, texts, wrong_output
from tzerlike.harnesses.proof import Regression, proved
from tzerlike.oracles.models import judge_errors, judge_results
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api


def _finding(kind: str, case: Case) -> Finding:
    seen = observed(case)
    offences = (Offence(ILL_FORMED, case.passes[0].name, "well-formed", ""),) if kind == "invalid-ir" else ()
    return Finding(kind, (kind,), case, replace(seen, offences=offences))


def written_for(finding: Finding) -> tuple[str, Regression]:
    """The repro and the regression test of a finding."""
    model, limits = model_of(finding.case.ir), Limits()
    script, wrong = script_of_model(model), wrong_output(finding, model)
    return repro_script(finding, model, script, limits, wrong), regression_test(finding, model, script, wrong)


@pytest.mark.parametrize("found, status", [(INACCURATE, 1), pytest.param(RIGHT, 0, marks=pytest.mark.long)])
def test_a_repro_takes_no_tzerlike(found: Model, status: int, tmp_path: Path) -> None:
    """What is right is written down under the finding of what is wrong."""
    finding = replace(_finding("wrong-code", case_of(INACCURATE)), case=case_of(found))
    (tmp_path / "repro.py").write_text(written_for(finding)[0])
    run = [sys.executable, "-I", str(tmp_path / "repro.py")]
    assert subprocess.run(run, capture_output=True, check=False, cwd=tmp_path).returncode == status


def test_a_build_that_takes_a_target_alone_is_one_line() -> None:
    plain = _finding("ice-on-valid", case_of(REFUSED))
    zero = 'tvm.target.Target({"kind": "llvm", "opt-level": 0})'
    assert f"\n    built = relax.build(Module, target={zero})\n" in written_for(plain)[1].text
    usual = replace(plain, case=replace(plain.case, target="llvm"))
    text = written_for(usual)[1].text
    assert '\n    built = relax.build(Module, target="llvm")\n' in text and "mod = " not in text
    lifted = replace(plain, case=replace(plain.case, config=ContextConfig(options=(("tirx.disable_assert", True),))))
    assert "\n    mod = Module\n" in written_for(lifted)[1].text, "options take a context"


def test_a_regression_test_knows_the_variables_of_a_signature(tmp_path: Path) -> None:
    """What is right passes it, written down under the finding of an error."""
    kind = TensorType((5, 2), "float32")
    least = Vertex("min:all", (0,), {"axis": None, "keepdims": False}, (TensorType((), "float32"),))
    model = Model((Origin(kind),), (least,), (1,), variables=((5, 7, 3),))
    varying = msgspec.structs.replace(model, written=(VaryingExtent(5, (0,)),))
    text = written_for(_finding("ice-on-valid", case_of(varying)))[1].text
    assert "TypeVar(" in text
    (tmp_path / "test_it.py").write_text(text)
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.parametrize("shape", [(4, 6), (12, 6)])
def test_values_that_are_searched_for_are_judged_on_and_written_down(shape: tuple[int, ...], tmp_path: Path) -> None:
    model = behind_log(*shape)
    drawn = observed(case_of(msgspec.structs.replace(model, searched=False)))
    assert model.searched and drawn.results == Results("unknown", "no-meaning")
    finding = _finding("wrong-code", case_of(model))
    script, test = written_for(finding)
    assert judge_results(finding.case, finding.observation) is not None
    for name, text, status in (("repro", script, 1), ("fails", test.text, 1), ("cured", test.cured, 0)):
        (tmp_path / f"{name}.py").write_text(text)
        run = [sys.executable, "-I", str(tmp_path / f"{name}.py")]
        assert subprocess.run(run, capture_output=True, check=False, cwd=tmp_path).returncode == status, name


def test_a_request_for_more_memory_than_there_is_is_an_exception_like_others(tmp_path: Path) -> None:
    case = case_of(SQUEEZED, "relax.ConvertLayoutOfConvolutions")
    finding = judge_errors(case, observed(case))
    assert finding is not None
    assert finding.parts[:2] == ("ConvertLayout", "InternalError: std::bad_alloc")
    assert confirming_limits(finding, Limits()).memory > 1 << 45, "the limit of a case has no part in it"
    assert confirming_limits(_finding("ice-on-valid", case_of(REFUSED)), Limits()) == Limits()
    (plainer,) = (attempt() for attempt in HARNESS.reducers["plainer-passes"](case))
    assert HARNESS.size(plainer) < HARNESS.size(case)
    test = applied_test(replace(finding, case=plainer), SQUEEZED, script_of_model(SQUEEZED))
    assert '    mod = relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(Module)\n' in test.text
    assert not re.search("resource|build|Target", test.text)
    (tmp_path / "test_it.py").write_text(test.text)
    (tmp_path / "test_cured.py").write_text(test.cured)
    run = [sys.executable, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rf", str(tmp_path)]
    said = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True).stdout
    assert "1 failed, 1 passed" in said and "FAILED test_it.py" in said and "InternalErr" in said


def test_a_pass_behind_options_is_tested_in_a_build() -> None:
    case = case_of(SQUEEZED, "relax.ConvertLayoutOfNothing")
    config = ContextConfig(options=(("tirx.disable_assert", True),))
    finding = Finding("crash", ("x",), replace(case, config=config), Observation(Exit.CRASH, Stage.PASSES))
    assert not applied_test(finding, SQUEEZED, script_of_model(SQUEEZED)).text
    alone = replace(finding, case=case)
    built = replace(alone, observation=Observation(Exit.CRASH, Stage.BUILD))
    assert applied_test(alone, SQUEEZED, script_of_model(SQUEEZED)).text
    assert not applied_test(built, SQUEEZED, script_of_model(SQUEEZED)).text


def test_a_pass_that_a_failure_does_without_is_in_no_test() -> None:
    names = ("relax.Gradient", "relax.CanonicalizeBindings", "relax.MergeCompositeFunctions")
    model = called("exp", floats())
    case = case_of(model, *names)
    seen = Observation(Exit.REJECTED, Stage.PASSES, "", "MergeCompositeFunctions")
    program = source_program(model, alone=True)
    assert program is not None
    left = failing.without_idle_passes(Finding("ice-on-valid", ("any",), case, seen), model, program.source)
    assert [spec.name for spec in left.case.passes] == [names[0], names[2]]


def test_the_test_of_a_pass_that_fails_on_any_program_is_cured_without_it() -> None:
    case = case_of(SQUEEZED, "relax.CanonicalizeBindings", "relax.ConvertToDataflow", "relax.LegalizeOps")
    seen = Observation(Exit.REJECTED, Stage.PASSES, "", "ConvertToDataflow")
    test = step_test(Finding("ice-on-valid", ("any",), case, seen), SQUEEZED, script_of_model(SQUEEZED))
    left_out = set(test.text.splitlines()) - set(test.cured.splitlines())
    assert {line.partition("= relax.transform.")[2] for line in left_out} == {
        "ConvertToDataflow()(mod)",
        "LegalizeOps()(mod)",
    }


@pytest.mark.long
def test_a_model_that_takes_all_memory_has_a_test_with_a_limit(tmp_path: Path) -> None:
    """ConvertLayout takes it for a squeeze of all dimensions; of what is right the test passes under the limit."""
    model, case = SQUEEZED, case_of(SQUEEZED, "relax.ConvertLayoutOfConvolutions")
    finding = Finding("oom", ("oom",), case, Observation(Exit.OOM, Stage.PASSES, "", "relax.ConvertLayout"))
    written = texts(cast("ForkExecutor", None), finding, Limits(), lambda case: []).test
    (tmp_path / "test_it.py").write_text(written)
    (tmp_path / "test_cured.py").write_text(regression_test(finding, model, script_of_model(model), None).cured)
    for name, status in (("it", 1), ("cured", 0)):
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / f"test_{name}.py")]
        done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == status, done.stdout
        assert "bad_alloc" in done.stdout or not status


def test_regression_tests_fail_of_the_bug_and_pass_without_it(tmp_path: Path) -> None:
    """Of what is wrong, what is refused, and a pass that leaves what no verifier would take, of which there is none."""
    wrong, refused = _finding("wrong-code", case_of(INACCURATE)), _finding("ice-on-valid", case_of(REFUSED))
    formed = _finding("invalid-ir", case_of(CONSTANT, "relax.FoldConstant"))
    tests = {"wrong": wrong, "refused": refused, "formed": formed}
    for name, finding in tests.items():
        written = written_for(finding)[1]
        (tmp_path / f"test_{name}.py").write_text(written.text)
        (tmp_path / f"test_{name}_cured.py").write_text(written.cured)
    run = [sys.executable, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", str(tmp_path)]
    said = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True).stdout
    assert set(re.findall(r"^FAILED (\w+)", said, re.M)) == {"test_wrong", "test_refused"}, said
    assert "4 passed" in said


def test_lines_go_without_which_a_pass_changes_the_type_of_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no other finding of the pass is taken for it, nor what is left without it."""
    monkeypatch.setattr(failing, "made_pass", lambda spec: lambda module: drawn_module(OTHER))
    case = case_of(RIGHT, "relax.Planted")
    offence = Offence(Check.SIGNATURES, "relax.Planted", "the type of main", "one is another")
    finding = Finding("invalid-ir", ("types",), case, Observation(Exit.OK, Stage.DONE, offences=(offence,)))
    script = script_of_model(RIGHT)
    found = failing.shortest_source(finding, RIGHT, script)
    assert "dataflow" in script and "dataflow" not in found and "R.add" not in found
    assert failing.without_idle_passes(finding, RIGHT, found).case.passes == case.passes
    other = replace(
        finding, observation=Observation(Exit.OK, Stage.DONE, offences=(replace(offence, check=ILL_FORMED),))
    )
    assert failing.shortest_source(other, RIGHT, script) == script


def _type(*extents: object) -> object:
    return tvm_api.part("relax").TensorType(extents, "float16")


def test_types_are_told_apart_by_the_values_that_they_take() -> None:
    n, m = (tvm_api.tirx.Var(name, "int64") for name in "nm")
    any_shape = tvm_api.part("relax").TensorType(ndim=2, dtype="float16")
    assert change_of_type(_type(n, n * 2), _type(n, 2 * n)) == ""
    assert change_of_type(_type(n, m), any_shape) == "wider"
    assert change_of_type(any_shape, _type(n, m)) == "narrower"
    assert change_of_type(_type(n, m), _type(n, n)) == "other"


TYPED = """\
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((n,), "float16")):
        lv = R.negative(x0)
        lv1 = R.exp(lv)
        lv2 = R.negative(lv1)
        return lv2
"""


def test_a_type_that_gets_wider_does_so_with_fewer_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the first line, the pass makes another type of it; what it makes of it is in the report."""
    relax = tvm_api.part("relax")

    def planted(module: Any) -> Any:
        func = module["main"]
        kind = relax.TensorType(
            dtype="float16", **({"ndim": 1} if "R.negative(x0)" in str(module) else {"shape": (4,)})
        )
        cast = relax.MatchCast(relax.Var("cast", kind), func.params[0], kind)
        body = relax.SeqExpr([relax.BindingBlock([cast])], cast.var)
        return relax.transform.Normalize()(tvm_api.module_of(relax.Function(func.params, body, kind)))

    monkeypatch.setattr(failing, "made_pass", lambda spec: planted)
    offence = Offence(Check.SIGNATURES, "relax.Planted", "the type of main", "")
    seen = Observation(Exit.OK, Stage.DONE, offences=(offence,))
    finding = Finding("invalid-ir", ("types",), case_of(RIGHT, "relax.Planted"), seen)
    found = failing.shortest_source(finding, RIGHT, TYPED)
    assert "R.negative(x0)" in found and "return R.negative(lv1)" in found
    types = ['R.Tensor((n,), dtype="float16")', 'R.Tensor(dtype="float16", ndim=1)']
    assert failing.types_around(finding, found) == types
    assert failing.types_around(finding, "no module") == []


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_reports_call_a_pass_with_arguments_as_tvm_does(name: str) -> None:
    found = re.search(r"(\w+)\(", WITH_ARGUMENTS[name][1])
    assert found is not None
    assert in_tvms_words(name.removeprefix("relax.")) == found[1]


def test_a_test_fails_of_its_last_statement_alone() -> None:
    """A pass that needs a target is no test of what it changes where there is none."""
    row = next(row for name, row in ROWS.items() if name.startswith("call_tir:"))
    model = random_model(Random(0), 1, Menu([row]), MODEL_LIMITS)
    case = case_of(model, "relax.ApplyDefaultSchedule")
    offence = Offence(Check.IMMUTABILITY, case.passes[0].name, "its input as it was", "")
    finding = Finding("invalid-ir", ("immutability",), case, Observation(Exit.OK, Stage.DONE, offences=(offence,)))
    with served(Lane.prepare(0, NoCoverage(), HARNESS.run_case, HARNESS.jobs), Limits()) as executor:
        test = applied_test(finding, model, script_of_model(model))
        assert test.text and proved(executor, test, finding) == ""
        assert proved(executor, replace(test, until=""), finding), "it fails, but not of what it is about"
