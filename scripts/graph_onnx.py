"""Our rows, ONNX Runtime and TVM's importer of ONNX: do they agree?

    python scripts/graph_onnx.py [--calls N] [--models N] [--size N] [--seed N] [--rows ROW ...] [--lines]

Draws calls of each row and models of `size` calls whose rows ONNX has, writes them as ONNX, and computes every tensor
with ONNX Runtime and with what TVM imports and builds. Each call is judged by its row, on the inputs that it was given.
Prints each disagreement and refusal with how often it came up; `--lines` what share of the importer's lines was run,
and what share importing it alone runs (needs `coverage`).
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tzerlike.graph.answer import answers, differs
from tzerlike.graph.dice import Dice
from tzerlike.graph.exchange.onnx.file import imported_module, onnx_model, onnxruntime_results, proto_of
from tzerlike.graph.exchange.onnx.only import ONNX_CALLS
from tzerlike.graph.exchange.onnx.rows import ONNX_FORMS
from tzerlike.graph.generate import random_model
from tzerlike.graph.importers import OPSETS
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, recognise
from tzerlike.graph.spec import ROWS
from tzerlike.graph.valid import valid_values
from tzerlike.graph.values import drawn_values
from tzerlike.systems import tvm_api

SMALL = SizeLimits(rank=4, extent=6, elements=128)

Compute = Callable[[Any, dict[str, Array]], list[Array]]


def single_calls(count: int, seed: int, rows: Sequence[str]) -> Iterator[Model]:
    for name in rows:
        dice = Dice(Random(f"{seed} {name}"))
        for _ in range(count):
            drawn = draw_call(ROWS[name], dice, SMALL)
            wanted = [one for one in drawn.inputs if isinstance(one, Wanted)]
            origins = [Origin(one.type, "input", float(one.low), float(one.high), i) for i, one in enumerate(wanted)]
            vertex = Vertex(name, tuple(range(len(origins))), drawn.attributes, drawn.outputs)
            yield Model(tuple(origins), (vertex,), tuple(len(origins) + i for i in range(len(drawn.outputs))))


def whole_models(count: int, seed: int, size: int, rows: Sequence[str]) -> Iterator[Model]:
    menu = Menu([ROWS[name] for name in rows])
    for number in range(count):
        model = random_model(Random(f"{seed} onnx {number}"), size, menu, SMALL)
        yield Model(model.sources, model.vertices, tuple(range(len(model.sources), len(model.types()))))


def tvm_results(proto: Any, inputs: dict[str, Array]) -> list[Array]:
    """What TVM's baseline build of the imported module computes."""
    tvm, relax = tvm_api.tvm, tvm_api.part("relax")
    module = relax.transform.DecomposeOpsForInference()(imported_module(proto))
    built = relax.build(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    names = [str(one.name) for one in module["main"].params]
    given = [tvm.runtime.tensor(inputs[name]) for name in names]
    found = relax.VirtualMachine(built, tvm.cpu())["main"](*given)
    return [one.numpy().copy() for one in ([found] if hasattr(found, "numpy") else found)]


def runtime_results(named: set[str], proto: Any, inputs: dict[str, Array]) -> list[Array]:
    return onnxruntime_results(proto, {name: inputs[name] for name in named})


def wrong_calls(model: Model, tensors: Sequence[Array]) -> Iterator[tuple[Vertex, str]]:
    kinds = model.types()
    for first, vertex in model.first_outputs():
        row, inputs = ROWS[vertex.row], [tensors[one] for one in vertex.inputs]
        known = recognise(row, [kinds[one] for one in vertex.inputs], vertex.attributes)
        assert known is not None
        with np.errstate(all="ignore"):
            expected = answers(row, known, inputs, vertex.attributes, vertex.outputs)
        for index, (value, bound) in enumerate(expected):
            built = tensors[first + index]
            if str(built.dtype) != vertex.outputs[index].dtype:
                yield vertex, f"dtype {built.dtype}"
            elif differs(value, bound, built):
                shown = f"{value.ravel()[:6]} expected, {built.ravel()[:6]}"
                yield vertex, f"{shown} of {[one.ravel()[:6] for one in inputs]}"


NOT_ONNX = ("InvalidGraph", "NotImplemented")
"""What ONNX Runtime raises where an opset does not have a type, or it has no kernel for it."""


class Tally:
    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str, str]] = Counter()
        self.examples: dict[tuple[str, str, str], str] = {}
        self.agreed: Counter[str] = Counter()
        self.beside: Counter[str] = Counter()

    def note(self, who: str, row: str, what: str, example: str) -> None:
        key = who, row, what
        self.seen[key] += 1
        self.examples.setdefault(key, example)

    def compare(self, who: str, model: Model, proto: Any, inputs: dict[str, Array], compute: Compute) -> None:
        about = model.vertices[0].row if len(model.vertices) == 1 else "a model"
        example = f"opset {proto.opset_import[0].version} " + str(model).replace("\n", "; ")
        try:
            found = compute(proto, inputs)
        except Exception as error:  # noqa: BLE001 - what they raise is what is looked at
            message = str(error).strip().splitlines()[-1][-160:] if str(error).strip() else ""
            if type(error).__name__ in NOT_ONNX:
                self.beside[type(error).__name__] += 1
            else:
                self.note(who, about, f"refused: {type(error).__name__}: {message}", example)
            return
        given = [inputs[f"x{number}"] for number in range(len(model.sources))]
        wrong = list(wrong_calls(model, [*given, *found]))
        for vertex, what in wrong:
            kinds = [str(model.types()[one]) for one in vertex.inputs]
            self.note(who, vertex.row, "computed otherwise", f"{example} | {kinds} {vertex.attributes}: {what}")
        self.agreed[who] += not wrong


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--calls", type=int, default=10)
    arguments.add_argument("--models", type=int, default=100)
    arguments.add_argument("--size", type=int, default=8)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--rows", nargs="*", default=sorted(ONNX_FORMS))
    arguments.add_argument("--lines", action="store_true")
    given = arguments.parse_args()
    lines = Lines() if given.lines else None
    tally, unsaid, said = Tally(), Counter[str](), Counter[str]()
    rng = Random(given.seed)
    models = [*single_calls(given.calls, given.seed, given.rows)]
    models += whole_models(given.models, given.seed, given.size, given.rows)
    for model in models:
        about = model.vertices[0].row if len(model.vertices) == 1 else "a model"
        values = valid_values(model, ROWS, 0).values if len(model.vertices) > 1 else [
            drawn_values(origin, 0) for origin in model.sources
        ]  # fmt: skip
        constants = {n: values[n] for n, one in enumerate(model.sources) if rng.random() < 0.3}
        for opset in (rng.choice(OPSETS), OPSETS[-1]):
            file = onnx_model(model, constants, opset, rng.randrange(6))
            if file is not None:
                break
        if file is None:
            unsaid[about] += 1
            continue
        said[about] += 1
        proto = proto_of(file)
        inputs = {f"x{number}": value for number, value in enumerate(values)}
        named = {name for name in inputs if int(name[1:]) not in constants}
        tally.compare("ONNX Runtime", model, proto, inputs, partial(runtime_results, named))
        tally.compare("TVM", model, proto, inputs, tvm_results)
    for key, times in sorted(tally.seen.items()):
        print(f"{key[0]}: {key[1]}, {key[2]}, {times} times: {tally.examples[key][:900]}")
    never = [name for name in given.rows if not said[name]]
    print(f"{len(said)} kinds of calls written, never {never}; {sum(said.values())} files, {sum(unsaid.values())} not")
    print(f"agreed with our rows: {dict(tally.agreed)}")
    print(f"ONNX Runtime cannot: {dict(tally.beside)}")
    print(compared_calls(given.seed))
    if lines is not None:
        print(lines.report())


def compared_calls(seed: int) -> str:
    """Calls that have no row, ONNX Runtime against TVM."""
    agreed = 0
    for number, call in enumerate(ONNX_CALLS):
        proto = proto_of(call.file)
        kinds = {f"x{place}": one for place, one in enumerate(call.inputs) if isinstance(one, TensorType)}
        inputs = {name: drawn_values(Origin(kind, seed=number), seed) for name, kind in kinds.items()}
        about = f"{call.operator} {dict(call.attributes)} opset {call.opset}"
        try:
            wanted = onnxruntime_results(proto, inputs)
        except Exception as error:  # noqa: BLE001 - what it raises is what is looked at
            print(f"ONNX Runtime refuses {about}: {str(error)[-200:]}")
            wanted = []
        try:
            found = tvm_results(proto, inputs)
        except Exception as error:  # noqa: BLE001 - what it raises is what is looked at
            print(f"TVM refuses {about}: {type(error).__name__}: {str(error).strip()[-200:]}")
            continue
        pairs = list(zip(wanted, found, strict=False))
        wrong = [(one, other) for one, other in pairs if not _near(one, other)]
        agreed += bool(pairs) and not wrong
        for one, other in wrong:
            print(f"TVM computes otherwise {about}: {one.dtype}{one.shape} {one.ravel()[:8]} expected,", end=" ")
            print(f"{other.dtype}{other.shape} {other.ravel()[:8]}")
    return f"{agreed} of {len(ONNX_CALLS)} calls without a row are computed alike"


def _near(one: Array, other: Array) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    return np.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


class Lines:
    """Which lines of the importer are run."""

    def __init__(self) -> None:
        import coverage

        package = Path(tvm_api.tvm.__file__).parent
        self._file = str(package / "relax" / "frontend" / "onnx" / "onnx_frontend.py")
        self._coverage = coverage.Coverage(include=[self._file], data_file=None, config_file=False)
        self._coverage.start()
        tvm_api.part("relax.frontend.onnx")
        self._alone = self._share()

    def _share(self) -> tuple[int, int]:
        self._coverage.stop()
        _, statements, _, missing, _ = self._coverage.analysis2(self._file)
        self._missing = missing
        self._coverage.start()
        return len(statements) - len(missing), len(statements)

    def report(self) -> str:
        reached, every = self._share()
        found: Counter[str] = Counter()
        for one in ast.parse(Path(self._file).read_text()).body:
            lines = sum(one.lineno <= line <= (one.end_lineno or 0) for line in self._missing)
            found[getattr(one, "name", "")] += lines
        print("missed most in", ", ".join(f"{name} {count}" for name, count in found.most_common(60)))
        alone = self._alone[0]
        inside = f"{reached - alone} of {every - alone} lines of functions, {(reached - alone) / (every - alone):.1%}"
        return f"importer: {reached} of {every} lines, {reached / every:.1%}; {alone} of them on import; {inside}"


if __name__ == "__main__":
    main()
