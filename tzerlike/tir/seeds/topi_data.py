"""TOPI operators that move data: layout, slicing, gathering, ordering, resizing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.seeds.operators import Operator, op


def transforms(topi: Any) -> Iterator[Operator]:
    """Data movement: layout, slicing, gathering, scattering, padding."""
    nn = topi.nn
    for axes in ((0, 2, 1), (2, 0, 1), (2, 1, 0)):
        yield op("transpose_" + "".join(map(str, axes)), lambda x, a=axes: topi.transpose(x, a), "i32:2,3,4")
    yield op("transpose_symbolic", lambda x: topi.transpose(x, (1, 0)), "f32:n,m")
    for index, (old, new) in enumerate(
        (
            ("2,6", (3, 4)),
            ("12", (2, 3, 2)),
            ("2,3,4", (24,)),
            ("4,3", (2, 2, 3)),
            ("5,4", (2, 10)),
            ("6", (6, 1)),
            ("2,2,3", (3, 2, 2)),
        )
    ):
        yield op(f"reshape_{index}", lambda x, n=new: topi.reshape(x, n), f"f32:{old}")
    yield op("reshape_i8", lambda x: topi.reshape(x, (4, 5)), "i8:2,10")
    yield op("flatten", nn.flatten, "f32:2,3,4")
    yield op("squeeze", lambda x: topi.squeeze(x, [1]), "f32:3,1,4")
    yield op("squeeze_all", lambda x: topi.squeeze(x), "f32:1,3,1")
    yield op("expand_dims", lambda x: topi.expand_dims(x, 1, 2), "f32:3,4")
    yield op("expand_like", lambda x, y: topi.expand_like(x, y, [1]), "f32:3", "f32:3,4")
    for axis in (0, 1):
        yield op(f"concat_{axis}", lambda a, b, ax=axis: topi.concatenate((a, b), ax), "f32:3,4", "f32:3,4")
        yield op(f"stack_{axis}", lambda a, b, ax=axis: topi.stack((a, b), ax), "i32:3,4", "i32:3,4")
        yield op(f"flip_{axis}", lambda x, ax=axis: topi.flip(x, ax), "f32:3,4")
        yield op(f"repeat_{axis}", lambda x, ax=axis: topi.repeat(x, 2, ax), "f32:3,4")
    yield op("concat3", lambda a, b, c: topi.concatenate((a, b, c), 1), "i64:2,1", "i64:2,3", "i64:2,2")
    yield op("concat_ragged", lambda a, b: topi.concatenate((a, b), 0), "u8:5", "u8:2")
    yield op("stack3", lambda a, b, c: topi.stack((a, b, c), -1), "f32:4", "f32:4", "f32:4")
    yield op("split_even", lambda x: topi.split(x, 2, axis=1), "f32:3,6")
    yield op("split_at", lambda x: topi.split(x, [1, 4], axis=0), "i32:6,2")
    for reps in ((2,), (2, 3), (3, 1)):
        yield op("tile_" + "x".join(map(str, reps)), lambda x, r=reps: topi.tile(x, r), "f32:2,3")
    for kind in ("f32", "i32", "u8"):
        yield op("pad", lambda x: nn.pad(x, (1, 0), (0, 2), 1), f"{kind}:3,4")
    yield op("pad_value", lambda x: nn.pad(x, (1, 1, 0), (2, 0, 1), tirx.const(-1.5, "float32")), "f32:2,3,2")
    yield op("pad_symbolic", lambda x: nn.pad(x, (1, 1), (1, 1)), "f32:n,3")
    for mode in ("SYMMETRIC", "REFLECT"):
        yield op(f"mirror_pad_{mode.lower()}", lambda x, m=mode: nn.mirror_pad(x, (1, 1), (1, 2), m), "f32:3,4")
    yield op("reflect_pad", lambda x: nn.reflect_pad(x, (0, 1), (0, 2)), "f32:3,5")
    yield op("replicate_pad", lambda x: nn.replicate_pad(x, (1, 1), (1, 2)), "f32:3,4")
    yield op("circular_pad", lambda x: nn.circular_pad(x, (1, 1), (1, 2)), "f32:3,4")
    yield op("dilate", lambda x: nn.dilate(x, (2, 3)), "f32:3,2")
    yield op("dilate_one", lambda x: nn.dilate(x, (1, 2), 1.0), "f32:2,4")
    slices = (
        ("basic", "3,6", [0, 1], [3, 5], None),
        ("stride", "4,7", [0, 1], [4, 7], [1, 2]),
        ("negative", "5", [4], [0], [-1]),
        ("back2", "8", [7], [1], [-3]),
        ("mixed", "4,6", [3, 0], [0, 6], [-2, 2]),
    )
    for tag, shape, begin, end, strides in slices:
        yield op(
            f"strided_slice_{tag}", lambda x, b=begin, e=end, s=strides: topi.strided_slice(x, b, e, s), f"f32:{shape}"
        )
    yield op("strided_slice_axes", lambda x: topi.strided_slice(x, [1], [3], [1], axes=[1]), "i32:3,4,2")
    yield op("strided_slice_symbolic", lambda x: topi.strided_slice(x, [0, 1], [2, 3], [1, 1]), "f32:n,4")
    for mode in ("clip", "wrap"):
        yield op(f"take_{mode}", lambda x, i, m=mode: topi.take(x, i, mode=m), "f32:3,4", "i32:5")
        yield op(f"take_axis_{mode}", lambda x, i, m=mode: topi.take(x, i, axis=1, mode=m), "f32:3,4", "i32:2,2")
    yield op("take_i64", lambda x, i: topi.take(x, i, axis=0), "i8:6,2", "i64:3")
    for axis in (0, 1):
        yield op(f"gather_{axis}", lambda x, i, a=axis: topi.gather(x, a, i), "f32:3,4", "i32:3,4")
    yield op("gather_nd", lambda x, i: topi.gather_nd(x, i), "f32:3,4", "i32:2,5")
    yield op("gather_nd_rows", lambda x, i: topi.gather_nd(x, i), "f32:3,4", "i32:1,2")
    yield op("gather_nd_batch", lambda x, i: topi.gather_nd(x, i, 1), "f32:2,3,4", "i32:1,2")
    yield op("adv_index", lambda x, i, j: topi.adv_index(x, [i, j]), "f32:3,4", "i32:5", "i32:5")
    yield op("index_tensor", lambda x, i, j: topi.index_tensor(x, [i, j]), "f32:3,4", "i32:2,1", "i32:3")
    for mode in ("update", "add", "mul", "min", "max", "mean"):
        yield op(
            f"scatter_elements_{mode}",
            lambda d, i, u, m=mode: topi.scatter_elements(d, i, u, 0, m),
            "f32:4,3",
            "i64:2,3",
            "f32:2,3",
        )
    yield op(
        "scatter_elements_axis1", lambda d, i, u: topi.scatter_elements(d, i, u, 1), "i32:3,4", "i32:3,2", "i32:3,2"
    )
    for mode in ("update", "add", "mul", "min", "max"):
        yield op(
            f"scatter_nd_{mode}", lambda d, i, u, m=mode: topi.scatter_nd(d, i, u, m), "f32:4,3", "i64:1,2", "f32:2,3"
        )
    yield op("scatter_nd_full", lambda d, i, u: topi.scatter_nd(d, i, u, "add"), "i32:3,3", "i32:2,4", "i32:4")
    yield op("slice_scatter", lambda x, s: topi.slice_scatter(x, s, 1, 4, 2, axis=0), "f32:6,2", "f32:2,2")
    yield op("index_put", lambda d, i, v: topi.index_put(d, [i], v), "f32:5", "i64:3", "f32:3")
    yield op(
        "index_put_add", lambda d, i, j, v: topi.index_put(d, [i, j], v, True), "f32:3,4", "i64:2", "i64:2", "f32:2"
    )
    yield op(
        "sparse_to_dense", lambda i, v: topi.sparse_to_dense(i, [6], v, tirx.const(0.0, "float32")), "i32:3", "f32:3"
    )
    yield op("sequence_mask", lambda x, n: topi.sequence_mask(x, n, mask_value=-1.0, axis=0), "f32:4,3,2", "i32:3")
    yield op("sequence_mask1", lambda x, n: topi.sequence_mask(x, n, axis=1), "f32:3,4", "i32:3")
    yield op("reverse_sequence", lambda x, n: topi.reverse_sequence(x, n, 1, 0), "f32:3,4", "i32:3")
    for axis in (0, -1):
        yield op(
            f"one_hot_{axis % 3}",
            lambda i, a=axis: topi.one_hot(i, tirx.const(1, "float32"), tirx.const(0, "float32"), 4, a, "float32"),
            "i32:3",
        )
    yield op(
        "one_hot_int",
        lambda i: topi.one_hot(i, tirx.const(7, "int32"), tirx.const(-1, "int32"), 3, 1, "int32"),
        "i64:2,2",
    )
    for start, stop, step, dtype in ((0, 10, 3, "int32"), (5, -5, -2, "int64"), (0, 8, 1, "float32")):
        yield op(
            f"arange_{dtype}",
            lambda b=start, e=stop, s=step, d=dtype: topi.arange(
                tirx.const(b, d), tirx.const(e, d), tirx.const(s, d), d
            ),
        )
    for rows, columns, diagonal, dtype in ((3, 4, 0, "float32"), (4, 4, -1, "int32"), (3, 5, 2, "uint8")):
        yield op(f"eye_{dtype}", partial(topi.eye, rows, columns, diagonal, dtype))
    yield op("full", lambda: topi.full((3, 4), "float32", tirx.const(2.5, "float32")))
    yield op("full_bf16", lambda: topi.full((5,), "bfloat16", tirx.const(1.5, "bfloat16")))
    yield op("hamming_window", lambda: topi.hamming_window(8, False, 0.54, 0.46, "float32"))
    for upper in (False, True):
        for k in (-1, 0, 1):
            yield op(
                f"tri{'ul'[not upper]}_{k % 3}",
                lambda x, d=k, u=upper: topi.trilu(x, tirx.const(d, "int32"), u),
                "f32:4,5",
            )
    yield op("matrix_set_diag", lambda x, d: topi.matrix_set_diag(x, d), "f32:3,4", "f32:3")
    yield op("matrix_set_diag_super", lambda x, d: topi.matrix_set_diag(x, d, (1, 1)), "i32:3,4", "i32:3")
    yield op("meshgrid", lambda a, b: topi.meshgrid([a, b], "ij"), "f32:3", "f32:4")
    yield op("meshgrid_xy", lambda a, b: topi.meshgrid([a, b], "xy"), "i32:2", "i32:3")
    yield op(
        "unravel_index",
        lambda i, s: topi.unravel_index(i, topi.bitwise_or(s, tirx.const(1, "int32"))),
        "i32:5",
        "i32:3",
    )
    yield op("sliding_window", lambda x: topi.sliding_window(x, 0, (3,), (2,)), "f32:9")
    yield op("sliding_window2", lambda x: topi.sliding_window(x, 1, (2, 2), (1, 2)), "f32:1,4,5")
    for src, dst, shape in (
        ("NCHW", "NHWC", "1,3,4,2"),
        ("NCHW", "NCHW2c", "1,4,3,3"),
        ("NCHW2c", "NCHW", "1,2,3,3,2"),
        ("NHWC", "NCHW", "1,4,2,3"),
        ("NCHW4c", "NCHW2c", "1,2,2,2,4"),
        ("OIHW", "HWIO", "2,3,3,3"),
        ("NC", "CN", "3,4"),
    ):
        yield op(f"layout_{src}_{dst}", lambda x, s=src, d=dst: topi.layout_transform(x, s, d), f"f32:{shape}")
    yield op("shape", lambda x: topi.shape(x), "f32:3,4,5")
    yield op("shape_symbolic", lambda x: topi.shape(x, "int64"), "f32:n,4")
    yield op("tensor_size", lambda x: topi.tensor_size(x), "f32:3,4")
    yield op("collapse_sum", lambda x: topi.collapse_sum(x, (3, 1)), "f32:2,3,4")
    for mode in ("DCR", "CRD"):
        yield op(f"depth_to_space_{mode}", lambda x, m=mode: nn.depth_to_space(x, 2, mode=m), "f32:1,8,2,3")
    yield op("depth_to_space_nhwc", lambda x: nn.depth_to_space(x, 2, layout="NHWC"), "f32:1,2,3,8")
    yield op("space_to_depth", lambda x: nn.space_to_depth(x, 2), "f32:1,2,4,4")
    yield op("space_to_depth_nhwc", lambda x: nn.space_to_depth(x, 2, layout="NHWC"), "f32:1,4,4,2")
    yield op("space_to_batch", lambda x: nn.space_to_batch_nd(x, [2, 2], [0, 0], [0, 0]), "f32:1,4,4,2")
    yield op("fifo_buffer", lambda x, b: nn.fifo_buffer(x, b, 1), "f32:2,2,3", "f32:2,5,3")
    yield op("transpose_add", lambda a, b: topi.add(topi.transpose(a), b), "f32:3,4", "f32:4,3")
    yield op("reshape_transpose", lambda x: topi.transpose(topi.reshape(x, (4, 3)), (1, 0)), "f32:2,6")
    yield op(
        "slice_concat",
        lambda x: topi.concatenate((topi.strided_slice(x, [0, 2], [3, 4]), topi.strided_slice(x, [0, 0], [3, 2])), 1),
        "f32:3,4",
    )


def ordering(topi: Any) -> Iterator[Operator]:
    """Sorting and searching that lower to loops, image resizing, vision and signal operators."""
    nn = topi.nn
    for kind in ("f32", "i64"):
        yield op("searchsorted", lambda s, v: topi.searchsorted(s, v), f"{kind}:7", f"{kind}:4")
    yield op(
        "searchsorted_right", lambda s, v: topi.searchsorted(s, v, right=True, out_dtype="int32"), "f32:2,5", "f32:2,3"
    )
    yield op("dft", lambda a, b: topi.dft(a, b, tirx.const(0, "bool")), "f32:2,4", "f32:2,4")
    yield op("dft_inverse", lambda a, b: topi.dft(a, b, tirx.const(1, "bool")), "f32:4", "f32:4")
    yield op("stft", lambda x, w: topi.stft(x, 4, 2, 4, w, False, True, (1, 3, 3, 2)), "f32:1,8", "f32:4")
    for name in ("argsort", "sort"):
        for index, (kind, axis, up) in enumerate((("f32", 0, 1), ("f32", -1, 0), ("i32", 1, 1), ("f64", 0, 0))):
            yield op(f"{name}_{index}", partial(getattr(topi, name), axis=axis, is_ascend=up), f"{kind}:3,4")
    yield op("topk", lambda x: topi.topk(x, 2), "f32:3,5")
    yield op("topk_values", lambda x: topi.topk(x, 3, axis=0, ret_type="values"), "f32:5,2")
    yield op("topk_indices", lambda x: topi.topk(x, 1, ret_type="indices", is_ascend=True, dtype="int32"), "i32:2,4")
    modes = (
        ("nearest_neighbor", "asymmetric", "floor"),
        ("nearest_neighbor", "half_pixel", "round_prefer_ceil"),
        ("linear", "half_pixel", ""),
        ("linear", "align_corners", ""),
        ("linear", "asymmetric", ""),
        ("cubic", "half_pixel", ""),
    )
    roi = (0.0, 0.0, 0.0, 0.0)
    for method, coordinate, rounding in modes:
        tag = f"{method}_{coordinate}"
        yield op(
            f"resize1d_{tag}",
            lambda x, m=method, c=coordinate, r=rounding: topi.image.resize1d(x, (0.0, 0.0), (7,), "NCW", m, c, r),
            "f32:1,2,4",
        )
        if method != "cubic":
            yield op(
                f"resize2d_{tag}",
                lambda x, m=method, c=coordinate, r=rounding: topi.image.resize2d(x, roi, (3, 5), "NCHW", m, c, r),
                "f32:1,1,4,4",
            )
    yield op("resize2d_nhwc", lambda x: topi.image.resize2d(x, roi, (3, 3), "NHWC"), "f32:1,4,4,2")
    yield op(
        "resize3d",
        lambda x: topi.image.resize3d(x, (0.0,) * 6, (2, 2, 2), "NCDHW", "nearest_neighbor", "asymmetric", "floor"),
        "f32:1,1,3,3,3",
    )
    yield op("upsampling", lambda x: nn.upsampling(x, 2, 2), "f32:1,1,3,3")
    yield op("upsampling_bilinear", lambda x: nn.upsampling(x, 2, 2, method="bilinear"), "f32:1,1,3,3")
    yield op("upsampling3d", lambda x: nn.upsampling3d(x, 2, 2, 2), "f32:1,1,2,2,2")
    yield op(
        "crop_and_resize",
        lambda x, b, i: topi.image.crop_and_resize(x, b, i, (2, 2), extrapolation_value=0.0),
        "f32:1,1,5,5",
        "f32:2,4",
        "i32:2",
    )
    yield op("affine_grid", lambda x: topi.image.affine_grid(x, (3, 4)), "f32:1,2,3")
    for method in ("bilinear", "nearest"):
        for padding in ("zeros", "border"):
            yield op(
                f"grid_sample_{method}_{padding}",
                lambda x, g, m=method, p=padding: topi.image.grid_sample(x, g, m, "NCHW", p),
                "f32:1,1,4,4",
                "f32:1,2,3,3",
            )
    yield op("valid_counts", lambda x: topi.vision.get_valid_counts(x, 0.3), "f32:1,4,6")
    yield op(
        "multibox_transform",
        lambda c, b, a: topi.vision.multibox_transform_loc(c, b, a, (0.1, 0.1, 0.2, 0.2)),
        "f32:1,3,2",
        "f32:1,8",
        "f32:1,2,4",
    )
