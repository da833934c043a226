"""Where do rows and TVM's type inference disagree?

    python scripts/graph_judge.py [--calls N] [--seed N]

Draws N calls of each row (default: 100) and asks type inference about each, and about one that breaks the row in one
place. Prints, for each operator and kind of change, an example of: calls that the row allows and TVM refuses or types
otherwise; calls that no row allows and TVM accepts; calls that TVM refuses by an internal check. Which side is wrong
has to be read from the operator's definition.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from random import Random

from tzerlike.graph.calls import inferred_types, relax_call, variable_of
from tzerlike.graph.dice import Dice
from tzerlike.graph.disrupt import disrupted
from tzerlike.graph.model import TensorType, Vertex
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call
from tzerlike.graph.spec import OPERATOR_ROWS
from tzerlike.systems import tvm_api

LIMITS = SizeLimits(rank=4, extent=6, elements=256)
INTERNAL = ("InternalError", "IndexError", "AttributeError")


def inferred(vertex: Vertex, types: tuple[TensorType, ...]) -> tuple[str, list[TensorType]]:
    """What type inference says to a call: "" and the types, or the kind of its refusal."""
    builder = tvm_api.part("relax").BlockBuilder()
    try:
        call = relax_call(vertex, [variable_of(f"x{number}", kind) for number, kind in enumerate(types)])
        return "", inferred_types(builder.normalize(call))
    except Exception as error:  # noqa: BLE001 - what TVM raises is what is looked at
        return type(error).__name__, []


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--calls", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    rng = Random(given.seed)
    dice = Dice(rng)
    forms = defaultdict(list)
    for row in OPERATOR_ROWS.values():
        forms[row.operator].append(row)
    seen: Counter[tuple[str, str, str]] = Counter()
    examples = {}
    asked: Counter[str] = Counter()

    def note(finding: str, operator: str, what: str, example: object) -> None:
        seen[finding, operator, what] += 1
        examples.setdefault((finding, operator, what), example)

    for row in OPERATOR_ROWS.values():
        for _ in range(given.calls):
            drawn = draw_call(row, dice, LIMITS)
            types = tuple(one.type for one in drawn.inputs if isinstance(one, Wanted))
            asked["allowed"] += 1
            refusal, found = inferred(Vertex(row.name, (), drawn.attributes, ()), types)
            if tuple(found) != drawn.outputs:
                note("allowed, but refused or typed otherwise", row.operator, refusal, (types, drawn.attributes, found))
            broken = disrupted(rng, row, forms[row.operator], types, drawn.attributes)
            if broken is not None:
                asked["not allowed"] += 1
                refusal, found = inferred(Vertex(row.name, (), broken.attributes, ()), broken.types)
                example = (broken.types, broken.attributes, found)
                if not refusal:
                    note("not allowed, but accepted", row.operator, broken.what, example)
                elif refusal in INTERNAL:
                    note("refused by an internal check", row.operator, f"{broken.what}: {refusal}", example)
    for (finding, operator, what), times in sorted(seen.items()):
        types, attributes, found = examples[finding, operator, what]
        print(f"{finding}: {operator}, {what}, {times} times: {', '.join(map(str, types))} {attributes} gives", end=" ")
        print(", ".join(map(str, found)) or "nothing")
    totals = Counter()
    for (finding, _, _), times in seen.items():
        totals[finding] += times
    print(f"{asked['allowed']} calls that a row allows, {asked['not allowed']} that none does: {dict(totals)}")


if __name__ == "__main__":
    main()
