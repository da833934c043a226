"""The regression test of slow code: alternating timings of both builds, on inputs of ones if possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tzerlike.core.finding import Finding
from tzerlike.execution.compare.inputs import BufferParameter, Parameter
from tzerlike.execution.compare.slowdown import SLOWER
from tzerlike.findings.issue.pytest_file import pytest_file, snake_case
from tzerlike.harnesses.proof import Regression
from tzerlike.harnesses.tir.checks import dtype_source, is_compact
from tzerlike.harnesses.tir.regression import build_statements, pieces_of
from tzerlike.harnesses.tir.script import without_guilty
from tzerlike.passes.naming import short_name

_TIMED = """\
arguments = [tvm.runtime.tensor(values) for values in inputs]

def seconds(function):
    for argument, values in zip(arguments, inputs):
        argument.copyfrom(values)
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began

samples = [[seconds(function) for function in (without, default)] for _ in range(200)]
first, second = np.median(samples, axis=0)
assert second < {slower} * first, f"{{first * 1e6:.1f}} us without the pass, {{second * 1e6:.1f}} us with it"
"""


def speed_tests(finding: Finding, script: str, parameters: Sequence[Parameter]) -> Iterator[Regression]:
    """Yield a test on ones, then one on the inputs in inputs.npz; cured is one that times the faster build twice.

    Nothing where NumPy cannot make the arguments.
    """
    if not all(isinstance(parameter, BufferParameter) and is_compact(parameter) for parameter in parameters):
        return
    program, results = pieces_of(script), finding.observation.results
    name = f"{snake_case(short_name(results.guilty)) if results else 'compile'}_speed"
    faster, imports = build_statements(without_guilty(finding), "without", True)
    slower, more = build_statements(replace(finding.case, passes=()), "default", True)
    for read in (False, True):
        lines = ['DATA = np.load(pathlib.Path(__file__).with_name("inputs.npz"))'] * read + ["inputs = ["]
        for i, parameter in enumerate(parameters):
            assert isinstance(parameter, BufferParameter)
            dtype = dtype_source(parameter.dtype)
            made = f'DATA["argument{i}"].astype({dtype})' if read else f"np.ones({parameter.shape}, {dtype})"
            lines.append(f"    {made},")
        lines.append("]")
        wanted = ["import time", "import numpy as np", *imports, *more, *program.imports]
        wanted += ["import pathlib"] * read + ["import ml_dtypes"] * any("ml_dtypes" in line for line in lines)
        timed = _TIMED.format(slower=SLOWER)
        texts = (
            pytest_file(name, [program.inside, "\n".join(lines), built, timed], wanted, [program.outside])
            for built in (faster + slower, faster + "default = without\n")
        )
        yield Regression(*texts)
