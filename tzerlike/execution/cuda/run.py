"""A case in the process that runs kernels: compile it, run it on the device, compare, time.

The inputs and what the program computes on them are in an archive like that of a bundle. Where the program launches no
threads of its own, passes of the case did, and the same program is compiled for the host too: the two targets have to
agree where the program is defined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from tzerlike.core.archive import read_arrays
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.effort import Check
from tzerlike.core.results import BASELINE, Ending, Ran, Timing
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.execution.compare.inputs import BufferParameter, Inputs, unpack_inputs
from tzerlike.execution.compare.memory import CallMemory
from tzerlike.execution.compare.results import compile_baseline, raised
from tzerlike.execution.compare.timing import noise
from tzerlike.execution.cuda.device import TAINTED
from tzerlike.execution.cuda.source import machine_code
from tzerlike.execution.cuda.toolchain import find_cuda_toolchain
from tzerlike.passes.catalog import steps_of
from tzerlike.systems import tvm_api, tvm_build, tvm_passes
from tzerlike.systems.baseline import baseline_config
from tzerlike.systems.compilation import SILENT, Compilation
from tzerlike.systems.optional import LEVELS
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.tir.allowlist import native
from tzerlike.tir.interpreter import Expected
from tzerlike.tir.thread_memory import launches_threads, uses_memory_on_the_host

_FAULT = re.compile(
    r"illegal (memory access|address|instruction)|misaligned address|unspecified launch failure|device-side assert"
    r"|CUDA_ERROR_(ILLEGAL|MISALIGNED|LAUNCH_FAILED|LAUNCH_TIMEOUT|ASSERT|INVALID_PC|HARDWARE_STACK)"
)
"""How CUDA says that a kernel went astray (cudaGetErrorString, and the names of the driver's errors)."""

_SPLIT = "tirx.SplitHostDevice"
"""The pass that makes functions of their own of what threads do."""

_MESSAGE = 2048
_REPEATS = 40


_TRIAL = """
@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    for i in {loop}:
        A[i] = A[i] + T.float32(1)
"""
_LOOPS = {"cuda": 'T.thread_binding(64, thread="threadIdx.x")', "llvm": "range(64)"}


def compile_exactly(target: str) -> None:
    """From here on, compile kernels for a target as the interpreter computes, where there is a CUDA compiler."""
    toolchain = find_cuda_toolchain()
    if toolchain is not None:
        tvm_build.compile_cuda_with(partial(machine_code, toolchain, arch=arch_of_target(target)))


def trial(target: str) -> str:
    """Run a small program that is known to be right; returns "" or why no other is to be run here."""
    kind = kind_of_target(target)
    try:
        module = tvm_api.module_of(tvm_api.parse_script(_TRIAL.format(loop=_LOOPS[kind])))
        built = Compilation(target, ContextConfig()).build(module)
        device = tvm_build.device_of(kind)
        tensor, memory = tvm_build.tensor_on(device, numpy.zeros(256, numpy.uint8), (64,), "float32")
        ask_compiler(lambda: native.entry_point(module, built)(tensor))
        return "" if (memory.numpy().view(numpy.float32) == 1).all() else "it computes something else"
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a driver is the answer
        return (str(error).strip().splitlines() or [type(error).__name__])[-1]


def is_device_fault(message: str, target: str) -> bool:
    """Whether an exception of a compiled function says that it did something wrong.

    A kernel is compiled and launched by its first call: what CUDA refuses to compile, or has not the resources for, is
    no wrong result.
    """
    return kind_of_target(target) != "cuda" or _FAULT.search(message) is not None


def run_on_device(item: Mapping[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    """Run a case on the device of its target and return how that ended, as `optimised`, `reference` and `timing`.

    `item` has the `case`, the `archive` and the `checks`; `begin` is called once everything is compiled. What TVM
    refuses, and what has a parameter that lies strided in memory, is not run; nor is what would have the host use
    memory of the device.
    """
    case = Case.from_json(item["case"])
    module = tvm_api.load_ir(case.ir)
    func = tvm_api.entry_of(module)
    inputs = unpack_inputs(Path(item["archive"]), func)
    if inputs is None:
        return {}
    if any(isinstance(parameter, BufferParameter) and parameter.strides for parameter in inputs.parameters):
        return {}
    expected = _expected(read_arrays(Path(item["archive"])))
    if not _fits(expected, inputs):
        return {}
    try:
        whole = tvm_passes.ModuleBefore(_SPLIT)
        built = Compilation(case.target, case.config, steps_of(case.passes), [whole]).build(module)
        if kind_of_target(case.target) == "cuda" and not _leaves_memory_to_kernels(whole.module):
            return {}
        function = native.entry_point(module, built)
        memory = _DeviceMemory(inputs, expected, kind_of_target(case.target))
    except (CompilerRefused, native.NotAllowed):
        return {}
    begin()
    ran = memory.ran(function)
    record: dict[str, Any] = {"optimised": asdict(ran)}
    if ran.ending is Ending.RAISED:
        return {TAINTED: True} | (record if is_device_fault(ran.message, case.target) else {})
    if not launches_threads(func):
        record[BASELINE] = asdict(_on_host(module, inputs, expected))
    elif Check.SPEED in item["checks"] and ran.ending is Ending.AGREES:
        timing = _timed(module, case, built, memory)
        if timing is not None:
            record["timing"] = asdict(timing)
    return record


def _leaves_memory_to_kernels(module: Any | None) -> bool:
    """Whether a module, as it is when kernels are cut out of it, has the host leave the device's memory alone."""
    return module is not None and not uses_memory_on_the_host(tvm_api.entry_of(module))


def _expected(arrays: Mapping[str, Any]) -> dict[int, Expected]:
    places = [place for place in range(len(arrays)) if {f"expected{place}", f"bound{place}"} <= arrays.keys()]
    return {place: Expected(arrays[f"expected{place}"], arrays[f"bound{place}"]) for place in places}


def _fits(expected: Mapping[int, Expected], inputs: Inputs) -> bool:
    """Whether something is expected of each buffer, in its shape."""
    return all(
        place in expected and expected[place].values.shape == expected[place].bound.shape == parameter.logical_shape
        for place, parameter in enumerate(inputs.parameters)
        if isinstance(parameter, BufferParameter)
    )


class _DeviceMemory:
    """The arguments of a call, on a device and laid down here once more, with what is expected of it."""

    def __init__(self, inputs: Inputs, expected: Mapping[int, Expected], kind: str) -> None:
        """Copy the inputs to the device of a kind of target; CompilerRefused where that cannot be."""
        self._device = tvm_build.device_of(kind)
        self._here = CallMemory(inputs, expected)
        self._there: dict[int, Any] = {}
        self.arguments: list[Any] = list(inputs.arguments)
        for position, parameter in enumerate(inputs.parameters):
            if isinstance(parameter, BufferParameter):
                self.arguments[position], self._there[position] = self._copied(position, parameter)

    def _copied(self, position: int, parameter: BufferParameter) -> tuple[Any, Any]:
        body = self._here.cells[position].body
        return ask_compiler(lambda: tvm_build.tensor_on(self._device, body, parameter.shape, str(parameter.dtype)))

    def ran(self, function: Callable[..., Any]) -> Ran:
        """Call a function on what lies here now, and compare; RAISED where the device reports a fault."""

        def call() -> None:
            function(*self.arguments)
            self._device.sync()
            for position, cell in self._here.cells.items():
                cell.take(self._there[position].numpy().tobytes())

        try:
            ask_compiler(call)
        except CompilerRefused as refusal:
            return raised(refusal.message)
        return self._here.compared()

    def seconds(self, built: tvm_build.Built) -> list[float]:
        """Time runs of a build on what lies here now; CompilerRefused where the device reports a fault."""
        return ask_compiler(lambda: tvm_build.seconds_of_runs(built, self._device, self.arguments, _REPEATS // 2))


def _on_host(module: Any, inputs: Inputs, expected: Mapping[int, Expected]) -> Ran:
    try:
        made = compile_baseline(module, SILENT)
    except CompilerRefused as refusal:
        return Ran(Ending.REFUSED, refusal.message[:_MESSAGE])
    except native.NotAllowed:
        return Ran()
    return made if isinstance(made, Ran) else _DeviceMemory(inputs, expected, "llvm").ran(made)


def _timed(module: Any, case: Case, built: tvm_build.Built, memory: _DeviceMemory) -> Timing | None:
    """Time the build and the one of the default pipeline alone by the device's clock; None where a second run computes
    something else, since the clock takes several in a row."""
    try:
        other = Compilation(case.target, baseline_config(LEVELS)).build(module)
        for each in (built, other):
            function = native.entry_point(module, each)
            if memory.ran(function).ending is not Ending.AGREES:
                return None
        samples = [memory.seconds(each) for each in (other, built, other, built)]
    except (CompilerRefused, native.NotAllowed):
        return None
    first, second = (*samples[0], *samples[2]), (*samples[1], *samples[3])
    return Timing(first, second, max(noise(first), noise(second)))
