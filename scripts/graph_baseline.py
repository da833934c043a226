"""Do our rows say what TVM's baseline build computes?

    python scripts/graph_baseline.py [--models N] [--size N] [--seed N]

Draws models, gives them values for which they are numerically valid, legalises, lowers and builds them at LLVM's
level 0, and has every tensor come out. Each call is judged by its row on the inputs that the build gave it. Prints each
disagreement; where TVM refuses a model, only how often, by message.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random
from typing import Any

from graph_onnx import wrong_calls

from tzerlike.graph.generate import random_model
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.relax import relax_module
from tzerlike.graph.spec import ROWS
from tzerlike.graph.valid import made_valid
from tzerlike.systems import tvm_api

LIMITS = SizeLimits(rank=4, extent=8, elements=256)


def baseline_results(model: Model, values: list[Array]) -> list[Any]:
    """What the build computes for each call, all sources being inputs."""
    tvm, relax = tvm_api.tvm, tvm_api.part("relax")
    built = relax.build(relax_module(model, lambda _: None), tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    found = relax.VirtualMachine(built, tvm.cpu())[tvm_api.ENTRY](*map(tvm.runtime.tensor, values))
    return [one.numpy().copy() for one in found]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--models", type=int, default=100)
    arguments.add_argument("--size", type=int, default=6)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    menu, refused, wrong, agreed, calls = Menu(list(ROWS.values())), Counter[str](), Counter[str](), 0, 0
    for number in range(given.models):
        drawn = random_model(Random(f"{given.seed} baseline {number}"), given.size, menu, LIMITS)
        model, values = made_valid(drawn, ROWS, 0)
        sources = tuple(Origin(one.type, "input", one.low, one.high, one.seed) for one in model.sources)
        model = Model(sources, model.vertices, tuple(range(len(sources), len(model.types()))))
        try:
            found = baseline_results(model, values)
        except Exception as error:  # noqa: BLE001 - what TVM raises is what is counted
            refused[f"{type(error).__name__}: {str(error).strip().splitlines()[-1][-100:]}"] += 1
            continue
        bad = list(wrong_calls(model, [*values, *found]))
        calls += len(model.vertices)
        agreed += not bad
        for vertex, what in bad:
            kinds = [str(model.types()[one]) for one in vertex.inputs]
            wrong[vertex.row] += 1
            print(f"{number}: {vertex.row} {kinds} {vertex.attributes}: {what[:500]}", flush=True)
    for message, times in refused.most_common():
        print(f"{times} times refused: {message}")
    built = given.models - sum(refused.values())
    print(f"{agreed} of {built} models that were built agree in all of {calls} calls; {sum(refused.values())} refused")
    print(f"disagreements: {dict(wrong.most_common())}")


if __name__ == "__main__":
    main()
