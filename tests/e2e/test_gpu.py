"""Kernels that run: in a freshly spawned process, with a time limit, against the reference interpreter."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from tests.e2e.conftest import ROOT, environment
from tzerlike import tvm_api
from tzerlike.compare.inputs import inputs_for
from tzerlike.compare.results import compare
from tzerlike.reference import Verdict, prepare
from tzerlike.seedgen.handwritten import definitions
from tzerlike.targets import target_text

RUNNER = ROOT / "tests" / "data" / "run_kernel.py"
PATIENCE = 300

KERNELS = {
    "gpu.py": ("elementwise", "guarded", "explicit_barrier", "register_tile", "vector_load", "two_kernels"),
    "kernels.py": ("half_vectors", "byte_vectors", "two_stages", "tiled_sum", "three_axes", "wide_indices"),
}

ON_THE_CPU = """
@T.prim_func
def main(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = B[i] * 3 + i
        A[i] = A[5 - i] + T.Cast("float32", B[i])
"""


def agrees(text: str, target: str, device: str, directory: Path) -> None:
    """Run the program on a device and compare every buffer with what the interpreter says."""
    func = tvm_api.parse_script(text)
    inputs = next(iter(inputs_for(func, 11)))
    judgement = prepare(func).run(inputs.arguments, 1_000_000)
    assert judgement.verdict is Verdict.DEFINED
    program = directory / "program.py"
    program.write_text(text)
    given = [
        numpy.asarray(argument).astype(str(parameter.dtype))
        for parameter, argument in zip(inputs.parameters, inputs.arguments, strict=True)
    ]
    numpy.savez(directory / "inputs.npz", **{str(place): array for place, array in enumerate(given)})
    order = [sys.executable, RUNNER, program, target, device, directory / "inputs.npz", directory / "results.npz"]
    compiler = "nvcc" if shutil.which("nvcc") else "nvrtc"
    done = subprocess.run(
        list(map(str, order)), env=environment(TVM_CUDA_COMPILE_MODE=compiler), capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    with numpy.load(directory / "results.npz") as results:
        for place, expected in judgement.expected.items():
            dtype = str(inputs.parameters[place].dtype)
            wide = numpy.float64 if dtype.startswith("float") else numpy.int64
            difference = compare(
                place, inputs.parameters[place].name, dtype, results[str(place)].astype(wide), expected, given[place]
            )
            assert difference is None, str(difference)


def test_the_runner_agrees_with_the_interpreter_on_the_cpu(tmp_path: Path) -> None:
    agrees(ON_THE_CPU, '{"kind": "llvm"}', "cpu", tmp_path)


def test_a_wrong_result_does_not_pass(tmp_path: Path) -> None:
    """What runs is not what is interpreted: the comparison has to notice."""
    text = ON_THE_CPU.replace("* 3 + i", "* 3 + i + 1")
    script = RUNNER.read_text()
    assert script.count("file.read()") == 1
    other = tmp_path / "run_other.py"
    other.write_text(script.replace("file.read()", 'file.read().replace("+ i + 1", "+ i")'))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[__name__], "RUNNER", other)
        with pytest.raises(AssertionError, match=r"A\[0\] is "):
            agrees(text, '{"kind": "llvm"}', "cpu", tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in KERNELS.items() for name in names])
def test_kernels_agree_with_the_interpreter_on_the_gpu(file: str, name: str, tmp_path: Path) -> None:
    text = definitions((ROOT / "seeds" / file).read_text(encoding="utf-8"))[name]
    agrees(text, target_text("cuda"), "cuda", tmp_path)
