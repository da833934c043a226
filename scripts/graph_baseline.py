"""Do our rows say what TVM's baseline build computes?

    python scripts/graph_baseline.py [--models N] [--size N] [--seed N] [--only NUMBER]

Draws models, gives them values for which they are numerically valid, legalises, lowers and builds them at LLVM's
level 0, and has every tensor come out. Each call is judged by its row on the inputs that the build gave it. Prints each
disagreement, with `--only` of one of the models; where TVM refuses a model, only how often, by message.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random
from typing import Any

import numpy as np

from tzerlike.graph.answer import answers
from tzerlike.graph.generate import random_model
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, Vertex
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.reference import beyond, wrong_calls
from tzerlike.graph.relax import relax_module
from tzerlike.graph.solve import recognise
from tzerlike.graph.spec import ROWS
from tzerlike.graph.valid import made_valid
from tzerlike.systems import tvm_api

LIMITS = SizeLimits(rank=4, extent=8, elements=256)


def baseline_results(model: Model, values: list[Array]) -> list[Any]:
    """What the build computes for each call, all sources being inputs."""
    tvm, relax = tvm_api.tvm, tvm_api.part("relax")
    built = relax.build(relax_module(model, None), tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    found = relax.VirtualMachine(built, tvm.cpu())[tvm_api.ENTRY](*map(tvm.runtime.tensor, values))
    return [one.numpy().copy() for one in found]


def first_beyond(model: Model, vertex: Vertex, at: int, tensors: list[Array]) -> tuple[Any, ...]:
    """The number of the output, the first place, and the value, the bound and what was built there."""
    types = model.types()
    first = next(number for number, one in model.first_outputs() if one is vertex)
    known = recognise(ROWS[vertex.row], [types[one] for one in vertex.inputs], vertex.attributes)
    assert known is not None
    inputs = [tensors[one] for one in vertex.inputs]
    value, bound = answers(ROWS[vertex.row], known, inputs, vertex.attributes, vertex.outputs)[at - first]
    place = tuple(np.argwhere(beyond(value, bound, tensors[at]))[0])
    return (
        at - first,
        tuple(map(int, place)),
        value[place],
        np.broadcast_to(bound, value.shape)[place],
        tensors[at][place],
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--models", type=int, default=100)
    arguments.add_argument("--size", type=int, default=6)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--only", type=int)
    given = arguments.parse_args()
    menu, refused, wrong, agreed, calls = Menu(list(ROWS.values())), Counter[str](), Counter[str](), 0, 0
    for number in range(given.models) if given.only is None else [given.only]:
        drawn = random_model(Random(f"{given.seed} baseline {number}"), given.size, menu, LIMITS)
        model, values = made_valid(drawn, ROWS, 0)
        sources = tuple(Origin(one.type, "input", one.low, one.high, one.seed) for one in model.sources)
        model = Model(sources, model.vertices, tuple(range(len(sources), len(model.types()))))
        try:
            found = baseline_results(model, values)
        except Exception as error:  # noqa: BLE001 - what TVM raises is what is counted
            refused[f"{type(error).__name__}: {str(error).strip().splitlines()[-1][-100:]}"] += 1
            continue
        bad = wrong_calls(model, ROWS, values, found)
        calls += len(model.vertices)
        agreed += not bad
        for vertex, at in bad:
            kinds = [str(model.types()[one]) for one in vertex.inputs]
            wrong[vertex.row] += 1
            index, place, value, bound, got = first_beyond(model, vertex, at, [*values, *found])
            print(f"{number}: {vertex.row} {kinds} {vertex.attributes}", flush=True)
            print(f"    output {index} at {place}: {got}, not {value} ± {bound}", flush=True)
    for message, times in refused.most_common():
        print(f"{times} times refused: {message}")
    built = (given.models if given.only is None else 1) - sum(refused.values())
    print(f"{agreed} of {built} models that were built agree in all of {calls} calls; {sum(refused.values())} refused")
    print(f"disagreements: {dict(wrong.most_common())}")


if __name__ == "__main__":
    main()
