"""The parts of a `repro.py` that run the compiled program on the inputs next to it."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes

from tzerlike.core.dtypes import DType
from tzerlike.execution.compare.inputs import BufferParameter, Parameter
from tzerlike.execution.compare.slowdown import SLOWER
from tzerlike.execution.compare.storage import element_type
from tzerlike.findings.repro import TIMES_BUILDS

RUN_IMPORTS = """\
import os
import pathlib
import sys
import time

import ml_dtypes
import numpy as np
import tvm_ffi"""

WRONG = """\
Runs the program on the inputs in inputs.npz, next to this file, and exits non-zero while a result differs from what
the program computes; inputs.npz has that too, with the floating-point error that a correct build may make (bound)."""

_PARAMETERS = """
ARCHIVE = np.load(pathlib.Path(__file__).with_name("inputs.npz"))
PARAMETERS = [
    # name, dtype, shape, strides, type of an element; a number passed by value has no shape
{rows}
]

"""

_MEMORY = '''
def in_memory(values, dtype, shape, strides, element):
    """A tensor with `values`, and the bytes that it lies in: 256 on each side that nothing may write to."""
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if strides else values.size
    size = size * element.itemsize if values.size else 0
    arena = np.full(size + 576, 0xA5, np.uint8)
    start = 256 + -(arena.ctypes.data + 256) % 64
    flat = arena[start : start + size].view(element)
    if strides:
        steps = [s * element.itemsize for s in strides]
        elements = np.lib.stride_tricks.as_strided(flat, shape, steps)
        tensor = tvm_ffi.from_dlpack(elements)
    else:
        elements = flat.reshape(values.shape)
        tensor = tvm_ffi.from_dlpack(arena[start : start + size])._create_view(shape, dtype)
    elements[...] = values.astype(element)
    return tensor, elements, (arena[:start], arena[start + size :])


def arguments():
    """The arguments of a call, and of each buffer its position, name, elements and the zones around it."""
    args, buffers = [], []
    for i, (name, dtype, shape, strides, element) in enumerate(PARAMETERS):
        values = ARCHIVE[f"argument{i}"]
        if shape is None:
            args.append(values.item())
        else:
            tensor, elements, zones = in_memory(values, dtype, shape, strides, element)
            args.append(tensor)
            buffers.append((i, name, elements, zones))
    return args, buffers

'''

_DIFFERS = '''
def differs(i, name, got):
    """Whether buffer `i` is not what the program computes; says where, of up to five elements."""
    expected, bound = ARCHIVE[f"expected{i}"], ARCHIVE[f"bound{i}"]
    got = got.astype(expected.dtype)
    bad = (got != expected) & (bound == 0)
    if expected.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            bad = ~(abs(got - expected) <= bound) & (bound < np.inf)
    for index in np.argwhere(bad)[:5]:
        place = tuple(index)
        print(f"{name}{list(map(int, place))} is {got[place]}, not {expected[place]} ± {bound[place]}")
    return bad.any()


'''

_VERDICT = """\
print("the bug shows" if wrong else "every result is right: the bug does not show")
sys.exit(1 if wrong else 0)
"""

_WRONG_END = """\
limit()
wrong = False
for module in {modules}:
    args, buffers = arguments()
    build()["main"](*args)
    for i, name, elements, zones in buffers:
        wrong |= differs(i, name, elements)
        if not all((zone == 0xA5).all() for zone in zones):
            print(f"something was written around {{name}}")
            wrong = True
"""


def wrong_end(modules: str = "[module]") -> str:
    """Return the statements that build and run each of a list of modules and compare their results."""
    return differing_end(_WRONG_END.format(modules=modules))


def differing_end(statements: str) -> str:
    """Return the end of a script: statements that set `wrong`, where they find with `differs` what is."""
    return _DIFFERS + statements + _VERDICT


ON_DEVICE = """\
Runs the program on a GPU, on the inputs in inputs.npz, next to this file, and exits non-zero while a result differs
from what the program computes; inputs.npz has that too, with the floating-point error that a correct build may make."""

ON_DEVICE_END = differing_end(
    """\
device = tvm.device("cuda", 0)
host, buffers = arguments()
args, copies = list(host), {}
for i, name, elements, zones in buffers:
    flat = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
    copies[i] = tvm.runtime.tensor(flat, device)
    args[i] = copies[i]._create_view(host[i].shape, host[i].dtype)
build()["main"](*args)
device.sync()
wrong = False
for i, name, elements, zones in buffers:
    wrong |= differs(i, name, copies[i].numpy().view(elements.dtype).reshape(elements.shape))
"""
)

SLOW = f"""\
{TIMES_BUILDS} and the default one in turn on the inputs in inputs.npz, next to this file. Both have
the same level of LLVM.
Exits non-zero while the median of the default one is at least {SLOWER} times the other."""

SLOW_END = f"""
def seconds(function):
    args, _ = arguments()
    began = time.perf_counter()
    function(*args)
    return time.perf_counter() - began


os.sched_setaffinity(0, {{max(os.sched_getaffinity(0))}})
functions = build_reference()["main"], build()["main"]
samples = [[seconds(function) for function in functions] for _ in range(200)]
first, second = np.median(samples, axis=0)
print(f"without the pass {{first * 1e6:.1f}} us, with it {{second * 1e6:.1f}} us")
sys.exit(1 if second >= {SLOWER} * first else 0)
"""


def run_source(parameters: Sequence[Parameter]) -> str:
    """Return the definitions that lay the arguments of a call in memory."""
    return parameters_source(parameters) + _MEMORY


def parameters_source(parameters: Sequence[Parameter]) -> str:
    """Return the definitions of the arrays in inputs.npz and of what they are for."""
    return _PARAMETERS.format(rows="\n".join(f"    {_row(parameter)}," for parameter in parameters))


def _row(parameter: Parameter) -> str:
    dtype = parameter.dtype
    if isinstance(parameter, BufferParameter):
        return f"({parameter.name!r}, {str(dtype)!r}, {parameter.shape}, {parameter.strides}, {_element(dtype)})"
    return f"({parameter.name!r}, {str(dtype)!r}, None, None, None)"


def _element(dtype: DType) -> str:
    kind = element_type(dtype)
    assert kind is not None
    return f"np.dtype(ml_dtypes.{kind.name})" if hasattr(ml_dtypes, kind.name) else f"np.dtype({kind.name!r})"
