"""A case in a child of the other Python: load, apply the passes, build, and compare with known values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

from tzerlike.core.archive import read_arrays
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.dtypes import parse
from tzerlike.core.errors import UserError
from tzerlike.core.observation import Exit, Stage
from tzerlike.execution.compare.storage import BufferCell, stores
from tzerlike.passes.catalog import discover, steps_of
from tzerlike.processes.channel import Channel
from tzerlike.systems import tvm_api, tvm_passes
from tzerlike.systems.baseline import baseline_case
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.tir.allowlist import native
from tzerlike.tir.roundtrip import round_trip

UNLOADABLE = "unloadable"
"""The key of a record whose case this TVM cannot take; its value says why."""


def judge_case(item: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Return the record of a case: how it ended and where, and `wrong` if it was run.

    `item` has the case, `script` (its TVMScript or ""), `inputs` (an archive to run it on or "") and `reference`,
    whether its `baseline` build is the one to look at.
    """
    case = Case.from_json(item["case"])
    if item["reference"]:
        case = baseline_case(case, item["baseline"])
    try:
        module = _load(case.ir, item["script"])
        passes = steps_of(map(_named_here, case.passes))
    except UserError as error:
        return {UNLOADABLE: str(error)}
    try:
        ask_compiler(lambda: tvm_passes.pass_context(case.config))
    except CompilerRefused as refusal:
        return {UNLOADABLE: f"an option of its PassContext: {_first_line(refusal.message)}"}
    try:
        watch = tvm_passes.PassWatch(channel.note_pass)
        built = Compilation(case.target, case.config, passes, [watch], channel).build(module)
        if item["inputs"]:
            function = native.entry_point(module, built)
    except CompilerRefused as refusal:
        return refusal.record()
    except native.NotAllowed as refusal:
        return {UNLOADABLE: f"not run: {refusal}"}
    if not item["inputs"]:
        return {"exit": Exit.OK.value}
    try:
        return {"exit": Exit.OK.value, "wrong": _wrong(function, module, Path(item["inputs"]), channel)}
    except UserError as error:
        return {UNLOADABLE: str(error)}


def print_case(item: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Return the TVMScript of a case's program, as this TVM prints what it loads from the JSON."""
    try:
        module = load(Case.from_json(item["case"]).ir)
        return {"script": ask_compiler(lambda: tvm_api.script_of(module))}
    except CompilerRefused as refusal:
        return {UNLOADABLE: _first_line(refusal.message)}


def round_trip_case(item: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Return what is wrong with a case's program once this TVM has printed and parsed it: a stage and a cause."""
    channel.enter_stage(Stage.TEXT)
    try:
        fault = round_trip(_load(Case.from_json(item["case"]).ir, item["script"]))
    except UserError as error:
        return {UNLOADABLE: str(error)}
    return {"fault": None if fault is None else [fault.stage, fault.cause]}


def list_libraries(item: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Return the paths of the libraries that hold the compiler's own code, the compiler's first."""
    return {"libraries": list(map(str, tvm_api.compiler_libraries()))}


def _named_here(spec: PassSpec) -> PassSpec:
    """The pass of this name, or else the one of this name in another namespace: passes have moved between versions."""
    names = {info.name for info in discover()}
    alike = [name for name in names if name.rpartition(".")[2] == spec.name.rpartition(".")[2]]
    return spec if spec.name in names or len(alike) != 1 else PassSpec(alike[0], spec.args)


def _load(ir: str, script: str) -> Any:
    """The module from its JSON, or else from its text; UserError when this TVM takes neither."""
    try:
        module = load(ir)
    except CompilerRefused as refusal:
        if not script:
            raise UserError(f"its JSON: {_first_line(refusal.message)}") from refusal
        try:
            module = ask_compiler(lambda: tvm_api.parse_script(script))
        except CompilerRefused as other:
            raise UserError(f"its TVMScript: {_first_line(other.message)}") from other
    if not isinstance(module, tvm_api.IRModule):
        raise UserError("not an IRModule")
    return module


def _first_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    said = next((line for line in lines if "error:" in line), lines[-1] if lines else "")
    return said[:160]


def _wrong(function: Any, module: Any, inputs: Path, channel: Channel) -> bool:
    """Run the compiled function on the archive's arguments; whether a buffer is not as the archive says."""
    arrays = read_arrays(inputs)
    cells: dict[int, BufferCell] = {}
    arguments: list[Any] = []
    for index, (text, shape) in enumerate(tvm_api.parameter_types(tvm_api.entry_of(module))):
        dtype = parse(text)
        values = arrays.get(f"argument{index}")
        if dtype is None or values is None or not stores(dtype):
            raise UserError(f"no value for its parameter {index}")
        if shape is None:
            arguments.append(values.item())
            continue
        extents = values.shape if dtype.lanes == 1 else values.shape[:-1]
        if len(extents) != len(shape) or any(
            known not in (None, size) for known, size in zip(shape, extents, strict=True)
        ):
            raise UserError(f"argument{index} does not fit its parameter")
        cells[index] = BufferCell(values, dtype, extents, ())
        arguments.append(cells[index].tensor)
    channel.enter_stage(Stage.RUN)
    try:
        ask_compiler(lambda: function(*arguments))
    except CompilerRefused:
        return True
    channel.enter_stage(Stage.COMPARE)
    return any(not cell.intact() or _differs(cell.values(), arrays, index) for index, cell in cells.items())


def _differs(got: Any, arrays: Mapping[str, Any], index: int) -> bool:
    expected, bound = arrays.get(f"expected{index}"), arrays.get(f"bound{index}")
    if expected is None or bound is None:
        return False
    if got.shape != expected.shape or got.shape != bound.shape:
        raise UserError(f"expected{index} does not fit its parameter")
    if got.dtype != numpy.float64:
        return bool(((got != expected) & (bound == 0)).any())
    with numpy.errstate(invalid="ignore"):
        return bool((~(numpy.abs(got - expected) <= bound) & ~numpy.isinf(bound)).any())
