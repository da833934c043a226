"""What TVM 0.27 does to types and to its input: found, and shown by a repro.py with tvm alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.e2e.conftest import Command
from tests.planted.invalid import ILL_TYPED, with_statement
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.effort import Check, Effort
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import ILL_FORMED
from tzerlike.core.observation import Exit, Observation, Offence, Stage
from tzerlike.execution.stages import run_case
from tzerlike.harnesses.proof import Regression
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.harnesses.tir.invalid import watch_source
from tzerlike.harnesses.tir.regression_modules import applied_test, fewest_steps, invalid_ir_test, stepwise_test
from tzerlike.harnesses.tir.script import repro_script
from tzerlike.mutators import MutationEnv
from tzerlike.mutators.attempt import attempted
from tzerlike.oracles import judged, make_oracles
from tzerlike.passes.catalog import own_name
from tzerlike.passes.dlight import DLIGHT
from tzerlike.processes.channel import Channel
from tzerlike.processes.forked import in_child
from tzerlike.processes.job import ALONE
from tzerlike.systems import tvm_api

NARROWED = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(T.int64(8)):
        A[T.popcount(i) % T.int64(8)] = T.float32(1)
"""
PLAIN = NARROWED.replace("T.popcount(i) % T.int64(8)", "i")
CUDA = '{"kind": "cuda", "arch": "sm_90"}'
EFFORT = Effort(frozenset({Check.TYPES, Check.IMMUTABILITY}))


def case_of(text: str) -> Case:
    module = tvm_api.module_of(tvm_api.parse_script(text))
    return Case(tvm_api.dump_ir(module), (PassSpec("tirx.ForceNarrowIndexToInt32"),))


def findings(case: Case) -> list[Finding]:
    answer, _ = in_child(lambda: json.dumps(run_case(case, Channel(), ALONE, EFFORT)["offences"]))
    assert answer is not None
    seen = Observation(Exit.OK, Stage.DONE, offences=tuple(Offence(**one) for one in json.loads(answer)))
    return judged(make_oracles(("ill-typed", "immutability")), case, seen)


def status(finding: Finding, directory: Path) -> int:
    """How the repro.py of a finding ends."""
    path = directory / "repro.py"
    path.write_text(repro_script(finding, Limits(), ""))
    ended = subprocess.run([sys.executable, path], cwd=directory, capture_output=True, check=False, text=True)
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.returncode


def ends(test: str, directory: Path) -> int:
    """How a regression test ends."""
    path = directory / "test_regression.py"
    path.write_text(test)
    return subprocess.run([sys.executable, path], capture_output=True, check=False).returncode


@pytest.mark.long
def test_forced_narrow_indices_leave_calls_ill_typed(tmp_path: Path) -> None:
    """The operand of tirx.popcount is an int32 behind the pass, and the call an int64 still."""
    types, changed = findings(case_of(NARROWED))
    assert types.parts == ("ill-typed", "ForceNarrowIndexToInt32", "call")
    assert changed.parts == ("immutability", "AnnotateEntryFunc")
    wrong = changed.observation.offences[0].where
    assert wrong == "afterwards main of the input module has the attribute tirx.is_entry_func"
    assert status(types, tmp_path) == 1
    assert status(replace(types, case=case_of(PLAIN)), tmp_path) == 0
    test = invalid_ir_test(types, tvm_api.script_of(tvm_api.load_ir(types.case.ir)))
    assert "def test_force_narrow_index_to_int32_types():" in test.text
    assert "tzerlike" not in test.text
    assert (ends(test.text, tmp_path), ends(test.cured, tmp_path)) == (1, 0)
    plain = tvm_api.script_of(tvm_api.load_ir(case_of(PLAIN).ir))
    assert ends(invalid_ir_test(types, plain).text, tmp_path) == 0
    assert [finding.parts[0] for finding in findings(case_of(PLAIN))] == ["immutability"]


@pytest.mark.long
def test_the_entry_function_is_annotated_in_the_input(tmp_path: Path) -> None:
    (changed,) = findings(case_of(PLAIN))
    assert status(changed, tmp_path) == 1
    test = invalid_ir_test(changed, "")
    (tmp_path / "case.json").write_text(json.dumps({"case": changed.case.to_json()}))
    assert (ends(test.text, tmp_path), ends(test.cured, tmp_path)) == (1, 0)
    (offence,) = changed.observation.offences
    other = replace(changed.observation, offences=(replace(offence, pass_name="tirx.StmtSimplify"),))
    assert status(replace(changed, observation=other), tmp_path) == 0


@pytest.mark.long
def test_a_pass_that_changes_its_input_is_shown_without_a_pipeline(tmp_path: Path) -> None:
    (changed,) = findings(case_of(PLAIN))
    test = applied_test(changed, tvm_api.script_of(tvm_api.load_ir(changed.case.ir)))
    assert "    tirx.transform.AnnotateEntryFunc()(Module)\n" in test.text and "instrument" not in test.text
    assert (ends(test.text, tmp_path), ends(test.cured, tmp_path)) == (1, 0)
    (offence,) = changed.observation.offences
    raises = replace(changed.observation, offences=(replace(offence, pass_name="tirx.SplitHostDevice"),))
    test = applied_test(replace(changed, observation=raises), tvm_api.script_of(tvm_api.load_ir(changed.case.ir)))
    assert ends(test.cured, tmp_path) == 1, "what raises shows nothing"
    typed = replace(changed.observation, offences=(replace(offence, check=Check.TYPES.value),))
    assert applied_test(replace(changed, observation=typed), "") == Regression(), "ill-typed IR takes a look at it"


@pytest.mark.long
def test_ill_typed_ir_that_a_build_raises_on_is_shown_by_the_build(tzerlike: Command, tmp_path: Path) -> None:
    path, out = tmp_path / "mine.py", tmp_path / "bundle"
    path.write_text("""
from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer((2,), "float8_e5m2")):
    for i in T.vectorized(2):
        A[i] = T.float8_e5m2(0)
""")
    done = tzerlike("run", path, "--oracles", "ill-typed", "--out", out)
    (bundle,) = out.iterdir()
    assert bundle.name.startswith("invalid-ir-ill-typed-fp8computelegalize"), done.stdout + done.stderr
    test = (bundle / "test_regression.py").read_text()
    assert 'tvm.compile(Module, target="llvm")' in test and "instrument" not in test
    assert ends(test, tmp_path) == 1


@pytest.mark.long
def test_a_pass_that_changes_its_input_is_called_behind_the_passes_that_it_takes(tmp_path: Path) -> None:
    script = """
@T.prim_func
def main(A: T.Buffer((), "float32")):
    for i in T.thread_binding(1, thread="threadIdx.x"):
        A[()] = T.float32(0)
"""
    offence = Offence(Check.IMMUTABILITY.value, "tirx.SplitHostDevice", "", "")
    case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(script))), target=CUDA)
    split = Finding("invalid-ir", ("x",), case, Observation(Exit.OK, Stage.DONE, offences=(offence,)))
    printed = tvm_api.script_of(tvm_api.load_ir(case.ir))

    lowered = fewest_steps(split)
    assert lowered is not None and lowered.passes == (PassSpec("s_tir.LowerOpaqueBlock"),)
    test = stepwise_test(replace(split, case=lowered), printed)
    assert (ends(test.text, tmp_path), ends(test.cured, tmp_path)) == (1, 0)
    assert "instrument" not in test.text
    other = replace(
        split, observation=replace(split.observation, offences=(replace(offence, pass_name="tirx.Simplify"),))
    )
    assert fewest_steps(other) is None, "the pass is not one of the pipeline"


@pytest.mark.parametrize("name", ["sum of two widths", "loop up to another width", "axis with another value"])
def test_the_repro_of_a_rule_shows_nothing_where_the_rule_holds(name: str, tmp_path: Path) -> None:
    rule, _ = ILL_TYPED[name]
    offence = Offence("types", "tirx.StmtSimplify", rule, "")
    seen = Observation(Exit.OK, Stage.DONE, offences=(offence,))
    assert status(Finding("invalid-ir", ("ill-typed", "StmtSimplify", rule), case_of(PLAIN), seen), tmp_path) == 0


@pytest.mark.parametrize("name", [name for name, (rule, _) in ILL_TYPED.items() if rule == "loop"])
def test_the_repro_of_a_loop_looks_for_what_is_wrong_with_it(name: str) -> None:
    found: dict[str, Any] = {
        "tvm": tvm_api.tvm,
        "tirx": tvm_api.tirx,
        "s_tir": tvm_api.s_tir,
        "tvm_ffi": tvm_api.tvm_ffi,
    }
    exec(watch_source(Offence("types", "tirx.P", "loop", "")), found)
    assert found["is_bad"](ILL_TYPED[name][1]())
    right = tvm_api.parse_script(PLAIN).body
    assert not found["is_bad"](right)


def test_an_instrument_knows_passes_by_the_names_that_they_give_themselves() -> None:
    dlight = tvm_api.part("s_tir.dlight")
    assert own_name(DLIGHT) == dlight.ApplyDefaultSchedule(dlight.gpu.Fallback()).info.name
    assert own_name("tirx.ForceNarrowIndexToInt32") == "tirx.NarrowDataType"
    assert own_name("tirx.AnnotateEntryFunc") == "tirx.AnnotateEntryFunc"
    assert f"info.name == {own_name(DLIGHT)!r}" in watch_source(Offence(Check.IMMUTABILITY.value, DLIGHT, "", ""))


@pytest.mark.long
def test_a_condition_of_lanes_is_shown(tmp_path: Path) -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in T.vectorized(4):
        assert A[i] < 3, "small"
        A[i] = 1
"""
    found = replace(case_of(text), passes=())
    types, _ = findings(found)
    assert types.parts == ("ill-typed", "VectorizeLoop", "condition")
    assert (status(types, tmp_path), status(replace(types, case=case_of(PLAIN)), tmp_path)) == (1, 0)
    test = invalid_ir_test(types, tvm_api.script_of(tvm_api.load_ir(found.ir)))
    assert (ends(test.text, tmp_path), ends(test.cured, tmp_path)) == (1, 0)


class _Forgets:
    name = "forgets"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        return with_statement(func, ILL_TYPED["llvm.abs of one operand"][1]())


def test_an_ill_typed_child_is_not_taken() -> None:
    func = tvm_api.entry_of(tvm_api.load_ir(case_of(PLAIN).ir))
    assert tvm_api.well_formed(tvm_api.module_of(_Forgets()(func, Random(0), MutationEnv())))
    attempt = attempted(_Forgets(), func, Random(0), MutationEnv())
    assert (attempt.text, attempt.why) == (None, ILL_FORMED)


def test_a_smaller_program_has_to_be_as_well_typed_as_the_one_that_was_found() -> None:
    case = case_of(PLAIN)
    func = with_statement(tvm_api.entry_of(tvm_api.load_ir(case.ir)), ILL_TYPED["intrinsic number 0"][1]())
    assert {"types", "form"} < HARNESS.accepted(case)
    found = HARNESS.accepted(replace(case, ir=tvm_api.dump_ir(tvm_api.module_of(func))))
    assert "form" in found and "types" not in found
