"""Kernels thread by thread in Python, as the tests of bundles run them: TVM's own work, and damage."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.test_cuda_lowered import BARRIER, LOWERED, PROGRAM, of_kernels
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Ending
from tzerlike.core.targets import target_text
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.compare.inputs import BufferParameter
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.compare.storage import element_type
from tzerlike.execution.cuda.lowered import judge_lowered
from tzerlike.execution.diagnosis.meaning import KERNEL_STEPS
from tzerlike.findings.repro import manner_of
from tzerlike.harnesses.tir.emulator import BrokenKernel, Kernel
from tzerlike.harnesses.tir.regression import regression_test
from tzerlike.harnesses.tir.script import repro_script
from tzerlike.systems.compilation import SILENT
from tzerlike.systems.tvm_api import (
    dump_ir,
    entry_of,
    module_of,
    parse_script,
)

A, H = np.arange(32, dtype="float32") / 4, np.arange(32, dtype="float16") % 5


def expected() -> np.ndarray[Any, Any]:
    """What PROGRAM computes."""
    shared = (A + H.astype("float32")).reshape(2, 16)
    reversed_twice = 2 * shared[:, ::-1]
    return (np.roll(shared, -2, axis=1) + reversed_twice[:, ::-1]).reshape(-1)


def run(text: str) -> np.ndarray[Any, Any]:
    out = np.full(32, -1, "float32")
    Kernel(parse_script(text))(A.copy(), H.copy(), out)
    return out


def test_what_is_right_computes_what_the_program_does() -> None:
    np.testing.assert_allclose(run(LOWERED), expected(), rtol=1e-6)


@pytest.mark.parametrize(
    ("was", "damaged", "said"),
    [
        pytest.param(BARRIER, "", r"S\[15\] is read by thread 0 of block 0 before", id="missing barriers"),
        pytest.param(BARRIER + "        for i in range(2):\n            B", "        for i in range(2):\n            B",
                     r"R\[15\] is read by thread 0 of block 0 before", id="missing second barrier"),
        pytest.param("        B[x + i]", "        if tx < 3:\n" + 8 * " " + BARRIER + "            B[x + i]",
                     "3 of 8 threads come to a barrier", id="divergence"),
        pytest.param("R[", "S[", r"data race: S\[7\] is written by thread 3 of block 0",
                     id="shared memory used again too early"),
        pytest.param("S[T.Ramp(tx * 2, 1, 2)] =", "R[T.Ramp(tx * 2, 1, 2)] =", "before anything is written to it",
                     id="what nobody wrote"),
        pytest.param("(tx * 2 + i + 2) % 16", "tx * 2 + i + 2", r"S\[16\] is out of bounds", id="out of bounds"),
        pytest.param("B[x + i] =", "B[bx * 16] =", "thread 0 of block 0 and thread 1 of block 0 write",
                     id="two threads, one place"),
        pytest.param("B[x + i] =", "B[tx * 2 + i] =", "of block 0 and .* of block 1 write", id="two blocks, one place"),
    ],
)  # fmt: skip
def test_what_no_kernel_may_do_is_said(was: str, damaged: str, said: str) -> None:
    assert was in LOWERED
    with pytest.raises(BrokenKernel, match=said):
        run(LOWERED.replace(was, damaged))


@pytest.mark.parametrize(
    ("was", "damaged"),
    [
        ("A[T.Ramp(x, 1, 2)] +", "A[T.Ramp(tx * 2, 1, 2)] +"),
        ("R[15 - tx * 2 - i]", "R[tx * 2 + i]"),
        ("= A[T.Ramp(x, 1, 2)]", "= A[T.Ramp(x, 0, 2)]"),
    ],
)
def test_other_values_are_other_values(was: str, damaged: str) -> None:
    assert was in LOWERED
    assert not np.allclose(run(LOWERED.replace(was, damaged)), expected())


def test_threads_that_write_one_value_to_one_place_do_no_harm() -> None:
    text = LOWERED.replace("B[x + i] =", "B[0] = T.float32(7)\n            B[x + i] =", 1)
    text = text.replace("B[x + i] =", "B[x + i] = T.float32(7) #")
    assert run(text).tolist() == [7.0] * 32


def test_what_it_does_not_know_is_no_verdict() -> None:
    with pytest.raises(NotImplementedError, match="erf"):
        run(LOWERED.replace("* T.float32(2)", "* T.erf(T.float32(2))"))


@pytest.mark.parametrize(
    ("was", "damaged", "words"),
    [(BARRIER, "", "S[15] is read"), ("R[15 - tx * 2 - i]", "R[tx * 2 + i]", "B[0] is ")],
)
def test_the_scripts_of_a_bundle_show_what_is_wrong_and_not_what_is_right(
    was: str,
    damaged: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the device passes leave is damaged here in the texts, which ask TVM for it."""
    func = parse_script(PROGRAM)
    case = Case(dump_ir(module_of(func)), (), ContextConfig(), target_text("cuda"), 1)
    broken = module_of(parse_script(LOWERED.replace(was, damaged)))
    results = judge_lowered(func, broken, case.config, 1, Effort(), SILENT)
    assert results.optimised.ending in (Ending.UNDEFINED, Ending.DIFFERS)
    seen = Observation(Exit.OK, Stage.DONE, results=results)
    finding = Finding("wrong-code", ("optimised",), case, seen)
    evidence = evidence_for(case, results)
    (tmp_path / "inputs.npz").write_bytes(evidence.archive)
    script = module_of(func).script()
    test = regression_test(finding, Limits(), script, evidence.parameters, evidence.archive)
    repro = repro_script(finding, Limits(), script, evidence.parameters, emulated=True)
    assert "exits non-zero" in manner_of(repro)

    def outcome(text: str, func: Any) -> str:
        """How a script ends that gets `func` of TVM's passes: the words of an exception, or its status."""
        file = tmp_path / f"script{len(list(tmp_path.iterdir()))}.py"
        file.write_text(text.replace("Kernel(lowered.func)", "Kernel(GIVEN)"))
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        vars(module)["GIVEN"] = func
        monkeypatch.setitem(sys.modules, file.stem, module)
        try:
            spec.loader.exec_module(module)
        except SystemExit as end:
            return f"status {end.code}"
        return "ends"

    right, wrong = parse_script(LOWERED), entry_of(broken)
    assert outcome(repro, right) == "status 0"
    if words.startswith("S[15]"):
        with pytest.raises(Exception, match=re.escape(words)):
            outcome(repro, wrong)
    else:
        assert outcome(repro, wrong) == "status 1"
        assert words in capsys.readouterr().out
    name = test.text.partition("def test_")[2].partition("(")[0]
    called = f"\n\ntest_{name}()\n"
    assert outcome(test.text + called, right) == "ends"
    with pytest.raises(Exception, match=r"is read|ismatch|Not equal"):
        outcome(test.text + called, wrong)
    assert outcome(test.cured + called, wrong) == "ends"


def test_it_agrees_with_the_interpreter_on_the_kernels_of_tvm() -> None:
    lines = of_kernels(("transpose",), agreement)
    assert not [line for line in lines if "wrong" in line]
    assert len([line for line in lines if line.endswith("right")]) >= 10, lines


def agreement(func: Any, lowered: Any) -> str:
    """Whether a kernel computes what the interpreter finds in its program; "unknown" where one of them cannot say."""
    inputs, judgement, results = interpret_seeded(func, 5, Effort(steps=KERNEL_STEPS))
    if inputs is None or judgement is None or not results.defined:
        return "unknown"
    arrays = [
        np.asarray(value).astype(element_type(parameter.dtype)) if isinstance(parameter, BufferParameter) else value
        for parameter, value in zip(inputs.parameters, inputs.arguments, strict=True)
    ]
    try:
        Kernel(entry_of(lowered))(*arrays)
    except NotImplementedError as error:
        return f"unknown: {error}"
    except BrokenKernel as error:
        return f"wrong: {error}"
    for position, expected in judgement.expected.items():
        if not (abs(arrays[position].astype("float64") - expected.values) <= expected.bound).all():
            return f"wrong: {inputs.parameters[position].name}"
    return "right"
