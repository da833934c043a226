"""The part of a regression test that runs the compiled function and compares what it computes."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy
from numpy.typing import NDArray

from tzerlike.core.dtypes import DType
from tzerlike.core.finding import Finding
from tzerlike.core.results import Difference
from tzerlike.execution.compare.inputs import BufferParameter, Parameter
from tzerlike.execution.compare.storage import element_type
from tzerlike.findings.issue.literal import array_source, number_source, weight
from tzerlike.harnesses.tir.running import run_source

_INLINE = 400
"""Numbers that a test lists; where there are more it reads inputs.npz."""

_TAKEN = (
    "np", "tvm", "tirx", "s_tir", "mod", "func", "target", "expected", "Module", "DATA", "ml_dtypes", "T", "I",
    "lowered", "pathlib", "tvm_ffi", "contextlib", "signal", "abs", "float", "told", "Kernel", "time", "seconds",
    "samples", "first", "second", "default", "without",
)  # fmt: skip

_GUARDED = """\
args, buffers = arguments()
func(*args)
for i, name, elements, zones in buffers:
    expected, bound = ARCHIVE[f"expected{i}"], ARCHIVE[f"bound{i}"]
    got = elements.astype(expected.dtype)
    if expected.dtype.kind == "f":
        assert ((abs(got - expected) <= bound) | (bound == np.inf)).all(), name
    else:
        np.testing.assert_array_equal(got[bound == 0], expected[bound == 0], name)
    assert all((zone == 0xA5).all() for zone in zones), f"something was written around {name}"
"""
_GUARDED_CURE = """\
for i, name, elements, zones in buffers:
    elements[...] = ARCHIVE[f"expected{i}"].astype(elements.dtype)
"""
_GUARDED_IMPORTS = ("import pathlib", "import ml_dtypes", "import numpy as np", "import tvm_ffi")


@dataclass(frozen=True, slots=True)
class Run:
    """Statements that call `func` and assert what it computes, with the definitions and imports that they need.

    `cured` are the same with what is expected in place of what the call computes.
    """

    body: str = ""
    helpers: str = ""
    imports: tuple[str, ...] = ()
    cured: str = ""


@dataclass(frozen=True, slots=True)
class _Arguments:
    """How a test makes an argument of an array, and an array of an argument."""

    made: str
    read: str


_TENSORS = _Arguments("tvm.runtime.tensor({})", "{}.numpy()")
_ARRAYS = _Arguments("{}", "{}")


def emulated_run(finding: Finding, parameters: Sequence[Parameter], arrays: Mapping[str, NDArray[Any]]) -> Run | None:
    """The run of a kernel in tzerlike.harnesses.tir.emulator, which takes arrays; None where it cannot take them."""
    results = finding.observation.results
    if results is None or not all(map(is_compact, parameters)):
        return None
    return _plain_run(parameters, arrays, results.blamed.difference, _ARRAYS)


def run_of(finding: Finding, parameters: Sequence[Parameter], arrays: Mapping[str, NDArray[Any]]) -> Run:
    """Return the run of wrong code on the inputs in `arrays`, the contents of inputs.npz."""
    results = finding.observation.results
    difference = None if results is None else results.blamed.difference
    outside = difference is not None and difference.nature == "outside"
    if outside or not all(is_compact(each) or _is_apart(each) for each in parameters):
        cured = _GUARDED.replace("func(*args)\n", _GUARDED_CURE)
        return Run(_GUARDED, run_source(parameters), _GUARDED_IMPORTS, cured)
    return _plain_run(parameters, arrays, difference, _TENSORS)


def is_compact(parameter: Parameter) -> bool:
    """Whether `tvm.runtime.tensor` makes the argument of an array: compact, and one lane an element."""
    if not isinstance(parameter, BufferParameter):
        return True
    return not parameter.strides and parameter.dtype.lanes == 1 and element_type(parameter.dtype) is not None


def _is_apart(parameter: Parameter) -> bool:
    """Whether an argument with strides can be a view of NumPy's: a dtype of its own, no two elements in one place."""
    if not isinstance(parameter, BufferParameter) or not is_compact(replace(parameter, strides=())):
        return False
    extents, strides = parameter.shape, parameter.strides
    least = [*(stride * extent for stride, extent in zip(strides[1:], extents[1:], strict=True)), 1]
    own = "ml_dtypes" not in dtype_source(parameter.dtype)
    return own and 0 not in extents and all(stride >= one for stride, one in zip(strides, least, strict=True))


def _view(parameter: BufferParameter) -> str:
    """Source of an array of such a parameter, in memory that TVM aligns; its elements are not set yet."""
    kind = element_type(parameter.dtype)
    assert kind is not None
    size = 1 + sum((extent - 1) * stride for extent, stride in zip(parameter.shape, parameter.strides, strict=True))
    memory = f"np.from_dlpack(tvm.runtime.empty(({size},), {dtype_source(parameter.dtype)}))"
    steps = tuple(stride * kind.itemsize for stride in parameter.strides)
    return f"np.lib.stride_tricks.as_strided({memory}, {parameter.shape}, {steps})"


def _plain_run(
    parameters: Sequence[Parameter],
    arrays: Mapping[str, NDArray[Any]],
    difference: Difference | None,
    form: _Arguments,
) -> Run:
    names = argument_names(parameters)
    given = list(names)
    compared = _compared(parameters, arrays, difference)
    listed = sum(
        weight(arrays[f"argument{i}"]) for i, each in enumerate(parameters) if isinstance(each, BufferParameter)
    )
    inline = listed + sum(weight(arrays[f"expected{i}"]) for i in compared) <= _INLINE
    imports = {"import numpy as np"}
    lines = [] if inline else ['DATA = np.load(pathlib.Path(__file__).with_name("inputs.npz"))']
    imports |= set() if inline else {"import pathlib"}
    for i, parameter in enumerate(parameters):
        values = arrays[f"argument{i}"]
        if not isinstance(parameter, BufferParameter):
            lines.append(f"{names[i]} = {number_source(values.item())}")
            continue
        dtype = dtype_source(parameter.dtype)
        imports |= {"import ml_dtypes"} if "ml_dtypes" in dtype else set()
        made = array_source(values, dtype) if inline else f'DATA["argument{i}"].astype({dtype})'
        if parameter.strides:
            imports |= {"import tvm_ffi"}
            lines += [f"{names[i]} = {_view(parameter)}", f"{names[i]}[...] = {made}"]
            given[i] = f"tvm_ffi.from_dlpack({names[i]})"
        else:
            lines.append(f"{names[i]} = {form.made.format(made)}")
    compared_lines, computed = [], []
    for i in compared:
        dtype = dtype_source(parameters[i].dtype)
        expected = array_source(arrays[f"expected{i}"], '"float64"') if inline else f'DATA["expected{i}"]'
        strided = given[i] != names[i]
        right = f"{expected}.astype({dtype})"
        computed.append(f"{names[i]}[...] = {right}" if strided else f"{names[i]} = {form.made.format(right)}")
        read = names[i] if strided else form.read.format(names[i])
        compared_lines += _comparison(i, read, parameters[i].dtype, arrays, inline, difference)
    body, cured = ("\n".join([*lines, *call, *compared_lines]) for call in ([f"func({', '.join(given)})"], computed))
    return Run(body, "", tuple(sorted(imports)), cured)


def argument_names(parameters: Sequence[Parameter]) -> list[str]:
    """A Python name for each argument, that of the parameter where it can be."""
    names: list[str] = []
    for i, parameter in enumerate(parameters):
        name = parameter.name
        usable = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
        names.append(name if usable and name not in _TAKEN and name not in names else f"argument{i}")
    return names


def _compared(
    parameters: Sequence[Parameter], arrays: Mapping[str, NDArray[Any]], difference: Difference | None
) -> list[int]:
    """The buffers to compare: those that the program changes, and the one that differed; all where that is none."""
    buffers = [i for i, each in enumerate(parameters) if isinstance(each, BufferParameter) and f"expected{i}" in arrays]
    wanted = [
        i
        for i in buffers
        if (difference is not None and difference.parameter == i)
        or not numpy.array_equal(arrays[f"argument{i}"], arrays[f"expected{i}"])
    ]
    return wanted or buffers


def _comparison(
    position: int,
    read: str,
    dtype: DType,
    arrays: Mapping[str, NDArray[Any]],
    inline: bool,
    difference: Difference | None,
) -> list[str]:
    expected, bound = arrays[f"expected{position}"], arrays[f"bound{position}"]
    kind = '"float64"' if dtype.is_float else dtype_source(dtype)
    made = array_source(expected, kind) if inline else f'DATA["expected{position}"]'
    got = f'{read}.astype("float64")' if dtype.is_float else read
    lines = [f"expected = {made}"]
    told = numpy.isfinite(bound)
    if not told.all():
        where = array_source(told, '"bool"') if inline else f'np.isfinite(DATA["bound{position}"])'
        tolerance = f"rtol=0, atol={float(bound[told].max(initial=0))!r}"
        return [*lines, f"told = {where}", f"np.testing.assert_allclose({got}[told], expected[told], {tolerance})"]
    if not bound.any():
        return [*lines, f"np.testing.assert_array_equal({got}, expected)"]
    widest = float(f"{float(bound.max()) * 1.05:.1e}")
    if _still_differs(difference, position, widest):
        return [*lines, f"np.testing.assert_allclose({got}, expected, rtol=0, atol={widest})"]
    bounds = array_source(bound, '"float64"') if inline else f'DATA["bound{position}"]'
    return [*lines, f"assert (abs({got} - expected) <= {bounds}).all()"]


def _still_differs(difference: Difference | None, position: int, bound: float) -> bool:
    """Whether one bound for all elements, the widest, leaves the known difference one."""
    if difference is None or difference.parameter != position:
        return True
    off = abs(float(difference.got) - float(difference.expected))
    return not off <= bound


def dtype_source(dtype: DType) -> str:
    kind = element_type(dtype)
    assert kind is not None
    return f"ml_dtypes.{kind.name}" if hasattr(ml_dtypes, kind.name) else f'"{kind.name}"'
