"""Resizing and sampling of images."""

from __future__ import annotations

from tzerlike.graph.exchange.writing import AttributeOfNode, OnnxCall


def resize(
    call: OnnxCall, size: tuple[int, ...], method: str, coordinate_transformation_mode: str, **_: object
) -> tuple[str, ...]:
    to, nearest = call.to, method == "nearest_neighbor"
    more: dict[str, AttributeOfNode] = {"nearest_mode": "floor"} if nearest else {}
    more |= {
        "mode": "nearest" if nearest else "linear", "coordinate_transformation_mode": coordinate_transformation_mode
    }  # fmt: skip
    sizes = to.constant((*call.shape[:2], *size))
    # The region and the scales may be left out since opset 13, and are empty before.
    empty = "" if to.opset >= 13 else to.constant([], "float32")
    return (to.node("Resize", *call.names, empty, empty, sizes, **more),)


def grid_sample(call: OnnxCall, align_corners: bool, **_: object) -> tuple[str, ...] | None:
    to = call.to
    if to.opset < 16:
        return None
    grid = to.node("Transpose", call.names[1], perm=[0, 2, 3, 1])
    mode = "linear" if to.opset >= 20 else "bilinear"
    corners = int(align_corners)
    return (to.node("GridSample", call.names[0], grid, mode=mode, padding_mode="zeros", align_corners=corners),)


def affine_grid(call: OnnxCall, size: tuple[int, int], align_corners: bool) -> tuple[str, ...] | None:
    to = call.to
    if to.opset < 20:
        return None
    sizes = to.constant((call.shape[0], 1, *size))
    found = to.node("AffineGrid", *call.names, sizes, align_corners=int(align_corners))
    return (to.node("Transpose", found, perm=[0, 3, 1, 2]),)
