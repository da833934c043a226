"""Does the pass `Gradient` of Relax make the gradients that numerical differences give?

    python scripts/graph_gradients.py [--models N] [--seed N]

Draws models that have gradients, as campaigns with `--oracles model-gradients` do, and compares what TVM's build of
`main_adjoint` gives with slopes in NumPy. Prints each model whose gradients are wrong, by which input, and how often
TVM refuses one, by message.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random

from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.gradients import expected_gradients
from tzerlike.graph.loss import drawn_loss
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model
from tzerlike.graph.reference import ExpectedOutput, beyond, source_values
from tzerlike.graph.relax import relax_module
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT
from tzerlike.harnesses.graph.passes import ADJOINT, made_pass, rules_for_gradients
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

_CALLS = 6


def built_gradients(model: Model, values: list[Array]) -> list[Array]:
    """What TVM's build gives, for each input."""
    tvm, relax = tvm_api.tvm, tvm_api.part("relax")
    module = made_pass(GRADIENT)(relax_module(model, values, alone=True))
    built = relax.build(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    inputs = [value for value, one in zip(values, model.sources, strict=True) if one.kind == "input"]
    _, found = relax.VirtualMachine(built, tvm.cpu())[ADJOINT](*map(tvm.runtime.tensor, inputs))
    return [one.numpy().copy() for one in found]


def judged(model: Model, values: list[Array], expected: list[ExpectedOutput]) -> str:
    """Say what is wrong with the gradients of a model, "" for nothing: of a child, which may die of it."""

    def work() -> str:
        try:
            found = built_gradients(model, values)
        except Exception as error:  # noqa: BLE001 - what TVM raises is what is told
            last = (str(error).strip().splitlines() or [""])[-1]
            return f"{type(error).__name__}: {last[-120:]}"
        wrong = []
        for number, (want, got) in enumerate(zip(expected, found, strict=True)):
            bad = beyond(want.values, want.bound, got)
            if got.shape != want.values.shape:
                wrong.append(f"input {number}: of shape {got.shape}, not {want.values.shape}")
            elif want.counts and bad.any():
                wrong.append(f"input {number}: {got[bad][0]}, not {want.values[bad][0]} ± {want.bound[bad][0]:.3g}")
        return "; ".join(wrong)

    answer, signal = in_child(work)
    return f"dies of signal {signal}" if answer is None else answer


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--models", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    rules, menu = rules_for_gradients(), Menu(list(ROWS.values()))
    refused, outcomes = Counter[str](), Counter[str]()
    for number in range(given.models):
        rng = Random(f"{given.seed} gradient {number}")
        model = drawn_loss(random_model(rng, _CALLS, menu, MODEL_LIMITS), rng, rules)
        if model is None:
            outcomes["without gradients"] += 1
            continue
        values = source_values(model, ROWS, 0)
        expected = expected_gradients(model, ROWS, values)
        if not any(one.counts for one in expected):
            outcomes["that mean nothing"] += 1
            continue
        said = judged(model, values, expected)
        outcome = "wrong" if said.startswith("input") else "refused" if said else "right"
        outcomes[outcome] += 1
        if outcome == "refused":
            refused[said] += 1
        if said:
            print(f"{number}: {said} of\n{model}", flush=True)
    for message, times in refused.most_common():
        print(f"{times} times refused: {message}")
    print(f"{len(rules)} operators; " + ", ".join(f"{count} {name}" for name, count in outcomes.most_common()))


if __name__ == "__main__":
    main()
