"""Layers of networks: convolutions, pooling, normalisations."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.meaning import deviation
from tzerlike.graph.meaning import nn as numpy_of
from tzerlike.graph.spec.axes import Axes, Axis
from tzerlike.graph.spec.domains import Between, Choice, Divisors, Each, Exactly, Multiples, OneOf, Such
from tzerlike.graph.spec.language import (
    CLOSE,
    FLOAT_DTYPES,
    Computation,
    Rounding,
    Specification,
    Values,
    dtypes,
    tensor,
)
from tzerlike.graph.spec.shapes import Factors, Shapes
from tzerlike.graph.spec.terms import OUT, Integer, Term, computed, integers, least, made, shape, symbol

DTYPE, S, AXES = symbol("T"), shape("S"), shape("axes")
n, c, o, h, w, groups, axis, index, k = integers("n c o h w groups axis index k")
TYPES = dtypes("float32", "float64", "float16")
DATA_LAYOUTS = ("NCW", "NCHW", "NCDHW")
KERNELS = ("OIW", "OIHW", "OIDHW")
TRANSPOSED = ("IOW", "IOHW", "IODHW")
EPSILON, CENTER, SCALE = symbol("epsilon"), symbol("center"), symbol("scale")
FLAG = OneOf(False, True)
WEIGHTS = made("extents_at", S, AXES)


class Window:
    """Variables and terms of a window that moves over `rank` spatial axes: sizes, strides, dilations, padding."""

    def __init__(self, rank: int) -> None:
        def many(name: str, count: int = rank) -> list[Integer]:
            return integers(" ".join(f"{name}{i}" for i in range(count)))

        self.extents, self.sizes, self.strides, self.dilations = many("x"), many("k"), many("s"), many("d")
        self.padding = many("p", 2 * rank)
        self.padded = [x + self.padding[i] + self.padding[i + rank] for i, x in enumerate(self.extents)]
        self.attributes: Mapping[str, object] = {
            "strides": tuple(self.strides),
            "padding": tuple(self.padding),
            "dilation": tuple(self.dilations),
        }
        self.steps: dict[Term, Choice] = {
            **{one: Between(1, 3) for one in self.strides},
            **{one: Between(0, 2) for one in self.padding},
            **{one: Between(1, 2) for one in self.dilations},
        }
        self.fitting: dict[Term, Choice] = {
            size: Between(1, (padded - 1) // d + 1)
            for size, padded, d in zip(self.sizes, self.padded, self.dilations, strict=True)
        }
        self.outputs = [
            (padded - d * (size - 1) - 1) // s + 1
            for padded, d, size, s in zip(self.padded, self.dilations, self.sizes, self.strides, strict=True)
        ]

    def reached(self, dilation: int, padding: int) -> dict[Term, Choice]:
        """Domains that reach the output: the input's extents follow from all others."""
        found: dict[Term, Choice] = {
            **{one: Between(1, 3) for one in self.strides},
            **{one: Between(1, dilation) for one in self.dilations},
            **{one: Between(1, 3) for one in self.sizes},
        }
        rank = len(self.extents)
        for i, one in enumerate(self.padding):
            reach = self.dilations[i % rank] * (self.sizes[i % rank] - 1)
            found[one] = Between(0, least(padding, reach // 2))
        for i, extent in enumerate(self.extents):
            reach = self.dilations[i] * (self.sizes[i] - 1) + 1
            found[extent] = Exactly(
                (OUT[i + 2] - 1) * self.strides[i] + reach - self.padding[i] - self.padding[i + rank]
            )
        return found


FLAT = Window(2)


def convolution(rank: int) -> Specification:
    window = Window(rank)
    return Specification(
        name=f"nn.conv{rank}d",
        inputs=(tensor(DTYPE, n, c, *window.extents), tensor(DTYPE, o, c // groups, *window.sizes)),
        attributes={
            **window.attributes,
            "groups": groups,
            "data_layout": DATA_LAYOUTS[rank - 1],
            "kernel_layout": KERNELS[rank - 1],
        },
        outputs=(tensor(DTYPE, n, o, *window.outputs),),
        where={DTYPE: TYPES, **window.steps, groups: Divisors(c), o: Multiples(groups), **window.fitting},
        backward={
            n: Exactly(OUT[0]),
            o: Exactly(OUT[1]),
            groups: Divisors(OUT[1]),
            c: Multiples(groups),
            **window.reached(2, 2),
        },
        meaning=numpy_of.convolution,
        rounding=Rounding(ulps=1, terms=c // groups * _product(window.sizes) + 1),
    )


def transposed(rank: int) -> Specification:
    """The gradient of a convolution: each element of the input adds a scaled kernel to the output."""
    window = Window(rank)
    more = integers(" ".join(f"out{i}" for i in range(rank)))
    whole = [
        (x - 1) * s + d * (size - 1) + 1 + extra
        for x, s, d, size, extra in zip(
            window.extents, window.strides, window.dilations, window.sizes, more, strict=True
        )
    ]
    return Specification(
        name=f"nn.conv{rank}d_transpose",
        inputs=(tensor(DTYPE, n, c, *window.extents), tensor(DTYPE, c, o, *window.sizes)),
        attributes={
            **window.attributes,
            "output_padding": tuple(more),
            "groups": groups,
            "data_layout": DATA_LAYOUTS[rank - 1],
            "kernel_layout": TRANSPOSED[rank - 1],
        },
        outputs=(
            tensor(DTYPE, n, o * groups, *(
                extent - window.padding[i] - window.padding[i + rank] for i, extent in enumerate(whole)
            )),
        ),
        where={
            DTYPE: TYPES,
            **{one: Between(1, 3) for one in window.strides},
            **{one: Between(1, 1) for one in window.dilations},
            **{one: Between(0, 1) for one in window.padding},
            **{one: Between(0, s - 1) for one, s in zip(more, window.strides, strict=True)},
            groups: Divisors(c),
            o: Between(1, 4),
            **{
                size: Between(1 + window.padding[i] + window.padding[i + rank], 4)
                for i, size in enumerate(window.sizes)
            },
        },
        meaning=numpy_of.transposed_convolution,
        rounding=Rounding(ulps=1, terms=c // groups * _product(window.sizes) + 1),
    )  # fmt: skip


def windowed(name: str, rank: int, meaning: Computation) -> Specification:
    """Windows that begin in the tensor: padding on each side is less than the window's size."""
    window = Window(rank)
    average = name == "avg"
    return Specification(
        name=f"nn.{name}_pool{rank}d",
        inputs=(tensor(DTYPE, n, c, *window.extents),),
        attributes={
            "pool_size": tuple(window.sizes),
            **window.attributes,
            "ceil_mode": False,
            "count_include_pad": symbol("count_include_pad") if average else False,
            "layout": DATA_LAYOUTS[rank - 1],
        },
        outputs=(tensor(DTYPE, n, c, *window.outputs),),
        where={
            DTYPE: TYPES,
            **{one: Between(1, 1 if average else 2) for one in window.dilations},
            **{one: Between(1, 3) for one in window.strides},
            **{
                size: Between(1, (x - 1) // d + 1)
                for size, x, d in zip(window.sizes, window.extents, window.dilations, strict=True)
            },
            **{
                one: Between(0, computed("min", 2, (window.sizes[i % rank] - 1) // 2))
                for i, one in enumerate(window.padding)
            },
            **({symbol("count_include_pad"): FLAG} if average else {}),
        },
        backward={n: Exactly(OUT[0]), c: Exactly(OUT[1]), **window.reached(1 if average else 2, 0)},
        meaning=meaning,
        rounding=_averaged(_product(window.sizes)) if average else Rounding(),
    )


def adaptive(rank: int) -> Specification:
    extents = integers(" ".join(f"x{i}" for i in range(rank)))
    sizes = integers(" ".join(f"y{i}" for i in range(rank)))
    return Specification(
        name=f"nn.adaptive_avg_pool{rank}d",
        inputs=(tensor(DTYPE, n, c, *extents),),
        attributes={"output_size": tuple(sizes), "layout": DATA_LAYOUTS[rank - 1]},
        outputs=(tensor(DTYPE, n, c, *sizes),),
        where={DTYPE: TYPES, **{size: Between(1, x) for size, x in zip(sizes, extents, strict=True)}},
        backward={
            n: Exactly(OUT[0]),
            c: Exactly(OUT[1]),
            **{size: Exactly(OUT[i + 2]) for i, size in enumerate(sizes)},
            **{x: Between(OUT[i + 2], OUT[i + 2] * 3) for i, x in enumerate(extents)},
        },
        meaning=numpy_of.adaptive_average,
        rounding=_averaged(_product(extents)),
    )


def _averaged(terms: Integer) -> Rounding:
    return Rounding(ulps=2, terms=terms, deviation=deviation.window)


def _product(factors: list[Integer]) -> Integer:
    found = factors[0]
    for factor in factors[1:]:
        found = found * factor
    return found


ROWS = (
    *(convolution(rank) for rank in (1, 2, 3)),
    *(transposed(rank) for rank in (1, 2, 3)),
    *(windowed("max", rank, numpy_of.max_pool) for rank in (1, 2, 3)),
    *(windowed("avg", rank, numpy_of.average_pool) for rank in (1, 2, 3)),
    *(adaptive(rank) for rank in (1, 2, 3)),
    Specification(
        name="nn.batch_flatten",
        inputs=(tensor(DTYPE, n, S),),
        outputs=(tensor(DTYPE, n, S.size),),
        where={DTYPE: dtypes(*FLOAT_DTYPES), S: Shapes(1)},
        backward={n: Exactly(OUT[0]), S: Factors(OUT[1])},
        meaning=numpy_of.batch_flatten,
    ),
    Specification(
        name="nn.layer_norm",
        inputs=(tensor(DTYPE, S), tensor(DTYPE, WEIGHTS), tensor(DTYPE, WEIGHTS)),
        attributes={"axes": AXES, "epsilon": EPSILON, "center": True, "scale": True},
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes("float32", "float64"), S: Shapes(1), AXES: Axes(S.rank), EPSILON: OneOf(1e-05, 0.001)},
        meaning=numpy_of.layer_norm,
        rounding=Rounding(ulps=512, absolute=True, deviation=deviation.layer_norm),
    ),
    Specification(
        name="nn.rms_norm",
        inputs=(tensor(DTYPE, S), tensor(DTYPE, WEIGHTS)),
        attributes={"axes": AXES, "epsilon": EPSILON},
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes("float32", "float64"), S: Shapes(1), AXES: Axes(S.rank), EPSILON: OneOf(1e-05, 0.001)},
        meaning=numpy_of.rms_norm,
        rounding=Rounding(ulps=512, absolute=True, deviation=deviation.rms_norm),
    ),
    Specification(
        name="nn.batch_norm",
        inputs=(
            tensor(DTYPE, S), tensor(DTYPE, S[axis]), tensor(DTYPE, S[axis]), tensor(DTYPE, S[axis]),
            tensor(DTYPE, S[axis], values=Values(0.5, 2)),
        ),
        attributes={
            "axis": axis, "epsilon": EPSILON, "center": CENTER, "scale": SCALE, "momentum": 0.1, "training": False,
        },
        outputs=(tensor(DTYPE, S), tensor(DTYPE, S[axis]), tensor(DTYPE, S[axis])),
        where={
            DTYPE: dtypes("float32", "float64"), S: Shapes(1), axis: Axis(S.rank), EPSILON: OneOf(1e-05, 0.001),
            CENTER: FLAG, SCALE: FLAG,
        },
        meaning=numpy_of.batch_norm,
        rounding=Rounding(ulps=32, absolute=True),
    ),
    Specification(
        name="nn.prelu",
        inputs=(tensor(DTYPE, S), tensor(DTYPE, S[axis])),
        attributes={"axis": axis},
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: TYPES, S: Shapes(1), axis: Axis(S.rank)},
        meaning=numpy_of.prelu,
        rounding=CLOSE,
    ),
    Specification(
        name="nn.pad",
        inputs=(tensor(DTYPE, S),),
        attributes={"pad_width": shape("widths"), "pad_value": symbol("value"), "pad_mode": "constant"},
        outputs=(tensor(DTYPE, made("padded", S, shape("widths"))),),
        where={
            DTYPE: dtypes("float32", "float64", "float16", "int32", "int64"), S: Shapes(1),
            shape("widths"): Each(2 * S.rank, index, Between(0, 2)), symbol("value"): OneOf(0.0, 1.0),
        },
        backward={
            shape("widths"): Each(2 * OUT.rank, index, Between(0, least(2, (OUT[index // 2] - 1) // 2))),
            S: Exactly(made("unpadded", OUT, shape("widths"))),
        },
        meaning=numpy_of.pad,
    ),
    *(
        Specification(
            name=f"nn.pad:{mode}",
            inputs=(tensor(DTYPE, S),),
            attributes={"pad_width": shape("widths"), "pad_mode": mode},
            outputs=(tensor(DTYPE, made("padded", S, shape("widths"))),),
            where={
                DTYPE: dtypes("float32", "int32"), S: Shapes(1),
                shape("widths"): Each(2 * S.rank, index, Between(0, least(2, S[index // 2] - int(mode == "reflect")))),
            },
            meaning=numpy_of.pad,
        )
        for mode in ("reflect", "replicate", "circular")
    ),
    Specification(
        name="nn.max_pool2d:ceil",
        inputs=(tensor(DTYPE, n, c, *FLAT.extents),),
        attributes={
            "pool_size": tuple(FLAT.sizes), "strides": tuple(FLAT.strides), "padding": (0, 0, 0, 0), "ceil_mode": True,
        },
        outputs=(
            tensor(DTYPE, n, c, *(
                (x - k + s - 1) // s + 1 for x, k, s in zip(FLAT.extents, FLAT.sizes, FLAT.strides, strict=True)
            )),
        ),
        where={
            DTYPE: TYPES,
            **{k: Between(1, x) for k, x in zip(FLAT.sizes, FLAT.extents, strict=True)},
            **{s: Between(1, least(3, k)) for s, k in zip(FLAT.strides, FLAT.sizes, strict=True)},
        },
        meaning=numpy_of.max_pool_of_all,
    ),
    *(
        Specification(
            name=f"nn.{kind}_pool2d:NHWC",
            inputs=(tensor(DTYPE, n, *FLAT.extents, c),),
            attributes={"pool_size": tuple(FLAT.sizes), "strides": tuple(FLAT.strides), "layout": "NHWC"},
            outputs=(
                tensor(DTYPE, n, *(
                    (x - k) // s + 1 for x, k, s in zip(FLAT.extents, FLAT.sizes, FLAT.strides, strict=True)
                ), c),
            ),
            where={
                DTYPE: TYPES,
                **{s: Between(1, 3) for s in FLAT.strides},
                **{k: Between(1, x) for k, x in zip(FLAT.sizes, FLAT.extents, strict=True)},
            },
            meaning=meaning,
            rounding=_averaged(_product(FLAT.sizes)) if kind == "avg" else Rounding(),
        )
        for kind, meaning in (("max", numpy_of.max_pool_last), ("avg", numpy_of.average_pool_last))
    ),
    Specification(
        name="nn.conv2d:int8",
        inputs=(tensor("int8", n, c, *FLAT.extents), tensor("int8", o, c // groups, *FLAT.sizes)),
        attributes={**FLAT.attributes, "groups": groups, "out_dtype": "int32"},
        outputs=(tensor("int32", n, o, *FLAT.outputs),),
        where={**FLAT.steps, groups: Divisors(c), o: Multiples(groups), **FLAT.fitting},
        meaning=numpy_of.convolution,
    ),
    Specification(
        name="nn.conv2d:NHWC",
        inputs=(tensor(DTYPE, n, *FLAT.extents, c), tensor(DTYPE, *FLAT.sizes, c, o)),
        attributes={**FLAT.attributes, "data_layout": "NHWC", "kernel_layout": "HWIO"},
        outputs=(tensor(DTYPE, n, *FLAT.outputs, o),),
        where={DTYPE: TYPES, **FLAT.steps, **FLAT.fitting},
        meaning=numpy_of.convolution_last,
        rounding=Rounding(ulps=1, terms=c * _product(FLAT.sizes) + 1),
    ),
    Specification(
        name="nn.pixel_shuffle",
        inputs=(tensor(DTYPE, S, c, h, w),),
        attributes={"upscale_factor": k},
        outputs=(tensor(DTYPE, S, c // (k * k), h * k, w * k),),
        where={DTYPE: TYPES, S: Shapes(1, 2), k: Such(Between(1, 3), k, (c % (k * k)).equals(0))},
        backward={
            k: Such(Between(1, 3), k, (OUT[-2] % k).equals(0) & (OUT[-1] % k).equals(0)), c: Exactly(OUT[-3] * k * k),
            h: Exactly(OUT[-2] // k), w: Exactly(OUT[-1] // k), S: Exactly(OUT.sliced(0, -3)),
        },
        meaning=numpy_of.pixel_shuffle,
    ),
)  # fmt: skip
