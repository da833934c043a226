"""A third party's mutators under the conformance kit: it accepts a good one and says what is wrong with the others."""

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from tzerlike.mutators import MutationEnv
from tzerlike.mutators.tree import Tree
from tzerlike.testing import check_mutator
from tzerlike.tvm_api import tirx


@dataclass(frozen=True, slots=True)
class Doubler:
    """Store every value twice."""

    name: str = "doubler"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        tree = Tree(func)
        stores = tree.of_type(tirx.BufferStore)
        site = rng.choice(stores)
        return tree.replace(site, tirx.SeqStmt([site.node, site.node])) if stores else None


@dataclass(frozen=True, slots=True)
class Idle:
    name: str = "idle"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        return None


@dataclass(frozen=True, slots=True)
class Careless:
    """Use a variable that nobody defines."""

    name: str = "careless"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        tree = Tree(func)
        return tree.replace(tree.of_type(tirx.IntImm)[-1], tirx.Var("unknown", "int32"))


@dataclass
class Moody:
    """Draw from something else than the generator it is given."""

    name: str = "moody"
    calls: int = 0

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        self.calls += 1
        tree = Tree(func)
        site = tree.of_type(tirx.For)[0]
        return tree.replace(site, tirx.SeqStmt([tirx.Evaluate(tirx.IntImm("int32", self.calls)), site.node]))


def test_a_good_mutator_passes() -> None:
    report = check_mutator(Doubler())
    assert report.children == report.well_formed == report.tried


@pytest.mark.parametrize(
    ("mutator", "complaint"),
    [
        (Idle(), "idle: no child in 80 calls"),
        (Careless(), "careless: only 0 of .* children are well-formed"),
        (Moody(), "moody, function 0, seed 0: the same seed gave two different children"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_kit_says_what_is_wrong(mutator: Any, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_mutator(mutator)
