"""How good are the models that are drawn, by the figures of the papers?

    python scripts/graph_evaluation.py [--models N] [--seed N] [--without-tvm]

Prints, on one core: how long models of 10 and of 100 vertices take to draw (Isra: 320 s for 10,000 of 100); what share
of models of 32 vertices TVM's type inference and verifier accept (GenCoG: 100 %), and what building them costs, the
same where calls stand in functions and extents vary; single
and double edge coverage in Isra's setting (99.4 % and 84.3 %); vertex and edge diversity in GenCoG's (0.603 and 0.963);
what share of models of 10 vertices are numerically valid on values as drawn, after search (NNSmith: 98 % in 3.5 ms),
and with new sources for calls that the search gives up.

Isra (section IV-C, after Luo et al., ICSE 2021). C is a set of operators, n its size, I a set of models:
    SEC(I) = mean over o in C of  #{o2 : an edge o -> o2 is in a model of I} / n
    DEC(I) = mean over o in C of  #{(o2, o3) : edges o -> o2 -> o3 that share o2's vertex are in a model of I} / n^2
Setting: 10,000 models, the 40 operators that NNSmith and Isra share, rank and extents at most 5, 1 to 32 vertices.

GenCoG (definition 5.1, and `gencog/metric/div.py` for its estimate). O is a set of operators:
    div_V = mean over o in O of  min(1, #{(shapes of inputs, attributes) of calls of o} / N(o))
    div_E = #{(o1, o2) : an edge o1 -> o2 is in a model} / #O^2
    N(o) = 4^(greatest rank of the first input) * (2 where a second input is no parameter) * (1 + floor(log2 A(o)))
    A(o) = the product of how many values each attribute has that can be counted
Shapes are those of inputs that are no parameters (weights, scales). Setting: the operators that all methods of the
paper share, rank 1 to 5, extents 1 to 4, models of 32 vertices, at most 20,000 vertices in all.

NNSmith (sections 2.3 and 5.3): a model is numerically valid on values for which no operator gives NaN or an infinity.
Setting: models of 10 operators, at least one of which is vulnerable, that is, cannot take any value. Here that is one
whose row keeps values of some float from where they usually lie.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import log2
from random import Random

from tzerlike.graph.dice import Dice
from tzerlike.graph.enclose import enclosed
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model
from tzerlike.graph.novelty import Novelty
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.spec import OPERATOR_ROWS, ROWS
from tzerlike.graph.spec.language import USUAL, Specification
from tzerlike.graph.symbols import with_variables
from tzerlike.graph.valid import exceptional_place, made_valid, valid_values
from tzerlike.graph.values import drawn_values

ISRA = frozenset(
    """
    abs negative sqrt exp log sin cos tan asin acos atan ceil floor round sigmoid tanh nn.relu nn.leakyrelu clip
    add subtract multiply divide maximum minimum power nn.softmax sum mean max min prod
    concat strided_slice expand_dims squeeze reshape permute_dims matmul nn.conv2d nn.max_pool2d
""".split()  # noqa: SIM905
)
"""Operators on floats; NNSmith's and Isra's lists of shared ones are not printed in the papers."""

GENCOG: Mapping[str, tuple[int, bool, int]] = {
    **{name: (5, False, 1) for name in ("sigmoid", "nn.relu", "nn.leakyrelu", "nn.prelu", "nn.pad")},
    **{name: (5, False, 1) for name in ("permute_dims", "strided_slice")},
    **{name: (5, True, 1) for name in ("add", "subtract", "multiply", "maximum", "minimum", "concat")},
    "reshape": (5, False, 4**4),
    "nn.softmax": (5, False, 4),
    "nn.conv1d": (3, False, 3 * 2 * 3**2 * 2 * 4),
    "nn.conv2d": (4, False, 3**2 * 2**2 * 3**4 * 2**2 * 4),
    "nn.max_pool2d": (4, False, 3**2 * 2**2 * 3**4 * 2**2),
    "nn.avg_pool2d": (4, False, 3**2 * 2**2 * 3**4 * 2),
    "nn.batch_norm": (5, False, 2 * 2),
    "matmul": (2, False, 1),
}
"""Operators of GenCoG's repository (`common_ops`): greatest rank, whether a second input counts, and A.

A is 1 where its code cannot count the values of an attribute (`axes`, `begin`, `pad_width`); what it has for layers of
networks is taken from the ranges in its `config.py`.
"""

_CRASHES = {"nn.pixel_shuffle"}
"""Operators whose type inference crashes where extents vary."""

Pair = tuple[str, str]


def operator_of(row: str) -> str:
    return row.partition(":")[0]


def edges_of(model: Model) -> Iterable[tuple[int, int]]:
    """Edges between vertices, by their places."""
    maker = {
        number + i: place for place, (number, one) in enumerate(model.first_outputs()) for i in range(len(one.outputs))
    }
    for place, vertex in enumerate(model.vertices):
        yield from {(maker[number], place) for number in vertex.inputs if number in maker}


def edge_coverage(models: Iterable[Model]) -> tuple[float, float]:
    """Return SEC and DEC."""
    single: set[Pair] = set()
    double: set[tuple[str, str, str]] = set()
    count = len(ISRA)
    for model in models:
        names = [operator_of(vertex.row) for vertex in model.vertices]
        before = defaultdict(set)
        for one, other in edges_of(model):
            single.add((names[one], names[other]))
            before[other].add(names[one])
            double.update((first, names[one], names[other]) for first in before[one])
    return len(single) / count**2, len(double) / count**3


class Diversity:
    """Vertex and edge diversity of the models so far."""

    def __init__(self) -> None:
        self.calls: dict[str, set[object]] = {name: set() for name in GENCOG}
        self.edges: set[Pair] = set()

    def add(self, model: Model) -> None:
        types = model.types()
        names = [operator_of(vertex.row) for vertex in model.vertices]
        for name, vertex in zip(names, model.vertices, strict=True):
            counted = vertex.inputs if GENCOG[name][1] else vertex.inputs[:1]
            attributes = tuple(vertex.attributes.items()) if GENCOG[name][2] > 1 else ()
            self.calls[name].add((tuple(types[number].shape for number in counted), attributes))
        self.edges.update((names[one], names[other]) for one, other in edges_of(model))

    def share(self, name: str) -> float:
        return min(1.0, len(self.calls[name]) / estimate(name))

    def growth(self, name: str) -> float:
        """How much one more call can bring, by which GenCoG draws operators too."""
        return 1 / estimate(name) if self.share(name) < 1 else 0.0

    def __str__(self) -> str:
        vertex = sum(map(self.share, GENCOG)) / len(GENCOG)
        return f"{vertex:.3f} {len(self.edges) / len(GENCOG) ** 2:.3f}"


def estimate(name: str) -> int:
    """N of GenCoG."""
    rank, second, attributes = GENCOG[name]
    return 4**rank * (2 if second else 1) * (1 + int(log2(attributes)))


def menu_of(operators: Iterable[str], favour: Callable[[str], float] | None = None) -> Menu:
    wanted = set(operators)
    return Menu([row for row in ROWS.values() if row.operator in wanted], favour)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--models", type=int, default=10_000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--without-tvm", action="store_true")
    given = arguments.parse_args()
    every, seen = Menu(list(ROWS.values())), Novelty()
    print(f"{len({row.operator for row in OPERATOR_ROWS.values()})} operators in {len(OPERATOR_ROWS)} rows")
    count = given.models
    for size in (10, 100):
        start = time.process_time()
        for number in range(count):
            random_model(Random(f"{given.seed} {size} {number}"), size, every, novelty=seen)
        spent = time.process_time() - start
        print(f"{count} models of {size} vertices: {spent:.1f} s, {1000 * spent / count:.2f} ms each")
    floats = SizeLimits(rank=5, extent=5, elements=5**5, dtypes=("float32",))
    menu, seen = menu_of(ISRA), Novelty()
    models = (
        random_model(rng, 1 + rng.randrange(32), menu, floats, novelty=seen)
        for rng in (Random(f"{given.seed} isra {number}") for number in range(given.models))
    )
    print("single and double edge coverage: {:.2%} {:.2%}".format(*edge_coverage(models)))
    small = SizeLimits(rank=5, extent=4, elements=4**5, dtypes=("float32",))
    diversity, seen = Diversity(), Novelty()
    menu = menu_of(GENCOG, diversity.growth)
    for number in range(20_000 // 32):
        diversity.add(random_model(Random(f"{given.seed} gencog {number}"), 32, menu, small, novelty=seen))
    print(f"vertex and edge diversity: {diversity}")
    print(validity(given.models // 10, given.seed))
    if not given.without_tvm:
        print(acceptance(given.models, given.seed))
        print(structured_acceptance(given.models // 10, given.seed))


def vulnerable(row: Specification) -> bool:
    return any((port.values.low, port.values.high) != (USUAL.low, USUAL.high) for port in row.inputs)


def validity(count: int, seed: int) -> str:
    """Shares of numerically valid models, in NNSmith's setting."""
    every = Menu(list(ROWS.values()))
    drawn, searched, made, spent, spent_anew, number = 0, 0, 0, 0.0, 0.0, 0
    for _ in range(count):
        while True:
            model = random_model(Random(f"{seed} valid {number}"), 10, every)
            number += 1
            if any(vulnerable(ROWS[vertex.row]) for vertex in model.vertices):
                break
        start = time.process_time()
        found = valid_values(model, ROWS, seed)
        spent += time.process_time() - start
        drawn += found.valid and found.rounds == 1
        searched += found.valid
        start = time.process_time()
        fed, values = made_valid(model, ROWS, seed)
        spent_anew += time.process_time() - start
        made += exceptional_place(fed, ROWS, values) is None
    shares = f"{drawn / count:.1%} as drawn, {searched / count:.1%} after search in {1000 * spent / count:.2f} ms"
    anew = f"{made / count:.1%} with new sources in {1000 * spent_anew / count:.2f} ms"
    return f"numerically valid of {count} models of 10 vertices: {shares}, {anew}"


def acceptance(count: int, seed: int) -> str:
    """What TVM's type inference and verifier say to models of 32 vertices, and how long that takes."""
    every = Menu(list(ROWS.values()))
    models = (random_model(Random(f"{seed} 32 {number}"), 32, every) for number in range(count))
    accepted, spent = _accepted(models)
    return f"{accepted} of {count} models of 32 vertices accepted, {1000 * spent / count:.1f} ms each in TVM"


def structured_acceptance(count: int, seed: int) -> str:
    """The same of models with functions, and with extents that vary where they can."""
    every = Menu([row for row in ROWS.values() if row.operator not in _CRASHES])
    models, varied, spent = [], 0, 0.0
    for number in range(count):
        rng = Random(f"{seed} structured {number}")
        model, dice = random_model(rng, 32, every, MODEL_LIMITS), Dice(rng)
        start = time.process_time()
        for _ in range(3):
            model = enclosed(model, dice) or model
        varying = with_variables(model, ROWS, dice)
        spent += time.process_time() - start
        varied += varying is not None
        models.append(varying or model)
    accepted, _ = _accepted(models)
    return (
        f"{accepted} of {count} models of 32 vertices with functions accepted; extents vary in {varied} of them; "
        f"{1000 * spent / count:.1f} ms each"
    )


def _accepted(models: Iterable[Model]) -> tuple[int, float]:
    from tzerlike.graph.relax import relax_accepts, relax_module

    accepted, spent, refusals = 0, 0.0, Counter[str]()
    for model in models:
        values = [drawn_values(origin, 0) for origin in model.sources]
        start = time.process_time()
        try:
            accepted += relax_accepts(relax_module(model, values))
        except Exception as error:  # noqa: BLE001 - what TVM raises is what is counted
            refusals[str(error).strip()[-200:]] += 1
        spent += time.process_time() - start
    for message, times in refusals.most_common(10):
        print(f"{times} times: {message}")
    return accepted, spent


if __name__ == "__main__":
    main()
