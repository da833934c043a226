"""The range of tensor elements, as far as operators determine it, so that calls which few values suit get suitable
tensors (NNSmith leaves that to a solver).

What is known of a tensor is an interval that its elements are in, and numbers that some elements are whatever comes in.
What a call needs of a tensor narrows it, and what that was moved or picked from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, pi
from types import MappingProxyType
from typing import Any

import numpy as np

from tzerlike.graph.spec import elementwise
from tzerlike.graph.spec.language import Specification


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Elements lie from `low` to `high`, and some of them are each of `has`, whatever comes in. None is to be 0 if
    `not_zero`."""

    low: float = -inf
    high: float = inf
    has: frozenset[float] = frozenset()
    not_zero: bool = False

    def within(self, need: Whereabouts) -> Whereabouts:
        """This one where elements have to lie as a call needs them for a finite result."""
        low, high = max(self.low, need.low), min(self.high, need.high)
        return Whereabouts(low, high, self.has, self.not_zero or need.not_zero)

    def meets(self, need: Whereabouts) -> bool:
        """Whether there can be elements that all suit a need."""
        if any(not need.low <= one <= need.high or (need.not_zero and not one) for one in self.has):
            return False
        low, high = max(self.low, need.low), min(self.high, need.high)
        return low < high or (low == high == self.low == self.high)


ANYWHERE = Whereabouts()
_ZERO, _ONE = frozenset({0.0}), frozenset({1.0})

NEEDS: Mapping[str, Mapping[int, Whereabouts]] = MappingProxyType(
    {
        **{name: {0: Whereabouts(low=1e-4)} for name in ("log", "rsqrt", "power")},
        **{name: {0: Whereabouts(-1.0, 1.0)} for name in ("asin", "acos")},
        **{name: {1: Whereabouts(not_zero=True)} for name in ("divide", "floor_divide", "floor_mod", "mod")},
        "sqrt": {0: Whereabouts(low=0.0)},
        "atanh": {0: Whereabouts(-0.999, 0.999)},
        "acosh": {0: Whereabouts(low=1.0)},
        "nn.batch_norm": {4: Whereabouts(low=0.0)},
    }
)
"""What operators need of floats, by the place of the input."""

_MOVING = frozenset(
    """
    reshape flatten permute_dims expand_dims squeeze broadcast_to concat stack split strided_slice tile repeat flip take
    gather_elements gather_nd index_tensor reverse_sequence sort topk meshgrid max min median nn.batch_flatten
    nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d
    mean nn.pixel_shuffle grad.no_grad grad.start_checkpoint grad.end_checkpoint tuple if match_cast
    slice_scatter maximum minimum where image.resize2d image.resize3d
""".split()  # noqa: SIM905
)
"""Operators whose elements are those of their inputs, or between them."""

_KEEPS_ALL = frozenset(
    """
    reshape flatten permute_dims expand_dims squeeze broadcast_to concat stack split tile repeat flip reverse_sequence
    sort meshgrid nn.batch_flatten nn.pixel_shuffle grad.no_grad grad.start_checkpoint grad.end_checkpoint tuple
    match_cast
""".split()  # noqa: SIM905
)
"""Those of them that leave no element out. A part of a split may have none of certain ones, which is not worth more."""

_BY_ELEMENT = frozenset(row.name for row in elementwise.ROWS)

_UNARY = frozenset(
    row.name
    for row in elementwise.ROWS
    if len(row.inputs) == 1 and row.outputs[0].dtype == row.inputs[0].dtype and not row.name.endswith("_not")
)

_RISING = frozenset(
    """
    ceil floor round trunc exp log sqrt sigmoid erf tanh sinh asin atan asinh acosh nn.relu nn.leakyrelu nn.softplus
    nn.selu clip sign atanh
""".split()  # noqa: SIM905
)
"""Operators of one input that are greater, or no less, where that is."""

_EVEN = frozenset(("abs", "square", "cosh"))

_THROUGH_ZERO = frozenset("erf tanh sinh asin atan asinh atanh sign nn.leakyrelu".split())  # noqa: SIM905
"""Those of them that have the sign of what comes in."""

_STEPS = MappingProxyType({"ceil": (1.0, 0.0), "floor": (0.0, 1.0), "round": (0.5, 0.5), "trunc": (1.0, 1.0)})
"""How far below and above what they give the inputs may be."""

_GIVEN: Mapping[str, Whereabouts] = MappingProxyType(
    {
        **dict.fromkeys(("sigmoid", "nn.softmax"), Whereabouts(0, 1)),
        **dict.fromkeys(("sin", "cos", "erf", "tanh", "hamming_window"), Whereabouts(-1, 1)),
        "sign": Whereabouts(-1, 1),
        **dict.fromkeys(("asin", "atan"), Whereabouts(-pi / 2, pi / 2)),
        "acos": Whereabouts(0, pi),
        "atan2": Whereabouts(-pi, pi),
        **dict.fromkeys(
            ["abs", "square", "exp", "sqrt", "rsqrt", "acosh", "nn.relu", "nn.softplus", "variance", "std", "power"],
            Whereabouts(low=0),
        ),
        "cosh": Whereabouts(low=1),
        **dict.fromkeys(("nn.gelu", "nn.gelu_tanh", "nn.silu"), Whereabouts(low=-0.3)),
        "nn.selu": Whereabouts(low=-1.76),
        "nn.log_softmax": Whereabouts(high=0),
        "zeros_like": Whereabouts(0, 0, _ZERO),
        "ones_like": Whereabouts(1, 1, _ONE),
        "eye_like": Whereabouts(0, 1, _ZERO),
        **dict.fromkeys(("tril", "triu", "nn.pad"), Whereabouts(has=_ZERO)),
        **dict.fromkeys(
            ("grad.max_pool2d_backward", "grad.avg_pool2d_backward", "grad.take_backward"), Whereabouts(has=_ZERO)
        ),
        "grad.nll_loss_backward": Whereabouts(has=_ZERO),
    }
)
"""What operators give of any floats."""


def need_of(row: Specification, place: int) -> Whereabouts | None:
    """What a call needs of one of its inputs; None where any values do."""
    needs = NEEDS.get(row.operator)
    return None if needs is None else needs.get(place)


def need_before(row: Specification, need: Whereabouts) -> Whereabouts | None:
    """What a call needs of its inputs for its outputs to suit a need, None for nothing that is known."""
    if row.operator in _MOVING:
        return need
    if row.operator in _THROUGH_ZERO:
        not_zero = need.not_zero or need.low > 0 or need.high < 0
        return Whereabouts(0.0 if need.low >= 0 else -inf, 0.0 if need.high <= 0 else inf, not_zero=not_zero)
    if row.operator in _STEPS:
        below, above = _STEPS[row.operator]
        return Whereabouts(need.low - below, need.high + above)
    return Whereabouts(not_zero=True) if row.operator in ("abs", "square") and (need.not_zero or need.low > 0) else None


def easily_led(row: Specification) -> bool:
    """Whether the results of a call are easily led to where others need them: through elements, one by one."""
    return row.operator in _MOVING or (row.name in _BY_ELEMENT and row.operator != "astype")


def reach_of(
    row: Specification, inputs: Sequence[Whereabouts], attributes: Mapping[str, Any], *, alike: bool = False
) -> Whereabouts:
    """Where the outputs of a call lie, whose inputs lie in `inputs`, and are all the same if `alike`."""
    if not row.inputs and row.repeated is None:
        made = np.asarray(row.meaning(**attributes), np.float64)
        ends = (float(made.min()), float(made.max())) if made.size else ()
        return Whereabouts(*ends[:2], frozenset(ends)) if ends else ANYWHERE
    if row.operator in _MOVING and inputs:
        low, high = min(one.low for one in inputs), max(one.high for one in inputs)
        kept = inputs if row.operator in _KEEPS_ALL else ()
        return Whereabouts(low, high, frozenset[float]().union(*(one.has for one in kept)))
    if row.operator in ("full_like", "one_hot"):
        values = [float(attributes[name]) for name in ("fill_value", "on_value", "off_value") if name in attributes]
        return Whereabouts(min(values), max(values), frozenset(values))
    if alike and row.operator in ("subtract", "floor_mod", "mod"):
        return Whereabouts(0, 0, _ZERO)
    if alike and row.operator == "divide":
        return Whereabouts(1, 1, _ONE)
    if row.operator == "add" and not alike:
        return Whereabouts(inputs[0].low + inputs[1].low, inputs[0].high + inputs[1].high)
    if row.operator == "cumsum" and attributes["exclusive"]:
        return Whereabouts(has=_ZERO)
    given = _GIVEN.get(row.operator, ANYWHERE)
    return _mapped(row, inputs[0], given, attributes) if row.name in _UNARY else given


def _mapped(row: Specification, one: Whereabouts, given: Whereabouts, attributes: Mapping[str, Any]) -> Whereabouts:
    """What an operator of one input makes of it: of its ends, if the operator is rising or falling, and of what it
    has."""
    if row.operator not in {*_RISING, *_EVEN, "negative"} and not one.has:
        return given
    with np.errstate(all="ignore"):
        values = np.asarray((one.low, one.high, *one.has), np.float64)
        low, high, *has = np.asarray(row.meaning(values, **attributes), np.float64).tolist()
    if row.operator == "negative":
        low, high = high, low
    elif row.operator in _EVEN:
        low, high = given.low if one.low < 0 < one.high else min(low, high), max(low, high)
    elif row.operator not in _RISING:
        low, high = given.low, given.high
    elif row.operator == "sign":
        # 0 alone is as good as never.
        has.append(1.0 if one.high > 0 else -1.0)
    return Whereabouts(
        max(_or(low, -inf), given.low), min(_or(high, inf), given.high), frozenset(filter(isfinite, has))
    )


def _or(value: float, other: float) -> float:
    return other if isnan(value) else value
