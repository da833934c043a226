"""Our rows, PyTorch and TVM's importer of its programs: do they agree?

    python scripts/graph_torch.py [--calls N] [--seed N] [--rows ROW ...]

Draws calls of each row, writes each as a module of PyTorch, in each form in turn, as exported and decomposed, and
computes it with what TVM imports and builds, and with PyTorch where that is wrong. Prints each disagreement and refusal
with how often it came up, and which forms are never imported.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random

from tzerlike.graph.answer import answers, differs
from tzerlike.graph.dice import Dice
from tzerlike.graph.exchange.torch.rows import TORCH_FORMS
from tzerlike.graph.importers import TORCH
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin, Vertex
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, recognise
from tzerlike.graph.spec import ROWS
from tzerlike.graph.values import drawn_values
from tzerlike.harnesses.graph.through_torch import TorchWritten, load_torch, through_torch
from tzerlike.harnesses.graph.written import Unimportable
from tzerlike.systems import tvm_api

SMALL = SizeLimits(rank=4, extent=6, elements=128)


def drawn_call(name: str, dice: Dice) -> Model:
    drawn = draw_call(ROWS[name], dice, SMALL)
    wanted = [one for one in drawn.inputs if isinstance(one, Wanted)]
    origins = [Origin(one.type, "input", float(one.low), float(one.high), i) for i, one in enumerate(wanted)]
    vertex = Vertex(name, tuple(range(len(origins))), drawn.attributes, drawn.outputs)
    return Model(tuple(origins), (vertex,), tuple(len(origins) + i for i in range(len(drawn.outputs))))


def compared(model: Model, written: TorchWritten) -> str:
    """What is wrong with what TVM imports, "" for nothing."""
    tvm, relax = tvm_api.tvm, tvm_api.part("relax")
    inputs = [drawn_values(origin, 0) for origin in model.sources]
    try:
        take = written.importer()
    except Unimportable as why:
        return f"PyTorch refuses: {why}"
    try:
        built = relax.build(take(), tvm.target.Target({"kind": "llvm", "opt-level": 0}))
        machine = relax.VirtualMachine(built.mod, tvm.cpu())
        found = [one.numpy() for one in machine["main"](*map(tvm.runtime.tensor, inputs))]
    except Exception as error:  # noqa: BLE001 - what it raises is what is looked at
        return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1][:160]}"
    if wrong := difference(model, inputs, found):
        return f"PyTorch too: {wrong}" if difference(model, inputs, written.computed(inputs)) else wrong
    return ""


def difference(model: Model, inputs: list[Array], found: list[Array]) -> str:
    (vertex,) = model.vertices
    row = ROWS[vertex.row]
    known = recognise(row, [one.type for one in model.sources], vertex.attributes)
    assert known is not None
    expected = answers(row, known, inputs, vertex.attributes, vertex.outputs)
    for (value, bound), got, kind in zip(expected, found, vertex.outputs, strict=True):
        if str(got.dtype) != kind.dtype or got.shape != tuple(kind.shape):
            return f"{got.dtype}{got.shape} in place of {kind}"
        if differs(value, bound, got):
            return f"{value.ravel()[:5]} expected, {got.ravel()[:5]}"
    return ""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--calls", type=int, default=6)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--rows", nargs="*", default=sorted(TORCH_FORMS))
    given = arguments.parse_args()
    load_torch()
    seen, agreed, examples = (
        Counter[tuple[str, str, str]](),
        Counter[tuple[str, str]](),
        dict[tuple[str, str, str], str](),
    )
    for name in given.rows:
        dice = Dice(Random(f"{given.seed} {name}"))
        for number in range(given.calls):
            model = drawn_call(name, dice)
            for step, manner in TORCH.manners.items():
                if manner.form != number % len(TORCH_FORMS[name]):
                    continue
                written = through_torch(model, {}, manner)
                if written is None:
                    continue
                wrong = compared(model, written)
                agreed[name, step.name] += not wrong
                if wrong:
                    key = name, step.name, wrong.partition(":")[0] if ": " in wrong else wrong.partition("[")[0]
                    seen[key] += 1
                    kinds = " ".join(str(one.type) for one in model.sources)
                    examples.setdefault(key, f"{written.module.statements[0]} | {kinds} | {wrong}")
    for key, times in sorted(seen.items()):
        print(*key, f"{times} times:", examples[key])
    print("never imported:", [key for key, times in agreed.items() if not times])
    print(f"{sum(agreed.values())} imports agree, {sum(seen.values())} do not")


if __name__ == "__main__":
    main()
