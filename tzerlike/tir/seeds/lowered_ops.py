"""Relax operators whose legalization differs from calling TOPI directly, with the types of their inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tzerlike.tir.seeds.operators import Operator, t


def lowered_operators(relax: Any) -> Iterator[Operator]:
    """Yield every Relax operator of this source in a fixed order."""

    def op(name: str, apply: Callable[..., Any], *inputs: str) -> Operator:
        suffix = "_".join(spec.replace(":", "_").replace(",", "x") for spec in inputs)
        return Operator(f"relax.{name}.{suffix}", apply, tuple(map(t, inputs)))

    r, nn, image = relax.op, relax.op.nn, relax.op.image
    for name in ("exp", "sigmoid", "erf", "rsqrt", "square", "tanh"):
        yield op(name, getattr(r, name), "f32:n,5")
    for name in ("add", "multiply", "maximum", "floor_divide", "floor_mod", "power"):
        yield op(name, getattr(r, name), "f32:n,m", "f32:m")
    for name in ("bitwise_and", "left_shift", "less", "subtract"):
        yield op(name, getattr(r, name), "i64:n", "i64:n")
    for name in ("sum", "mean", "variance", "std", "max", "prod"):
        yield op(name, partial(getattr(r, name), axis=[1], keepdims=True), "f32:3,n")
        yield op(f"{name}_all", getattr(r, name), "f32:4,5")
    yield op("median", partial(r.median, axis=[1]), "f32:3,4")
    for name in ("argmax", "argmin"):
        yield op(name, partial(getattr(r, name), axis=1), "f32:3,n")
    for name in ("gelu", "gelu_tanh", "silu", "selu", "relu6", "softplus", "leakyrelu", "softmax", "log_softmax"):
        yield op(f"nn_{name}", getattr(nn, name), "f32:3,6")
        yield op(f"nn_{name}", getattr(nn, name), "f16:2,n")
    yield op("nn_prelu", nn.prelu, "f32:2,3", "f32:3")
    yield op("nn_relu_softmax", lambda x: nn.softmax(nn.relu(x)), "f32:2,5")
    yield op("nn_layer_norm", partial(nn.layer_norm, axes=[-1]), "f32:n,6", "f32:6", "f32:6")
    yield op("nn_rms_norm", partial(nn.rms_norm, axes=[-1]), "f32:n,6", "f32:6")
    yield op(
        "nn_group_norm", partial(nn.group_norm, num_groups=2, channel_axis=1, axes=[2]), "f32:1,4,3", "f32:4", "f32:4"
    )
    yield op("nn_instance_norm", partial(nn.instance_norm, channel_axis=1, axes=[2]), "f32:1,3,4", "f32:3", "f32:3")
    yield op("nn_cross_entropy", nn.cross_entropy_with_logits, "f32:3,4", "f32:3,4")
    yield op("nn_nll_loss", nn.nll_loss, "f32:3,4", "i64:3", "f32:4")
    yield op("nn_conv1d", partial(nn.conv1d, padding=1), "f32:n,2,6", "f32:3,2,3")
    yield op("nn_conv2d", partial(nn.conv2d, padding=1), "f32:n,1,4,4", "f32:2,1,3,3")
    yield op("nn_conv2d_groups", partial(nn.conv2d, groups=2, strides=2), "f32:1,4,5,5", "f32:4,2,3,3")
    yield op(
        "nn_conv2d_nhwc",
        partial(nn.conv2d, data_layout="NHWC", kernel_layout="OHWI", padding=1),
        "f32:1,4,4,2",
        "f32:3,3,3,2",
    )
    yield op("nn_conv2d_fp16", partial(nn.conv2d, out_dtype="float32"), "f16:1,2,5,5", "f16:2,2,3,3")
    yield op("nn_conv1d_transpose", partial(nn.conv1d_transpose, strides=2), "f32:1,2,4", "f32:2,3,3")
    yield op("nn_conv2d_transpose", partial(nn.conv2d_transpose, strides=2), "f32:1,2,3,3", "f32:2,2,2,2")
    for kind in ("max", "avg"):
        yield op(f"nn_{kind}_pool1d", partial(getattr(nn, f"{kind}_pool1d"), pool_size=2, strides=2), "f32:n,2,6")
        yield op(
            f"nn_{kind}_pool2d",
            partial(getattr(nn, f"{kind}_pool2d"), pool_size=(3, 3), strides=(2, 2), padding=(1, 1), ceil_mode=True),
            "f32:n,1,6,6",
        )
    yield op("nn_adaptive_avg_pool2d", partial(nn.adaptive_avg_pool2d, output_size=(1, 1)), "f32:n,3,4,4")
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield op(f"nn_pad_{mode}", partial(nn.pad, pad_width=[0, 0, 1, 2], pad_mode=mode), "f32:3,5")
    yield op("matmul", r.matmul, "f32:n,4", "f32:4,m")
    yield op("matmul", r.matmul, "f32:2,3,4", "f32:4,5")
    yield op("matmul", r.matmul, "f32:4", "f32:4,5")
    yield op("matmul", partial(r.matmul, out_dtype="int32"), "i8:3,4", "i8:4,5")
    yield op("matmul_batch", r.matmul, "f16:k,n,4", "f16:1,4,3")
    yield op("einsum", lambda a, b: r.einsum((a, b), "ij,kj->ik"), "f32:3,4", "f32:5,4")
    yield op("outer", r.outer, "f32:3", "f32:4")
    yield op("linear", r.linear, "f32:n,4", "f32:3,4", "f32:3")
    yield op("ewise_fma", r.ewise_fma, "f32:3,4", "f32:3,4", "f32:3,4")
    yield op("clip", lambda x: r.clip(x, 0, 6), "f32:n")
    yield op("astype", partial(r.astype, dtype="float16"), "f32:n,3")
    yield op("where", r.where, "b:n,1", "f32:n,4", "f32:4")
    yield op("concat", lambda a, b: r.concat((a, b), axis=0), "f32:n,3", "f32:m,3")
    yield op("split", lambda x: r.split(x, 3, axis=1), "f32:n,6")
    yield op("permute_dims", partial(r.permute_dims, axes=[2, 0, 1]), "f32:n,3,4")
    yield op("broadcast_to", lambda x: r.broadcast_to(x, (3, 4)), "f32:4")
    yield op("expand_dims", partial(r.expand_dims, axis=[0, 2]), "f32:n,3")
    yield op("squeeze", partial(r.squeeze, axis=[1]), "f32:n,1,3")
    yield op("flatten", r.flatten, "f32:n,3,2")
    yield op("reshape", lambda x: r.reshape(x, (6, 4)), "f32:3,8")
    yield op("flip", partial(r.flip, axis=1), "f32:n,4")
    yield op("repeat", partial(r.repeat, repeats=2, axis=1), "f32:n,3")
    yield op("tile", partial(r.tile, repeats=(2, 1)), "f32:n,3")
    yield op("stack", lambda a, b: r.stack((a, b), axis=1), "f32:n,3", "f32:n,3")
    yield op("tril", partial(r.tril, k=0), "f32:n,n")
    yield op("triu", partial(r.triu, k=1), "i32:4,m")
    yield op("take", partial(r.take, axis=0), "f32:n,3", "i64:m")
    yield op("take_clip", partial(r.take, axis=1, mode="clip"), "f32:3,4", "i64:2")
    yield op("gather_elements", partial(r.gather_elements, axis=1), "f32:3,4", "i64:3,4")
    yield op("gather_nd", r.gather_nd, "f32:3,4", "i64:2,2")
    yield op("scatter_elements", partial(r.scatter_elements, axis=0, reduction="add"), "f32:4,3", "i64:2,3", "f32:2,3")
    yield op("scatter_nd", partial(r.scatter_nd, reduction="add"), "f32:5", "i64:3,1", "f32:3")
    yield op("slice_scatter", lambda x, s: r.slice_scatter(x, s, 1, 4, 1, axis=0), "f32:6,2", "f32:3,2")
    yield op("strided_slice", lambda x: r.strided_slice(x, [0], [1], [5], [2]), "f32:6,3")
    yield op("strided_slice_back", lambda x: r.strided_slice(x, [1], [4], [0], [-1]), "f32:2,6")
    yield op("cumsum", partial(r.cumsum, axis=1), "f32:3,n")
    yield op("cumprod", partial(r.cumprod, axis=0, exclusive=True), "i32:4,2")
    yield op("sort", partial(r.sort, axis=1), "f32:2,5")
    yield op("one_hot", lambda i: r.one_hot(i, relax.prim_value(1), relax.prim_value(0), 4), "i64:n")
    yield op("bucketize", r.bucketize, "f32:3", "f32:5")
    yield op("quantize", partial(r.quantize, axis=1, out_dtype="int8"), "f32:2,4", "f32:4", "i8:4")
    yield op("dequantize", partial(r.dequantize, axis=1, out_dtype="float32"), "i8:2,4", "f32:4", "i8:4")
    yield op("collapse_sum_to", lambda x: r.collapse_sum_to(x, (3, 1)), "f32:2,3,4")
    yield op("layout_transform", lambda x: r.layout_transform(x, lambda i, j: (j // 2, i, j % 2)), "f32:3,4")
    yield op(
        "layout_transform_pad", lambda x: r.layout_transform(x, lambda i: (i // 4, i % 4), pad_value=0.0), "f32:10"
    )
    yield op("image_resize2d", lambda x: image.resize2d(x, (3, 5), method="linear", layout="NHWC"), "f32:1,4,4,1")
    yield op("logical_not", r.logical_not, "b:n")
    yield op("isfinite", r.isfinite, "f32:n")
    yield op("log_add_exp", r.log_add_exp, "f32:n", "f32:n")
    yield op("full_like", lambda x: r.full_like(x, relax.const(3, "float32")), "f32:n,2")
    yield op("zeros_like", r.zeros_like, "i32:n")
    yield op("ones_like", r.ones_like, "f16:3,n")
    yield op("reverse_sequence", lambda x, n: r.reverse_sequence(x, n, 1, 0), "f32:3,4", "i32:3")
    yield op("index_put", lambda x, i, v: r.index_put(x, (i,), v), "f32:6", "i64:3", "f32:3")
    yield op("meshgrid", lambda a, b: r.meshgrid((a, b)), "f32:3", "f32:4")
    yield op(
        "multinomial", lambda p, u, s: r.multinomial_from_uniform(p, u, s, "int64"), "f32:2,4", "f32:3,1", "i64:3,1"
    )
