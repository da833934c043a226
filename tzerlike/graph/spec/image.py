"""Resizing and sampling of images."""

from __future__ import annotations

from dataclasses import replace

from tzerlike.graph.meaning import deviation
from tzerlike.graph.meaning import image as numpy_of
from tzerlike.graph.spec.domains import Between, OneOf
from tzerlike.graph.spec.language import Rounding, Specification, Values, dtypes, tensor
from tzerlike.graph.spec.terms import integers, shape, symbol

DTYPE, OUT, S = symbol("T"), symbol("O"), shape("S")
n, c, h, w, oh, ow = integers("n c h w oh ow")
axis = integers("axis")[0]
MODE, CORNERS = symbol("mode"), symbol("align_corners")
SAMPLED = Rounding(ulps=64, absolute=True)
FLAG = OneOf(False, True)


def resize(rank: int, layout: str, form: str) -> Specification:
    """Linear between pixels, or the pixel below where corners are asymmetric."""
    extents = integers(" ".join(f"x{i}" for i in range(rank)))
    sizes = integers(" ".join(f"y{i}" for i in range(rank)))
    nearest = form == ":nearest"
    return Specification(
        name=f"image.resize{rank}d{form}",
        inputs=(tensor(DTYPE, n, c, *extents),),
        attributes={
            "size": tuple(sizes), "layout": layout, "method": "nearest_neighbor" if nearest else "linear",
            "coordinate_transformation_mode": "asymmetric" if nearest else MODE,
            "rounding_method": "floor" if nearest else "round",
        },
        outputs=(tensor(DTYPE, n, c, *sizes),),
        where={
            DTYPE: dtypes("float32"),
            **{size: Between(1, 12) for size in sizes},
            **({} if nearest else {MODE: OneOf("half_pixel", "align_corners", "asymmetric")}),
        },
        meaning=numpy_of.resize,
        rounding=Rounding() if nearest else replace(SAMPLED, deviation=deviation.resize),
    )  # fmt: skip


ROWS = (
    *(resize(2, "NCHW", form) for form in ("", ":nearest")),
    *(resize(3, "NCDHW", form) for form in ("", ":nearest")),
    Specification(
        name="image.grid_sample",
        inputs=(tensor(DTYPE, n, c, h, w), tensor(DTYPE, n, 2, oh, ow, values=Values(-0.9, 0.9))),
        attributes={"method": "bilinear", "layout": "NCHW", "padding_mode": "zeros", "align_corners": CORNERS},
        outputs=(tensor(DTYPE, n, c, oh, ow),),
        where={DTYPE: dtypes("float32"), CORNERS: FLAG},
        meaning=numpy_of.grid_sample,
        rounding=replace(SAMPLED, deviation=deviation.grid_sample),
    ),
    Specification(
        name="image.affine_grid",
        inputs=(tensor(DTYPE, n, 2, 3),),
        attributes={"size": (oh, ow), "align_corners": CORNERS},
        outputs=(tensor(DTYPE, n, 2, oh, ow),),
        where={DTYPE: dtypes("float32"), oh: Between(2, 8), ow: Between(2, 8), CORNERS: FLAG},
        meaning=numpy_of.affine_grid,
        rounding=replace(SAMPLED, deviation=deviation.affine_grid),
    ),
)  # fmt: skip
