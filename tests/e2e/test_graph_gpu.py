"""Whole models that are built for a GPU: what is found there without one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import msgspec
import pytest

from tests.models import ALL, Drafted, called, case_of, floats, observed
from tzerlike.core.effort import Check
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.results import Results
from tzerlike.execution.cuda.toolchain import find_cuda_toolchain
from tzerlike.execution.executor import ForkExecutor
from tzerlike.graph.model import Origin, TensorType, VaryingExtent
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.harnesses.graph.program import script_of_model
from tzerlike.harnesses.graph.regression import regression_test
from tzerlike.harnesses.graph.texts import repro_script
from tzerlike.oracles.models import judge_errors
from tzerlike.systems import tvm_build

HALVES = Origin(TensorType((3,), "float16"))
CUDA = '{"arch": "sm_80", "kind": "cuda"}'


@pytest.fixture
def without_nvcc() -> None:
    """TVM leaves its source as it is."""
    tvm_build.compile_cuda_with(lambda source: b"")


@pytest.mark.usefixtures("without_nvcc")
def test_a_model_is_built_for_a_gpu_and_not_run() -> None:
    case = replace(case_of(called("nn.softmax", floats(8, 33), axis=1)), target=CUDA)
    seen = observed(case)
    assert seen.exit is Exit.OK and seen.results == Results("unknown", "not-run")


@pytest.mark.usefixtures("without_nvcc")
def test_what_fails_on_a_gpu_is_found_there_with_a_test_that_shows_it(tmp_path: Path) -> None:
    """The inverse hyperbolic sine of half precision has no code on one."""
    model = called("asinh", HALVES)
    case = replace(case_of(model, "relax.FoldConstant"), target=CUDA)
    seen = observed(case)
    assert seen.exit is Exit.REJECTED and "tirx.asinh" in seen.message
    case = replace(case, passes=())
    finding = judge_errors(case, observed(case))
    assert finding is not None and finding.kind == "ice-on-valid"
    assert {one.target for one in HARNESS.carried(cast("ForkExecutor", None), finding)} == {CUDA}
    test = regression_test(finding, model, script_of_model(model), None)
    for text, status in ((test.text, 1), (test.cured, 0)):
        (tmp_path / "test_it.py").write_text(text)
        run = [sys.executable, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")]
        assert subprocess.run(run, capture_output=True, check=False, cwd=tmp_path).returncode == status, text


@pytest.mark.skipif(find_cuda_toolchain() is None, reason="needs NVRTC (extra `cuda`)")
@pytest.mark.usefixtures("without_nvcc")
def test_source_for_a_gpu_that_nvrtc_refuses_is_found_with_a_test_that_shows_it(tmp_path: Path) -> None:
    """TVM rounds half precision by a function that CUDA does not have."""
    model = called("round", HALVES)
    case = replace(case_of(model), target=CUDA)
    sources = replace(ALL, checks=ALL.checks | {Check.DEVICE_SOURCE})
    finding = judge_errors(case, observed(case, sources))
    assert finding is not None and finding.observation.stage is Stage.COMPILE_DEVICE
    assert "hnearbyint is undefined" in finding.observation.message
    script = script_of_model(model)
    test, repro = regression_test(finding, model, script, None), repro_script(finding, model, script, Limits(), None)
    (tmp_path / "repro.py").write_text(repro)
    (tmp_path / "test_it.py").write_text(test.text)
    (tmp_path / "test_cured.py").write_text(test.cured)
    runs = (("repro.py", 1), ("-m pytest -q -p no:cacheprovider test_it.py", 1), ("-m pytest -q test_cured.py", 0))
    for words, status in runs:
        run = [sys.executable, *words.split()]
        done = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True)
        assert done.returncode == status and "skipped" not in done.stdout, (
            words,
            done.stdout[-800:],
            done.stderr[-800:],
        )


@pytest.mark.skipif(find_cuda_toolchain() is None, reason="needs NVRTC (extra `cuda`)")
@pytest.mark.usefixtures("without_nvcc")
def test_no_pass_is_to_blame_without_which_nvrtc_refuses_the_source_as_well() -> None:
    """ConvertSSA leaves a variable free in the source of `cumsum`, which NVRTC does not mind."""
    square = Origin(TensorType((2, 2), "float16"))
    drafted = Drafted(square, Origin(TensorType((1, 2, 2), "float16")))
    model = drafted.model(drafted.call("round", 0), drafted.call("cumsum", 1, axis=-3, exclusive=False))
    varying = msgspec.structs.replace(model, variables=((2, 5, 6),), written=(VaryingExtent(2, (0,), 1, 0),))
    seen = observed(replace(case_of(varying), target=CUDA), replace(ALL, checks=ALL.checks | {Check.DEVICE_SOURCE}))
    assert "hnearbyint is undefined" in seen.message and seen.origin is None
