"""TOPI operators of neural networks: convolutions, pools, normalizations, losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.seeds.operators import Operator, op


def convolutions(topi: Any) -> Iterator[Operator]:
    """Convolutions of one to three dimensions, plain, grouped, depthwise, transposed and packed."""
    nn = topi.nn
    layouts: tuple[tuple[str, Callable[..., Any], str, str, tuple[int, ...]], ...] = (
        ("conv1d_ncw", nn.conv1d_ncw, "1,2,8", "3,2,3", ()),
        ("conv1d_nwc", nn.conv1d_nwc, "1,8,2", "3,2,3", ()),
        ("conv2d_nchw", nn.conv2d_nchw, "1,2,6,6", "3,2,3,3", ()),
        ("conv2d_nhwc", nn.conv2d_nhwc, "1,6,6,2", "3,3,2,3", ()),
        ("conv2d_hwcn", nn.conv2d_hwcn, "6,6,2,1", "3,3,2,3", ()),
        ("conv3d_ncdhw", nn.conv3d_ncdhw, "1,2,5,5,5", "2,2,3,3,3", (1,)),
        ("depthwise_nchw", nn.depthwise_conv2d_nchw, "1,3,6,6", "3,1,3,3", ()),
        ("depthwise_nhwc", nn.depthwise_conv2d_nhwc, "1,6,6,3", "3,3,3,1", ()),
        ("group_conv2d_nchw", nn.group_conv2d_nchw, "1,4,6,6", "4,2,3,3", (2,)),
        ("group_conv2d_nhwc", nn.group_conv2d_nhwc, "1,6,6,4", "3,3,2,4", (2,)),
    )
    for stride, pad, dil in ((1, 0, 1), (2, 1, 1), (1, 1, 2)):
        for name, conv, data, kernel, groups in layouts:
            yield op(
                f"{name}_s{stride}p{pad}d{dil}",
                lambda x, w, conv=conv, how=(stride, pad, dil, *groups): conv(x, w, *how),
                f"f32:{data}",
                f"f32:{kernel}",
            )
    yield op("conv3d_ndhwc", lambda x, w: nn.conv3d_ndhwc(x, w, 1, 1, 1, 1), "f32:1,4,4,4,2", "f32:3,3,3,2,2")
    yield op("conv3d_groups", lambda x, w: nn.conv3d_ncdhw(x, w, 1, 0, 1, 2), "f32:1,4,4,4,4", "f32:2,2,3,3,3")
    yield op("group_conv1d_ncw", lambda x, w: nn.group_conv1d_ncw(x, w, 1, 1, 1, 2), "f32:1,4,6", "f32:4,2,3")
    yield op("group_conv1d_nwc", lambda x, w: nn.group_conv1d_nwc(x, w, 1, 1, 1, 2), "f32:1,6,4", "f32:3,2,4")
    for kind, out in (
        ("f16", "float32"),
        ("i8", "int32"),
        ("u8", "int32"),
        ("f64", "float64"),
        ("bf16", "float32"),
        ("f16", "float16"),
        ("i16", "int32"),
    ):
        yield op(
            f"conv2d_nchw_{out}",
            lambda x, w, o=out: nn.conv2d_nchw(x, w, 1, 0, 1, o),
            f"{kind}:1,2,5,5",
            f"{kind}:2,2,3,3",
        )
    yield op("conv2d_1x1", lambda x, w: nn.conv2d_nchw(x, w, 1, 0, 1), "f32:1,4,4,4", "f32:3,4,1,1")
    yield op(
        "conv2d_asym_pad", lambda x, w: nn.conv2d_nchw(x, w, (1, 2), (0, 1, 2, 1), 1), "f32:1,1,5,5", "f32:2,1,3,3"
    )
    yield op("conv2d_same", lambda x, w: nn.conv2d_nchw(x, w, 1, "SAME", 1), "f32:1,1,5,5", "f32:2,1,3,3")
    yield op("conv2d_symbolic_batch", lambda x, w: nn.conv2d_nchw(x, w, 1, 1, 1), "f32:n,1,5,5", "f32:2,1,3,3")
    yield op(
        "conv2d_bias_relu",
        lambda x, w, b: nn.relu(topi.add(nn.conv2d_nchw(x, w, 1, 1, 1), b)),
        "f32:1,1,4,4",
        "f32:2,1,3,3",
        "f32:2,1,1",
    )
    yield op(
        "conv2d_pool",
        lambda x, w: nn.pool2d(nn.conv2d_nchw(x, w, 1, 1, 1), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"),
        "f32:1,1,6,6",
        "f32:2,1,3,3",
    )
    yield op(
        "conv2d_nchwc",
        lambda x, w: nn.conv2d_NCHWc(x, w, (1, 1), (1, 1), (1, 1), "NCHW2c", "NCHW4c"),
        "f32:1,2,4,4,2",
        "f32:1,2,3,3,2,4",
    )
    yield op(
        "conv2d_nchwc_int8",
        lambda x, w: nn.conv2d_NCHWc_int8(x, w, (1, 1), (0, 0), (1, 1), "NCHW4c", "NCHW4c"),
        "u8:1,1,4,4,4",
        "i8:1,1,3,3,1,4,4",
    )
    yield op(
        "depthwise_int8", lambda x, w: nn.depthwise_conv2d_nchw(x, w, 1, 1, 1, "int32"), "i8:1,3,5,5", "i8:3,1,3,3"
    )
    yield op("depthwise_multiplier", lambda x, w: nn.depthwise_conv2d_nchw(x, w, 1, 0, 1), "f32:1,2,5,5", "f32:2,2,3,3")
    yield op(
        "conv1d_transpose",
        lambda x, w: nn.conv1d_transpose_ncw(x, w, (2,), (1,), "float32", (0,)),
        "f32:1,2,5",
        "f32:2,3,3",
    )
    yield op(
        "group_conv1d_transpose",
        lambda x, w: nn.group_conv1d_transpose_ncw(x, w, (2,), (1,), "float32", (0,), 2),
        "f32:1,4,5",
        "f32:4,2,3",
    )
    for stride, pad, extra in ((1, 0, 0), (2, 1, 0), (2, 1, 1)):
        yield op(
            f"conv2d_transpose_s{stride}p{pad}e{extra}",
            lambda x, w, s=stride, p=pad, e=extra: nn.conv2d_transpose_nchw(x, w, (s, s), (p, p), "float32", (e, e)),
            "f32:1,2,4,4",
            "f32:2,2,3,3",
        )
    yield op(
        "group_conv2d_transpose",
        lambda x, w: nn.group_conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (0, 0), 2),
        "f32:1,4,3,3",
        "f32:4,1,3,3",
    )
    yield op(
        "conv3d_transpose",
        lambda x, w: nn.conv3d_transpose_ncdhw(x, w, (1, 1, 1), (0, 0, 0), "float32", (0, 0, 0)),
        "f32:1,1,3,3,3",
        "f32:1,2,2,2,2",
    )
    yield op("correlation", lambda a, b: nn.correlation_nchw(a, b, 1, 2, 1, 1, 2, True), "f32:1,2,4,4", "f32:1,2,4,4")
    yield op("bitserial_dense", lambda x, w: nn.bitserial_dense(x, w, 1, 1, "uint8", "int16"), "u8:2,8", "u8:3,8")
    yield op(
        "bitserial_conv2d",
        lambda x, w: nn.bitserial_conv2d_nchw(x, w, 1, 0, 1, 1, "uint8", "int16"),
        "u8:1,8,4,4",
        "u8:2,8,3,3",
    )
    yield op("dilation2d_nchw", lambda x, w: topi.image.dilation2d_nchw(x, w, 1, 0, 1), "f32:1,2,5,5", "f32:2,3,3")
    yield op("dilation2d_nhwc", lambda x, w: topi.image.dilation2d_nhwc(x, w, 2, 1, 1), "f32:1,5,5,2", "f32:3,3,2")


def pooling(topi: Any) -> Iterator[Operator]:
    """Pools of one to three dimensions with their padding and rounding rules."""
    nn = topi.nn
    for kind in ("max", "avg"):
        for dtype in ("f32", "i32", "f16"):
            yield op(
                f"pool2d_{kind}",
                lambda x, k=kind: nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), k),
                f"{dtype}:1,2,6,6",
            )
        yield op(
            f"pool2d_{kind}_pad", lambda x, k=kind: nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), k), "f32:1,2,5,5"
        )
        yield op(
            f"pool2d_{kind}_ceil",
            lambda x, k=kind: nn.pool2d(x, (3, 2), (2, 2), (1, 1), (1, 0, 1, 1), k, True),
            "f32:1,1,6,5",
        )
        yield op(
            f"pool2d_{kind}_nhwc",
            lambda x, k=kind: nn.pool2d(x, (2, 2), (1, 1), (1, 1), (0, 0, 0, 0), k, layout="NHWC"),
            "f32:1,4,4,3",
        )
        yield op(
            f"pool2d_{kind}_dilated",
            lambda x, k=kind: nn.pool2d(x, (2, 2), (1, 1), (2, 2), (0, 0, 0, 0), k),
            "f32:1,1,5,5",
        )
        yield op(f"pool1d_{kind}", lambda x, k=kind: nn.pool1d(x, (3,), (2,), (1,), (1, 1), k), "f32:1,2,8")
        yield op(
            f"pool1d_{kind}_nwc", lambda x, k=kind: nn.pool1d(x, (2,), (1,), (1,), (0, 0), k, layout="NWC"), "f32:1,6,2"
        )
        yield op(
            f"pool3d_{kind}", lambda x, k=kind: nn.pool3d(x, (2,) * 3, (2,) * 3, (1,) * 3, (0,) * 6, k), "f32:1,1,4,4,4"
        )
        yield op(f"global_pool_{kind}", lambda x, k=kind: nn.global_pool(x, k), "f32:1,3,4,4")
        yield op(f"adaptive_pool_{kind}", lambda x, k=kind: nn.adaptive_pool(x, (2, 3), k), "f32:1,2,5,7")
        yield op(f"adaptive_pool_{kind}_even", lambda x, k=kind: nn.adaptive_pool(x, (2, 2), k), "f32:1,2,4,4")
        yield op(f"adaptive_pool1d_{kind}", lambda x, k=kind: nn.adaptive_pool1d(x, (3,), k), "f32:1,2,7")
        yield op(f"adaptive_pool3d_{kind}", lambda x, k=kind: nn.adaptive_pool3d(x, (1, 2, 2), k), "f32:1,1,2,2,3")
        yield op(
            f"pool_grad_{kind}",
            lambda g, x, k=kind: nn.pool_grad(g, x, (2, 2), (2, 2), (0, 0, 0, 0), k),
            "f32:1,1,2,2",
            "f32:1,1,4,4",
        )
    yield op(
        "pool2d_avg_exclude",
        lambda x: nn.pool2d(x, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), "avg", count_include_pad=False),
        "f32:1,1,4,4",
    )


def normalisation(topi: Any) -> Iterator[Operator]:
    """Normalisations, losses and recurrent cells."""
    nn = topi.nn
    yield op("layer_norm", lambda x, g, b: nn.layer_norm(x, g, b, [1]), "f32:3,6", "f32:6", "f32:6")
    yield op("layer_norm2", lambda x, g, b: nn.layer_norm(x, g, b, [1, 2]), "f32:2,3,4", "f32:3,4", "f32:3,4")
    yield op("layer_norm", lambda x, g, b: nn.layer_norm(x, g, b, [1]), "f16:3,6", "f16:6", "f16:6")
    yield op("rms_norm", lambda x, w: nn.rms_norm(x, w, [1]), "f32:3,6", "f32:6")
    yield op("rms_norm", lambda x, w: nn.rms_norm(x, w, [1]), "f16:3,6", "f16:6")
    yield op("group_norm", lambda x, g, b: nn.group_norm(x, g, b, 2, 1, [2, 3]), "f32:1,4,3,3", "f32:4", "f32:4")
    yield op("instance_norm", lambda x, g, b: nn.instance_norm(x, g, b, 1, [2, 3]), "f32:1,3,3,3", "f32:3", "f32:3")
    yield op(
        "batch_norm",
        lambda x, g, b, m, v: nn.batch_norm(x, g, b, m, v, axis=1, training=False),
        "f32:2,3,4",
        "f32:3",
        "f32:3",
        "f32:3",
        "f32:3",
    )
    yield op("lrn", lambda x: nn.lrn(x, 3), "f32:1,4,3,3")
    yield op("lrn_nhwc", lambda x: nn.lrn(x, 3, axis=3), "f32:1,3,3,4")
    for how in ("mean", "sum", "none"):
        yield op(f"nll_loss_{how}", lambda p, y, w, h=how: nn.nll_loss(p, y, w, h, -100), "f32:4,5", "i32:4", "f32:5")
    yield op("scale_shift_nchw", nn.scale_shift_nchw, "f32:1,3,4,4", "f32:3", "f32:3")
    yield op("scale_shift_nhwc", nn.scale_shift_nhwc, "f32:1,4,4,3", "f32:3", "f32:3")
    yield op("scale_shift_nchwc", nn.scale_shift_nchwc, "f32:1,2,3,3,4", "f32:2,4", "f32:2,4")
    yield op(
        "quantize",
        lambda x: topi.cast(topi.clip(topi.round(topi.multiply(x, tirx.const(12.5, "float32"))), -128, 127), "int8"),
        "f32:4,5",
    )
    yield op(
        "dequantize",
        lambda x: topi.multiply(
            topi.cast(topi.subtract(topi.cast(x, "int32"), tirx.const(3, "int32")), "float32"),
            tirx.const(0.08, "float32"),
        ),
        "i8:4,5",
    )
    yield op(
        "requantize",
        lambda x: topi.cast(
            topi.clip(topi.add(topi.fixed_point_multiply(x, 1288490188, -4), tirx.const(5, "int32")), -128, 127), "int8"
        ),
        "i32:3,5",
    )
