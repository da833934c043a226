"""Each operator in ONNX, from ONNX's definitions, in every form in which it can be expressed."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.exchange.onnx import (
    creation,
    elementwise,
    image,
    indexing,
    linear_algebra,
    manipulation,
    nn,
    quantization,
    reduction,
)
from tzerlike.graph.exchange.onnx.words import Form, chain, plain
from tzerlike.graph.exchange.writing import of_dtypes

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

_SAME = {
    **{name: name.capitalize() for name in ("abs", "sign", "ceil", "floor", "round", "exp", "log", "sqrt", "sigmoid")},
    **{name: name.capitalize() for name in ("erf", "tanh", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos")},
    **{name: name.capitalize() for name in ("atan", "asinh", "acosh", "atanh", "equal", "less", "greater", "where")},
    "negative": "Neg", "logical_not": "Not", "isinf": "IsInf", "isnan": "IsNaN", "nn.relu": "Relu",
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow", "logical_and": "And",
    "logical_or": "Or", "logical_xor": "Xor",
    **{f"matmul{form}": "MatMul" for form in ("", ":vectors", ":vector first", ":vector second")},
}  # fmt: skip

ONNX_FORMS: Mapping[str, tuple[Form, ...]] = {
    **{name: (plain(operator),) for name, operator in _SAME.items()},
    "less_equal": (plain("LessOrEqual", 12),), "greater_equal": (plain("GreaterOrEqual", 12),),
    "not_equal": (chain("Equal", "Not"),), "nn.selu": (of_dtypes(plain("Selu"), "float32", "float16"),),
    **{f"bitwise_{one}": (plain(f"Bitwise{one.capitalize()}", 18),) for one in ("and", "or", "xor", "not")},
    "add": (plain("Add"), of_dtypes(plain("Sum"), "float32", "float64", "float16")),
    "maximum": (plain("Max"),), "minimum": (plain("Min"),),
    "square": (elementwise.squared,
               of_dtypes(elementwise.to_the_second, "float32", "float64", "float16", "int32", "int64")),
    "rsqrt": (chain("Sqrt", "Reciprocal"),),
    "isfinite": (elementwise.finite,), "nn.silu": (elementwise.silu,), "ewise_fma": (elementwise.multiply_add,),
    "nn.gelu": (plain("Gelu", 20),), "nn.gelu_tanh": (plain("Gelu", 20, approximate="tanh"),),
    "floor_mod": (of_dtypes(plain("Mod", 10), *WHOLE),), "mod": (plain("Mod", 10, fmod=1),),
    "floor_divide": (of_dtypes(chain("Div", "Floor"), "float32", "float64"),),
    "left_shift": (elementwise.shifted("LEFT"),), "right_shift": (elementwise.shifted("RIGHT"),),
    "nn.leakyrelu": (elementwise.leaky_relu,), "nn.softplus": (elementwise.softplus,), "clip": (elementwise.clip,),
    "astype": (elementwise.cast_to,),
    **{f"{name}{form}": (reduction.reduced(f"Reduce{name.capitalize()}", 13 if name == "sum" else 18),)
       for name in ("sum", "mean", "max", "min", "prod") for form in ("", ":all")},
    **{f"{name}{form}": (reduction.extreme(operator),)
       for name, operator in (("argmax", "ArgMax"), ("argmin", "ArgMin")) for form in ("", ":all")},
    "cumsum": (reduction.cumulated,), "nn.softmax": (reduction.softmax("Softmax"),),
    "nn.log_softmax": (reduction.softmax("LogSoftmax"),),
    "reshape": (manipulation.reshape,), "reshape:inferred": (manipulation.reshape,), "flatten": (manipulation.reshape,),
    "permute_dims": (manipulation.transpose,), "permute_dims:reverse": (manipulation.transpose,),
    "expand_dims": (manipulation.expand_dims,), "squeeze": (manipulation.squeeze,),
    "squeeze:all": (manipulation.squeeze,), "broadcast_to": (manipulation.expanded,),
    "concat": (manipulation.concat, manipulation.concat_of_sequence), "concat:flat": (manipulation.concat,),
    "stack": (manipulation.stack, manipulation.stack_of_sequence),
    "split": (manipulation.split, manipulation.split_evenly, manipulation.split_to_sequence),
    "split:at": (manipulation.split,), "tile": (manipulation.tile,), "flip": (manipulation.flip,),
    "strided_slice": (manipulation.strided_slice,), "strided_slice:backwards": (manipulation.strided_slice,),
    "tril": (manipulation.triangle(0),), "triu": (manipulation.triangle(1),),
    "take": (indexing.gather,), "take:flat": (indexing.gather,), "index_tensor": (indexing.gather,),
    "gather_elements": (indexing.gather_elements,), "gather_nd": (indexing.gather_nd,),
    "gather_nd:pairs": (indexing.gather_nd,), "scatter_elements": (indexing.scatter_elements,),
    "scatter_nd": (indexing.scatter_nd,), "one_hot": (indexing.one_hot,), "sort": (indexing.sort,),
    "argsort": (indexing.argsort,), "topk": (indexing.topk,), "topk:values": (indexing.topk,),
    "topk:indices": (indexing.topk,), "zeros": (creation.always(0),), "ones": (creation.always(1),),
    "zeros_like": (creation.always(0),), "ones_like": (creation.always(1),),
    "full": (creation.filled,), "full_like": (creation.filled,), "arange": (creation.arange,), "eye": (creation.eye,),
    "eye_like": (creation.eye,),
    "matmul": (plain("MatMul"), linear_algebra.general_product, linear_algebra.transposed_product),
    "outer": (plain("Einsum", 12, equation="i,j->ij"),),
    **{f"einsum:{one}": (linear_algebra.einsum,) for one in
       ("ij,jk->ik", "bij,bjk->bik", "i,j->ij", "ij->ji", "ij->j", "i,i->", "bij,bik->bjk")},
    **{f"nn.conv{rank}d": (nn.convolution,) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": (nn.transposed_convolution,) for rank in (1, 2, 3)},
    **{f"nn.max_pool{rank}d": (nn.max_pool,) for rank in (1, 2, 3)}, "nn.max_pool2d:ceil": (nn.max_pool,),
    **{f"nn.avg_pool{rank}d": (nn.average_pool,) for rank in (1, 2, 3)},
    **{f"nn.adaptive_avg_pool{rank}d": (nn.global_average,) for rank in (1, 2, 3)},
    "nn.conv2d:NHWC": (nn.channels_last(nn.convolution, 3, 2, 0, 1),),
    "nn.max_pool2d:NHWC": (nn.channels_last(nn.max_pool),),
    "nn.avg_pool2d:NHWC": (nn.channels_last(nn.average_pool),), "nn.batch_flatten": (plain("Flatten", axis=1),),
    "nn.layer_norm": (nn.layer_norm,), "nn.rms_norm": (nn.rms_norm,), "nn.batch_norm": (nn.batch_norm,),
    "nn.group_norm": (nn.group_norm,), "nn.instance_norm": (nn.instance_norm,), "nn.prelu": (nn.prelu,),
    **{f"nn.pad{form}": (nn.pad,) for form in ("", ":reflect", ":replicate", ":circular")},
    "nn.pixel_shuffle": (nn.pixel_shuffle,),
    **{f"image.resize{rank}d{form}": (image.resize,) for rank in (2, 3) for form in ("", ":nearest")},
    "image.grid_sample": (image.grid_sample,), "image.affine_grid": (image.affine_grid,),
    "quantize": (quantization.quantize,), "quantize:whole": (quantization.quantize,),
    "dequantize": (quantization.dequantize,), "dequantize:whole": (quantization.dequantize,),
}  # fmt: skip
"""How to say a call of each row, by the row's name."""
