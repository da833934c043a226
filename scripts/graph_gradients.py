"""Does the pass `Gradient` of Relax make the gradients that numerical differences give?

    python scripts/graph_gradients.py [--models N] [--size N] [--seed N]

Draws models of float64 from the operators that have a rule for it, and takes a weighted sum of what comes out last for
the loss. For each tensor of floats that comes in, the gradient of TVM's build is compared with differences of the
loss in NumPy, along a few directions; where steps of two lengths disagree, as at an edge, nothing is said. Prints each
disagreement, and what TVM refuses, by message.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from random import Random

import msgspec

from tzerlike.graph.generate import random_model
from tzerlike.graph.gradients import differentiable, disagreements, gradients
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.smaller import pruned
from tzerlike.graph.spec import ROWS
from tzerlike.graph.valid import made_valid
from tzerlike.processes.forked import in_child

LIMITS = SizeLimits(rank=4, extent=5, elements=64, dtypes=("float64",))


def drawn_model(rng: Random, size: int, menu: Menu) -> tuple[Model, list[Array]] | None:
    """A model whose only output is of float64, with its values; None where there is none."""
    model, _ = made_valid(random_model(rng, size, menu, LIMITS), ROWS, 0)
    kinds = model.types()
    last = [number for number in range(len(model.sources), len(kinds)) if kinds[number].dtype == "float64"]
    if not last:
        return None
    model = pruned(model, last[-1:])
    sources = tuple(msgspec.structs.replace(one, kind="input") for one in model.sources)
    return made_valid(msgspec.structs.replace(model, sources=sources), ROWS, 0)


def judged(model: Model, values: Sequence[Array]) -> str:
    """Say what is wrong with the gradients of a model, "" for nothing: of a child, which may die of it."""

    def work() -> str:
        try:
            return "; ".join(disagreements(model, values, gradients(model, values)))
        except Exception as error:  # noqa: BLE001 - what TVM raises is what is told
            last = (str(error).strip().splitlines() or [""])[-1]
            return f"{type(error).__name__}: {last[-120:]}"

    answer, signal = in_child(work)
    return f"dies of signal {signal}" if answer is None else answer


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--models", type=int, default=100)
    arguments.add_argument("--size", type=int, default=2)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    names = set(differentiable())
    menu, refused, agreed, wrong = Menu([row for row in ROWS.values() if row.operator in names]), Counter[str](), 0, 0
    for number in range(given.models):
        drawn = drawn_model(Random(f"{given.seed} gradient {number}"), given.size, menu)
        if drawn is None or not any(one.type.dtype == "float64" for one in drawn[0].sources):
            continue
        said = judged(*drawn)
        agreed += not said
        wrong += said.startswith("%")
        if said and not said.startswith("%"):
            refused[said] += 1
        if said:
            print(f"{number}: {said} of\n{drawn[0]}", flush=True)
    for message, times in refused.most_common():
        print(f"{times} times refused: {message}")
    print(f"{len(names)} operators; {agreed} models agree, {wrong} do not, {sum(refused.values())} refused")


if __name__ == "__main__":
    main()
