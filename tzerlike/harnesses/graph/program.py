"""The program of a model in the texts of a bundle: Python source that makes a module without tzerlike."""

from __future__ import annotations

import base64
import json
import textwrap
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tzerlike.core.errors import Fault
from tzerlike.graph.bodies import SingleCall, body_of
from tzerlike.graph.calls import call_source
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin, VaryingExtent, Vertex
from tzerlike.graph.relax import relax_module
from tzerlike.graph.symbols import SYMBOLIC_ATTRIBUTE, variable_name
from tzerlike.harnesses.graph.unsaid import without_defaults
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

_NO_CALLS = {"tuple", "match_cast"}
"""Rows that no function of TVM's makes in one call, beside kernels."""
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A module, whose constants are parameters where nothing else is said.

    `source` are statements that define `Module`, with tvm, relax, tirx, I, R, T, zlib and base64 in scope; `shown` is
    what a reader is given to look at: the same, but where the source is JSON, the TVMScript that does not read back.
    """

    source: str
    shown: str


def source_program(model: Model, *, values: Sequence[Array] | None = None, alone: bool = False) -> ModelSource | None:
    """Return the program of a model: TVMScript if that reads back, else the calls that build it, else its JSON.

    `values` and `alone` are what they are to `relax_module`. None where TVM can neither build nor print the model and
    it is no plain list of calls.
    """
    calls = building_source(model, alone=alone) if values is None else ""

    def look() -> str:
        module = relax_module(model, values, alone=alone)
        text = tvm_api.script_of(module)
        reads = _reads_as(text, text)
        return json.dumps([text, reads, not reads and bool(calls) and _builds(calls, text), tvm_api.dump_ir(module)])

    try:
        found = in_child(look)[0]
    except Fault:  # the compiler may raise anything while it builds and prints
        found = None
    if found is None:
        return ModelSource(calls, f"{_IMPORTS}{calls}") if calls else None
    script, reads, built, stored = json.loads(found)
    script = _bare(script)
    if reads:
        return ModelSource(script, script)
    if built:
        return ModelSource(calls, f"{_IMPORTS}{calls}")
    packed = textwrap.fill(base64.b64encode(zlib.compress(stored.encode(), 9)).decode(), _WIDTH)
    return ModelSource(
        f'Module = tvm.ir.load_json(zlib.decompress(base64.b64decode("""\n{packed}\n""")).decode())', script
    )


def in_short(program: ModelSource) -> ModelSource:
    """The same module, where it is TVMScript without what its parser puts there by itself."""
    if program.source != program.shown or "@I.ir_module" not in program.source:
        return program

    def look() -> str:
        whole = tvm_api.script_of(tvm_api.parse_script(program.source))
        return without_defaults(program.source, partial(_reads_as, whole))

    shorter = in_child(look)[0] or program.source
    return ModelSource(shorter, shorter)


def reprinted(script: str) -> str:
    """Return TVMScript as TVM prints it, without what its parser puts there by itself."""
    text = _bare(in_child(lambda: tvm_api.script_of(tvm_api.parse_script(script)))[0] or script)
    return in_short(ModelSource(text, text)).source


def _bare(script: str) -> str:
    """A script without the comments that TVM prints in front."""
    return "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("# from ")).strip()


def _reads_as(text: str, script: str) -> bool:
    """Whether `script` reads back as the module that is printed as `text`."""
    try:
        return bool(tvm_api.script_of(tvm_api.parse_script(script)) == text)
    except Exception:  # noqa: BLE001 - the parser may raise anything
        return False


def _builds(calls: str, script: str) -> bool:
    """Whether statements build the module that is printed as `script`."""
    names = {"relax": tvm_api.part("relax"), "tirx": tvm_api.part("tirx")}
    try:
        exec(calls, names)
        return tvm_api.script_of(names["Module"]) == script
    except Exception:  # noqa: BLE001 - a call may be one that is built otherwise
        return False


def script_of_model(model: Model) -> str:
    """Return TVMScript of a model whose constants are parameters, "" where it does not read back."""
    program = source_program(model)
    return program.source if program is not None and "@I.ir_module" in program.source else ""


_IMPORTS = "from tvm import relax, tirx\n\n"


def building_source(model: Model, *, alone: bool = False) -> str:
    """Return statements that build a model as `relax_module` does, with constants as parameters.

    "" for a model that is more than a list of calls.
    """
    items = body_of(model).items
    single = (item for item in items if isinstance(item, SingleCall))
    calls = [item for item in single if item.vertex.row not in _NO_CALLS and not item.vertex.is_kernel]
    if len(calls) < len(items):
        return ""
    names = [f"x{number}" for number in range(len(model.types()))]
    lines = inputs_of(model)
    taken, given = ", ".join(names[: len(model.sources)]), ", ".join(names[one] for one in model.outputs)
    lines += ["builder = relax.BlockBuilder()", f'with builder.function("main", [{taken}]):']
    lines += ["    with builder.dataflow():"]
    for call in calls:
        lines += (f"        {line}" for line in _emitted(model, call))
    lines += [f"        result = builder.emit_output({given if alone else f'relax.Tuple([{given}])'})"]
    lines += ["    builder.emit_func_output(result)", "Module = builder.finalize()"]
    return "\n".join(lines)


def normalizing_source(model: Model) -> str:
    """Return statements that have TVM infer the type of the only call of a model."""
    return "\n".join([*inputs_of(model), f"relax.BlockBuilder().normalize({call_of(model)})"])


def call_of(model: Model) -> str:
    """Return source of the only call of a model."""
    (vertex,) = model.vertices
    return _call(model, vertex, vertex.inputs)


def _call(model: Model, vertex: Vertex, takes: Iterable[int]) -> str:
    extents = vertex.attributes.get(SYMBOLIC_ATTRIBUTE)
    symbolic = {SYMBOLIC_ATTRIBUTE: _extents(model, extents)} if model.variables and isinstance(extents, tuple) else {}
    return call_source(vertex, [f"x{number}" for number in takes], **symbolic)


def inputs_of(model: Model) -> list[str]:
    """Return statements that make what comes into a model, and the variables of its extents."""
    variables = [variable_name(place) for place in range(len(model.variables))]
    lines = [f'{name} = tirx.Var("{name}", "int64")' for name in variables]
    return lines + [
        f'x{number} = relax.Var("x{number}", relax.TensorType({_shape(model, one)}, "{one.type.dtype}"))'
        for number, one in enumerate(model.sources)
    ]


def _shape(model: Model, origin: Origin) -> str:
    return _extents(model, origin.type.shape) if origin.kind == "input" else str(list(origin.type.shape))


def _emitted(model: Model, call: SingleCall) -> list[str]:
    source = _call(model, call.vertex, call.takes)
    if len(call.gives) == 1:
        return [f"x{call.number} = builder.emit({source})"]
    found = f"found{call.number}"
    parts = (f"x{n} = builder.emit(relax.TupleGetItem({found}, {place}))" for place, n in enumerate(call.gives))
    return [f"{found} = builder.emit({source})", *parts]


def _extents(model: Model, shape: Iterable[object]) -> str:
    """Source of a shape, with expressions for the extents that vary."""
    varying: dict[object, VaryingExtent] = {one.extent: one for one in reversed(model.written)}

    def source(extent: object) -> str:
        one = varying.get(extent) if model.variables else None
        if one is None:
            return str(extent)
        product = " * ".join([*[str(one.factor)] * (one.factor != 1), *map(variable_name, one.variables)])
        return f"{product} + {one.plus}" if one.plus else product

    return f"[{', '.join(map(source, shape))}]"
