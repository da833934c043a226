"""Losses, attention, and normalisations over groups of channels."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.meaning import deviation
from tzerlike.graph.meaning import losses as numpy_of
from tzerlike.graph.spec.axes import Behind
from tzerlike.graph.spec.domains import Between, Choice, Divisors, OneOf
from tzerlike.graph.spec.language import CLOSE, Rounding, Specification, Values, dtypes, tensor
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import Term, integers, shape, symbol

DTYPE, S = symbol("T"), shape("S")
n, c, b, q, kv, h, d, e, groups = integers("n c b q kv h d e groups")
REAL = dtypes("float32", "float64")
EPSILON, REDUCTION, MASK = symbol("epsilon"), symbol("reduction"), symbol("causal_mask")
SCORES = Rounding(ulps=64, terms=32 * d * d + kv, absolute=True, deviation=deviation.attention)
CLASSES = Values(0, c - 1, must=("int64",))

ATTENTION = (tensor(DTYPE, b, q, h, d), tensor(DTYPE, b, kv, h, d), tensor(DTYPE, b, kv, h, e))
MASKS: Mapping[Term, Choice] = {DTYPE: dtypes("float32", "float16"), MASK: OneOf(None, "TopLeft")}

ROWS = (
    Specification(
        name="nn.cross_entropy_with_logits",
        inputs=(tensor(DTYPE, n, S), tensor(DTYPE, n, S)),
        outputs=(tensor(DTYPE),),
        where={DTYPE: REAL, S: Shapes(1)},
        meaning=numpy_of.cross_entropy,
        rounding=Rounding(ulps=2, terms=n * S.size + 2),
    ),
    Specification(
        name="nn.nll_loss",
        inputs=(tensor(DTYPE, n, c, S), tensor("int64", n, S, values=CLASSES), tensor(DTYPE, c, values=Values(0.5, 2))),
        attributes={"reduction": REDUCTION, "ignore_index": -100},
        outputs=(tensor(DTYPE),),
        where={DTYPE: REAL, REDUCTION: OneOf("mean", "sum")},
        meaning=numpy_of.nll_loss,
        rounding=Rounding(ulps=4, terms=2 * n * S.size + 2),
    ),
    Specification(
        name="nn.nll_loss:each",
        inputs=(tensor(DTYPE, n, c, S), tensor("int64", n, S, values=CLASSES), tensor(DTYPE, c, values=Values(0.5, 2))),
        attributes={"reduction": "none", "ignore_index": -100},
        outputs=(tensor(DTYPE, n, S),),
        where={DTYPE: REAL},
        meaning=numpy_of.nll_loss,
        rounding=CLOSE,
    ),
    Specification(
        name="nn.group_norm",
        inputs=(tensor(DTYPE, n, c, S), tensor(DTYPE, c), tensor(DTYPE, c)),
        attributes={
            "num_groups": groups, "channel_axis": 1, "axes": shape("axes"), "epsilon": EPSILON, "center": True,
            "scale": True,
        },
        outputs=(tensor(DTYPE, n, c, S),),
        where={
            DTYPE: dtypes("float32"), S: Shapes(1), groups: Divisors(c), shape("axes"): Behind(2, S.rank + 2),
            EPSILON: OneOf(1e-05, 0.001),
        },
        meaning=numpy_of.group_norm,
        rounding=Rounding(ulps=512, absolute=True, deviation=deviation.group_norm),
    ),
    Specification(
        name="nn.instance_norm",
        inputs=(tensor(DTYPE, n, c, S), tensor(DTYPE, c), tensor(DTYPE, c)),
        attributes={
            "channel_axis": 1, "axes": shape("axes"), "epsilon": EPSILON, "center": True, "scale": True,
        },
        outputs=(tensor(DTYPE, n, c, S),),
        where={
            DTYPE: dtypes("float32"), S: Shapes(1), shape("axes"): Behind(2, S.rank + 2), EPSILON: OneOf(1e-05, 0.001),
        },
        meaning=numpy_of.instance_norm,
        rounding=Rounding(ulps=512, absolute=True, deviation=deviation.instance_norm),
    ),
    Specification(
        name="nn.attention",
        inputs=ATTENTION,
        attributes={"causal_mask": MASK},
        outputs=(tensor(DTYPE, b, q, h, e),),
        where=MASKS,
        meaning=numpy_of.attention,
        rounding=SCORES,
    ),
    Specification(
        name="nn.attention:bottom right",
        inputs=ATTENTION,
        attributes={"causal_mask": "BottomRight"},
        outputs=(tensor(DTYPE, b, q, h, e),),
        where={DTYPE: dtypes("float32", "float16"), kv: Between(q, q + 8)},
        meaning=numpy_of.attention,
        rounding=SCORES,
    ),
    Specification(
        name="nn.attention_bias",
        inputs=(*ATTENTION, tensor(DTYPE, b, h, q, kv)),
        attributes={"causal_mask": MASK},
        outputs=(tensor(DTYPE, b, q, h, e),),
        where=MASKS,
        meaning=numpy_of.attention,
        rounding=SCORES,
    ),
)  # fmt: skip
