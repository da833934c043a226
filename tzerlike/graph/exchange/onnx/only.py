"""Calls of operators that ONNX has and TVM's graph level lacks or defines otherwise: importers compose them.

There is no row to judge them by: ONNX Runtime and what TVM imports are compared with each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tzerlike.graph.exchange.writing import AttributeOfNode, OnnxFile, OnnxNode, Writing
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import TensorType


@dataclass(frozen=True)
class OnnxCall:
    """A call: inputs are types of tensors that come in, or constants; None is one that is left out."""

    operator: str
    inputs: tuple[TensorType | Array | None, ...]
    attributes: Mapping[str, AttributeOfNode] = field(default_factory=dict)
    opset: int = 18
    outputs: int = 1
    domain: str = ""

    @property
    def file(self) -> OnnxFile:
        """A file of this call alone, with inputs x0, x1, ... and outputs y0, y1, ..., whose types are left open."""
        to, names, kinds = Writing(self.opset), [], []
        for number, one in enumerate(self.inputs):
            if isinstance(one, TensorType):
                names.append(f"x{number}")
                kinds.append((f"x{number}", one))
            else:
                names.append("" if one is None else to.constant(one, one.dtype))
        outputs = tuple(f"y{number}" for number in range(self.outputs))
        node = OnnxNode(self.operator, tuple(names), outputs, {**self.attributes}, self.domain)
        return OnnxFile(self.opset, (node,), tuple(kinds), tuple((name, None) for name in outputs), to.constants)


def _f(*shape: int) -> TensorType:
    return TensorType(shape, "float32")


def _i8(*shape: int) -> TensorType:
    return TensorType(shape, "int8")


def _of(dtype: str, *values: float) -> Array:
    return np.asarray(values, dtype)


def _whole(*values: int) -> Array:
    return np.asarray(values, "int64")


_ACTIVATIONS: Mapping[str, Mapping[str, AttributeOfNode]] = {
    "Elu": {"alpha": 0.5}, "HardSigmoid": {"alpha": 0.25, "beta": 0.4}, "ThresholdedRelu": {"alpha": 0.7},
    "Selu": {"alpha": 1.5, "gamma": 1.25}, "Shrink": {"lambd": 0.5, "bias": 0.25}, "Softsign": {}, "HardSwish": {},
    "Mish": {}, "Reciprocal": {}, "IsInf": {"detect_negative": 0}, "LeakyRelu": {}, "Hardmax": {"axis": 1},
}  # fmt: skip

_BOXES = np.asarray([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 0.05, 1, 1.05]]], "float32")

ONNX_CALLS: tuple[OnnxCall, ...] = (
    *(OnnxCall(name, (_f(3, 4),), given) for name, given in _ACTIVATIONS.items()),
    *(
        one
        for kind in ("L1", "L2", "SumSquare", "LogSumExp")
        for keep in (0, 1)
        for one in (
            OnnxCall(f"Reduce{kind}", (_f(2, 3, 4), _whole(0, 2)), {"keepdims": keep}),
            OnnxCall(f"Reduce{kind}", (_f(2, 3, 4),), {"keepdims": keep, "axes": [1, -1]}, 13),
            OnnxCall(f"Reduce{kind}", (_f(2, 3, 4),), {"keepdims": keep}),
        )
    ),
    *(OnnxCall(kind, (_f(2, 3), _f(3), _f(1, 3))) for kind in ("Sum", "Mean", "Max", "Min")),
    *(OnnxCall(kind, (_f(2, 3),)) for kind in ("Sum", "Mean", "Max", "Min", "Shape", "Size", "NonZero")),
    OnnxCall("Shape", (_f(2, 3, 4, 5),), {"start": 1, "end": -1}),
    OnnxCall("Gemm", (_f(3, 2), _f(4, 3), _f(4)), {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1}),
    OnnxCall("Gemm", (_f(2, 3), _f(3, 4), _f(2, 1)), {"alpha": 1.5, "beta": 0.0}),
    OnnxCall("MatMulInteger", (_i8(2, 3), _i8(3, 4), _of("int8", 1), _of("int8", 2))),
    OnnxCall("MatMulInteger", (TensorType((2, 3), "uint8"), _i8(3, 4))),
    OnnxCall("LRN", (_f(1, 5, 3, 3),), {"size": 3, "alpha": 0.01, "beta": 0.6, "bias": 1.5}),
    OnnxCall("LpPool", (_f(1, 2, 5, 6),), {"kernel_shape": [2, 3], "p": 3, "strides": [2, 1], "pads": [1, 0, 0, 1]}),
    *(OnnxCall(f"Global{kind}Pool", (_f(2, 3, 4, 5),)) for kind in ("Max", "Average", "Lp")),
    OnnxCall("MeanVarianceNormalization", (_f(2, 3, 4, 4),), {"axes": [0, 2, 3]}, 13),
    OnnxCall("MaxPool", (_f(1, 1, 5, 6),), {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    OnnxCall("AveragePool", (_f(1, 1, 5, 6),), {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER"}),
    OnnxCall("AveragePool", (_f(1, 1, 5, 5),), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, 19),
    OnnxCall("Conv", (_f(1, 2, 5, 5), _f(3, 2, 3, 3), _f(3)), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    OnnxCall("ConvTranspose", (_f(1, 2, 3, 3), _f(2, 3, 2, 2), _f(3)), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    OnnxCall("ConvTranspose", (_f(1, 2, 3, 3), _f(2, 3, 2, 2)), {"strides": [2, 2], "output_shape": [5, 5]}),
    OnnxCall("SpaceToDepth", (_f(1, 2, 4, 6),), {"blocksize": 2}),
    *(OnnxCall("DepthToSpace", (_f(1, 8, 2, 3),), {"blocksize": 2, "mode": mode}) for mode in ("DCR", "CRD")),
    OnnxCall("Compress", (_f(3, 4), _of("bool", 1, 0, 1)), {"axis": 0}),
    OnnxCall("Compress", (_f(3, 4), _of("bool", 1, 0, 1, 1, 0))),
    OnnxCall("Scatter", (_f(3, 4), np.asarray([[1, 0]]), _f(1, 2)), {"axis": 1}, 9),
    OnnxCall("Upsample", (_f(1, 2, 3, 3), _of("float32", 1, 1, 2, 2)), {"mode": "nearest"}, 9),
    OnnxCall("Resize", (_f(1, 2, 3, 3), None, _of("float32", 1, 1, 2, 1.5)), {"mode": "linear"}),
    OnnxCall("Resize", (_f(1, 1, 4, 4), None, None, _whole(1, 1, 6, 3)), {"mode": "cubic"}),
    OnnxCall("DynamicQuantizeLinear", (_f(3, 4),), {}, 18, 3),
    OnnxCall("QuantizeLinear", (_f(3, 4), _of("float32", 0.5))),
    OnnxCall("DequantizeLinear", (_i8(3, 4), _of("float32", 0.5, 1, 2)), {"axis": 0}),
    OnnxCall("Dropout", (_f(3, 4),), {}, 13),
    OnnxCall("Clip", (_f(3, 4), None, _of("float32", 1).reshape(()))),
    OnnxCall("ReduceLogSum", (TensorType((2, 3), "float32"), _whole(1)), {"keepdims": 0}),
    OnnxCall("Clip", (_f(3, 4),), {"min": -1.0, "max": 0.5}, 6),
    OnnxCall("CumSum", (_f(3, 4), np.asarray(1)), {"reverse": 1, "exclusive": 1}),
    OnnxCall("Pad", (_f(3, 4), _whole(1, 2), _of("float32", 7).reshape(()), _whole(-1)), {"mode": "constant"}),
    OnnxCall("Pad", (_f(3, 4), _whole(0, -1, 1, 0))),
    OnnxCall("Slice", (_f(5, 6), _whole(-4, 9), _whole(-1, -9), None, _whole(1, -2))),
    OnnxCall("Slice", (_f(5, 6),), {"starts": [1], "ends": [1000], "axes": [1]}, 9),
    OnnxCall("Gather", (_f(5, 6), np.asarray([[-1, 0], [2, -5]])), {"axis": 0}),
    OnnxCall("GatherElements", (_f(2, 3), np.asarray([[-1, 0, -2], [1, 1, 0]])), {"axis": 1}),
    OnnxCall("GatherND", (_f(2, 3, 4), np.asarray([[[1]], [[-1]]])), {"batch_dims": 1}),
    OnnxCall("ScatterElements", (_f(3, 3), np.asarray([[1, 1, 2]]), _f(1, 3)), {"axis": 1, "reduction": "add"}),
    OnnxCall("OneHot", (np.asarray([1, -1, 7]), np.asarray(3), _of("float32", 0, 5)), {"axis": 0}),
    OnnxCall("OneHot", (np.asarray([1, -1]), _whole(3), _of("float32", 0, 5))),
    OnnxCall("ConstantOfShape", (_whole(2, 3),)),
    OnnxCall("EyeLike", (_f(3, 4),), {"dtype": 7, "k": 1}),
    OnnxCall("Range", (_of("float32", 1).reshape(()), _of("float32", 0).reshape(()), _of("float32", -0.3).reshape(()))),
    OnnxCall("ArgMax", (_f(3, 4),), {"axis": 1, "select_last_index": 1}),
    OnnxCall("TopK", (_f(3, 4), _whole(2)), {"axis": 0, "largest": 0}, 18, 2),
    OnnxCall("Unique", (TensorType((6,), "int64"),), {"sorted": 1}, 18, 4),
    OnnxCall("Softmax", (_f(2, 3, 4),), {"axis": 1}, 11),
    OnnxCall("LogSoftmax", (_f(2, 3, 4),), {"axis": 1}, 11),
    OnnxCall("Hardmax", (_f(2, 3, 4),), {"axis": 1}, 11),
    OnnxCall("Flatten", (_f(2, 3, 4),), {"axis": -1}),
    OnnxCall("Flatten", (_f(2, 3),), {"axis": 0}),
    OnnxCall("Reshape", (_f(2, 3, 4), _whole(0, -1, 2))),
    OnnxCall("Reshape", (_f(2, 3), _whole(3, 2)), {"allowzero": 1}),
    OnnxCall("Expand", (_f(3, 1), _whole(1, 4))),
    OnnxCall("Squeeze", (_f(1, 3, 1),), {}, 11),
    OnnxCall("Trilu", (_f(3, 4),), {"upper": 0}),
    OnnxCall("Mod", (TensorType((4,), "int32"), _of("int32", -3)), {"fmod": 0}),
    OnnxCall("Div", (TensorType((4,), "int32"), _of("int32", -3))),
    OnnxCall("BatchNormalization", (_f(2, 3, 4), _f(3), _f(3), _f(3), _of("float32", 0.5, 1, 2)), {}, 15),
    OnnxCall("LayerNormalization", (_f(2, 3, 4), _f(3, 4)), {"axis": 1}),
    OnnxCall("GridSample", (_f(1, 1, 4, 4), _f(1, 2, 3, 2)), {"mode": "nearest", "padding_mode": "border"}),
    OnnxCall("GridSample", (_f(1, 1, 4, 4), _f(1, 2, 3, 2)), {"mode": "bicubic", "padding_mode": "reflection"}),
    OnnxCall("RoiAlign", (_f(1, 2, 6, 6), _of("float32", 0, 0, 3, 3, 1, 1, 5, 4).reshape(2, 4), _whole(0, 0)),
             {"output_height": 2, "output_width": 3, "spatial_scale": 0.5, "sampling_ratio": 2}),
    OnnxCall("MaxRoiPool", (_f(1, 2, 6, 6), _of("float32", 0, 0, 0, 3, 3).reshape(1, 5)), {"pooled_shape": [2, 2]}),
    OnnxCall("MaxUnpool", (_f(1, 1, 2, 2), np.asarray([[[[0, 3], [8, 10]]]])),
             {"kernel_shape": [2, 2], "strides": [2, 2]}),
    OnnxCall("NonMaxSuppression", (_BOXES, _of("float32", 0.9, 0.75, 0.6, 0.95).reshape(1, 1, 4), np.asarray([3]),
                                   _of("float32", 0.5), _of("float32", 0.1))),
    *(OnnxCall(kind, (_f(2, 3, 8), _f(8)), {}, 18, 1, "com.microsoft") for kind in ("BiasGelu", "FastGelu")),
    OnnxCall("FastGelu", (_f(2, 3, 8),), {}, 18, 1, "com.microsoft"),
    OnnxCall("Gelu", (_f(2, 3, 8),), {}, 18, 1, "com.microsoft"),
    OnnxCall("SkipLayerNormalization", (_f(2, 3, 8), _f(2, 3, 8), _f(8), _f(8), _f(8)), {"epsilon": 1e-5}, 18, 1,
             "com.microsoft"),
    OnnxCall("EmbedLayerNormalization", (np.asarray([[1, 0, 2]], "int32"), np.asarray([[0, 1, 0]], "int32"), _f(4, 8),
                                         _f(3, 8), _f(2, 8), _f(8), _f(8)), {"epsilon": 1e-5}, 18, 2, "com.microsoft"),
    OnnxCall("Attention", (_f(1, 3, 8), _f(8, 24), _f(24)), {"num_heads": 2}, 18, 1, "com.microsoft"),
    OnnxCall("MatMulInteger16", (TensorType((2, 3), "int16"), TensorType((3, 4), "int16")), {}, 18, 1, "com.microsoft"),
)  # fmt: skip
