"""Resizing and sampling of images."""

from __future__ import annotations

from tzerlike.graph.exchange.torch.words import NN, applied
from tzerlike.graph.exchange.writing import WrittenCall


def resize(
    call: WrittenCall, size: tuple[int, ...], method: str, coordinate_transformation_mode: str, **_: object
) -> str | None:
    if method == "nearest_neighbor":
        return applied(f"{NN}interpolate", *call.names, tuple(size), mode='"nearest"')
    if coordinate_transformation_mode == "asymmetric":
        return None
    mode, corners = '"bilinear"' if len(size) == 2 else '"trilinear"', coordinate_transformation_mode == "align_corners"
    return applied(f"{NN}interpolate", *call.names, tuple(size), mode=mode, align_corners=corners)


def grid_sample(call: WrittenCall, align_corners: bool, **_: object) -> str:
    grid = f"{call.names[1]}.permute(0, 2, 3, 1)"
    return applied(f"{NN}grid_sample", call.names[0], grid, align_corners=align_corners)


def affine_grid(call: WrittenCall, size: tuple[int, int], align_corners: bool) -> str:
    found = applied(f"{NN}affine_grid", *call.names, (call.shape[0], 1, *size), align_corners=align_corners)
    return f"{found}.permute(0, 3, 1, 2)"
