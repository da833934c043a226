"""Rows whose boxes are too large for brute force, against ONNX's definitions: z3 looks for a call that one has alone.

The domains of a row, as they are, are evaluated on z3's numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tzerlike.graph.place import SizeLimits
from tzerlike.graph.solve import plan_of
from tzerlike.graph.spec import ROWS
from tzerlike.graph.spec.domains import Between, Divisors, Exactly, Multiples, NewExtent
from tzerlike.graph.spec.language import Specification

z3 = pytest.importorskip("z3", reason="needs z3-solver")
pytestmark = pytest.mark.long

LARGEST = 6


class Number:
    """A whole number of z3 with Python's operators; divisors are positive here, so that both round down."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: Any) -> Number:
        return Number(self.value + _plain(other))

    def __sub__(self, other: Any) -> Number:
        return Number(self.value - _plain(other))

    def __mul__(self, other: Any) -> Number:
        return Number(self.value * _plain(other))

    def __floordiv__(self, other: Any) -> Number:
        return Number(self.value / _plain(other))

    def __mod__(self, other: Any) -> Number:
        return Number(self.value % _plain(other))

    def __radd__(self, other: int) -> Number:
        return Number(other + self.value)

    def __rsub__(self, other: int) -> Number:
        return Number(other - self.value)

    def __rmul__(self, other: int) -> Number:
        return Number(other * self.value)


def _plain(one: Any) -> Any:
    return one.value if isinstance(one, Number) else one


def _steps(row: Specification) -> Iterator[tuple[str, Any]]:
    plan = plan_of(row)
    for place in plan.first:
        yield from place.new
    yield from plan.variables
    for place in plan.rest:
        yield from place.new


def _symbolic(row: Specification) -> tuple[dict[str, Any], list[Any]]:
    """The variables of a row, and what its domains say of them."""
    known: dict[str, Any] = SizeLimits().bindings() | {"arity": len(row.inputs)}
    said = []
    for name, domain in _steps(row):
        if not isinstance(domain, Between | Divisors | Exactly | Multiples | NewExtent):
            known[name] = next(iter(domain.values(known)))
            continue
        it = z3.Int(name)
        if isinstance(domain, Between):
            low, high = map(_plain, domain._ends(known))
            said += [it >= low, it <= high]
        elif isinstance(domain, Exactly):
            said.append(it == _plain(domain._value(known)))
        elif isinstance(domain, Divisors):
            said += [it >= 1, _plain(domain._number(known)) % it == 0]
        elif isinstance(domain, Multiples):
            said += [it >= 1, it % _plain(domain._unit(known)) == 0]
        else:
            said.append(it >= 1)
        known[name] = Number(it)
    return known, said


def _within(names: Mapping[str, Any], low: int, high: int, *prefixes: str) -> list[Any]:
    found = [one for name, one in names.items() if name.rstrip("0123456789") in prefixes]
    return [z3.And(one >= low, one <= high) for one in found]


def _windows(names: Mapping[str, Any], rank: int) -> Iterator[tuple[Any, ...]]:
    for i in range(rank):
        sizes = [names[f"{letter}{i}"] for letter in "xksd"]
        yield (*sizes, names[f"p{i}"] + names[f"p{i + rank}"])


def _convolution(names: Mapping[str, Any], rank: int) -> tuple[list[Any], list[Any]]:
    """ONNX's Conv: what it allows, within the limits of our domains; and its output."""
    said = [*_within(names, 0, 2, "p"), *_within(names, 1, 3, "s"), *_within(names, 1, 2, "d")]
    said += _within(names, 1, LARGEST, "x", "n", "c", "o")
    output = []
    for x, k, s, d, padding in _windows(names, rank):
        rest = x + padding - d * (k - 1) - 1
        said += [k >= 1, rest >= 0]
        output.append(rest / s + 1)
    if "groups" in names:
        said += [names["groups"] >= 1, names["c"] % names["groups"] == 0, names["o"] % names["groups"] == 0]
    return said, output


def _transposed(names: Mapping[str, Any], rank: int) -> tuple[list[Any], list[Any]]:
    """ONNX's ConvTranspose; kernels of up to 4, within the limits of our domains."""
    said = [*_within(names, 0, 1, "p"), *_within(names, 1, 3, "s"), *_within(names, 1, 1, "d")]
    said += [*_within(names, 1, LARGEST, "x", "n", "c"), *_within(names, 1, 4, "o", "k")]
    output = []
    for i, (x, k, s, d, padding) in enumerate(_windows(names, rank)):
        more = names[f"out{i}"]
        said += [more >= 0, more < s, k > padding]
        output.append(s * (x - 1) + more + (k - 1) * d + 1 - padding)
    said += [names["groups"] >= 1, names["c"] % names["groups"] == 0]
    return said, output


DEFINITIONS = {
    **{f"nn.conv{rank}d": (_convolution, rank, 2) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": (_transposed, rank, 2) for rank in (1, 2, 3)},
    "nn.conv2d:int8": (_convolution, 2, 2),
    "nn.conv2d:NHWC": (_convolution, 2, 1),
}


def _unsatisfiable(*said: Any) -> bool:
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(*said)
    found = solver.check()
    assert found != z3.unknown
    return bool(found == z3.unsat)


@pytest.fixture(autouse=True)
def no_threads_left_behind() -> None:
    """z3 keeps threads for its timeouts, which no forked child waits for."""


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_row_allows_what_the_definition_does(name: str) -> None:
    define, rank, first = DEFINITIONS[name]
    known, said = _symbolic(ROWS[name])
    names = {name: one.value for name, one in known.items() if isinstance(one, Number)}
    defined, output = define(names, rank)
    box = _within(names, 1, LARGEST, "x", "n", "c", "o")
    assert not _unsatisfiable(*said, *defined), "neither allows anything"
    assert all(_unsatisfiable(*said, *box, z3.Not(one)) for one in defined), "the row allows more"
    assert all(_unsatisfiable(*defined, *box, z3.Not(one)) for one in said), "the row allows less"
    extents = [_plain(one) for one in plan_of(ROWS[name]).outputs[0].shape(known)][first : first + rank]
    assert all(_unsatisfiable(*said, *box, one != other) for one, other in zip(extents, output, strict=True))
    assert all(_unsatisfiable(*said, *box, one < 1) for one in extents), "an output without elements"


def test_a_row_that_allows_less_is_seen() -> None:
    known, said = _symbolic(ROWS["nn.conv1d"])
    names = {name: one.value for name, one in known.items() if isinstance(one, Number)}
    defined, _ = _convolution(names, 1)
    assert not _unsatisfiable(*defined, z3.Not(z3.And(*said, names["k0"] < 3)))
