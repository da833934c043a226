"""Buffers derived from others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tzerlike.systems.tvm_api import array_items, structural_equal, tirx, type_of
from tzerlike.tir.node import dtype_of


def like(
    old: Any,
    *,
    dtype: str | None = None,
    shape: Sequence[Any] | None = None,
    scope: str | None = None,
    strides: Sequence[Any] | None = None,
    offset: Any | None = None,
    factor: int | None = None,
    alignment: int | None = None,
    layout: Any = "default",
) -> Any:
    """A new buffer as `old`, with some properties changed. A changed shape drops the strides."""
    ty = type_of(old)
    if layout == "default" and ty.layout is None:
        layout = None
    return tirx.decl_buffer(
        array_items(ty.shape) if shape is None else list(shape),
        str(ty.dtype.dtype) if dtype is None else dtype,
        str(old.name),
        strides=(array_items(ty.strides) if shape is None else []) if strides is None else list(strides),
        elem_offset=ty.elem_offset if offset is None else offset,
        scope=str(ty.storage_scope) if scope is None else scope,
        data_alignment=int(ty.data_alignment) if alignment is None else alignment,
        offset_factor=int(ty.offset_factor) if factor is None else factor,
        layout=layout,
    )


def usual_offset(buffer: Any) -> Any:
    """The offset that TVM gives a buffer of this shape by itself, and does not print: 0 of the dtype of its extents."""
    shape = array_items(type_of(buffer).shape)
    return tirx.IntImm(dtype_of(shape[0]).partition("x")[0] if shape else "int64", 0)


def has_usual_offset(buffer: Any) -> bool:
    """Whether a buffer has the offset that TVM gives one by itself."""
    return bool(structural_equal(type_of(buffer).elem_offset, usual_offset(buffer)))
