"""Each operator in PyTorch, from PyTorch's definitions, in every form in which it can be expressed."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.exchange.torch import (
    creation,
    elementwise,
    image,
    indexing,
    linear_algebra,
    manipulation,
    nn,
    reduction,
)
from tzerlike.graph.exchange.torch.words import NN, Form, between, method, of_floats, of_ranks, plain, text
from tzerlike.graph.exchange.writing import of_dtypes

_SAME = (
    "abs sign ceil floor trunc exp log sqrt sigmoid erf tanh sin cos tan sinh cosh asin acos atan asinh acosh atanh "
    "isfinite isinf isnan logical_not bitwise_not floor_divide atan2 maximum minimum logical_and logical_or "
    "logical_xor bitwise_and bitwise_or bitwise_xor where outer"
)
"""Functions of the same name."""

TORCH_FORMS: Mapping[str, tuple[Form, ...]] = {
    **{name: (plain(f"torch.{name}"),) for name in _SAME.split()},
    "negative": (plain("torch.neg"), of_floats(text("0 - {0}"))),
    "square": (plain("torch.square"), text("{0} ** 2")),
    "round": (plain("torch.round"), text("torch.round({0}, decimals=0)")),
    "rsqrt": (plain("torch.rsqrt"), of_floats(text("1 / torch.sqrt({0})"))),
    "nn.relu": (plain("torch.relu"), plain(f"{NN}relu"), text("torch.clamp({0}, min=0)")),
    "nn.gelu": (plain(f"{NN}gelu"),), "nn.gelu_tanh": (text(f'{NN}gelu({{0}}, approximate="tanh")'),),
    "nn.selu": (plain(f"{NN}selu"),), "nn.silu": (plain(f"{NN}silu"), text("{0} * torch.sigmoid({0})")),
    "add": (plain("torch.add"), between("+")), "subtract": (plain("torch.sub"), between("-")),
    "multiply": (plain("torch.mul"), between("*")), "divide": (plain("torch.div"), between("/")),
    "floor_divide": (plain("torch.floor_divide"), text('torch.div({0}, {1}, rounding_mode="floor")'), between("//")),
    "floor_mod": (plain("torch.remainder"), between("%")), "mod": (plain("torch.fmod"),),
    "power": (plain("torch.pow"), between("**")), "log_add_exp": (plain("torch.logaddexp"),),
    "maximum": (plain("torch.maximum"), plain("torch.max")), "minimum": (plain("torch.minimum"), plain("torch.min")),
    "equal": (plain("torch.eq"), between("==")), "not_equal": (plain("torch.ne"), between("!=")),
    "less": (plain("torch.lt"), between("<")), "less_equal": (plain("torch.le"), between("<=")),
    "greater": (plain("torch.gt"), between(">")), "greater_equal": (plain("torch.ge"), between(">=")),
    "logical_and": (plain("torch.logical_and"), between("&")), "logical_or": (plain("torch.logical_or"), between("|")),
    "logical_xor": (plain("torch.logical_xor"), between("^")),
    "ewise_fma": (text("{0} * {1} + {2}"), text("torch.addcmul({2}, {0}, {1})")),
    "nn.leakyrelu": (elementwise.leaky_relu,), "nn.softplus": (elementwise.softplus,),
    "clip": (elementwise.clamped, elementwise.clamped_twice, elementwise.hardtanh), "astype": (elementwise.cast_to,),
    **{f"{name}{form}": forms for form in ("", ":all") for name, forms in {
        "sum": (reduction.summed,), "mean": (reduction.reduced("torch.mean"),),
        "max": (reduction.along("torch.max", "[0]", "torch.max"),),
        "variance": (reduction.reduced("torch.var", correction=0),),
        "std": (reduction.reduced("torch.std", correction=0), reduction.sample_std),
        "median": (reduction.median,), "argmax": (reduction.extreme("torch.argmax"),),
        "argmin": (reduction.extreme("torch.argmin"),),
    }.items()},
    "min:all": (reduction.along("torch.min", "", "torch.min"),), "prod:all": (reduction.product,),
    "cumsum": (reduction.scanned("torch.cumsum"),), "cumprod": (reduction.scanned("torch.cumprod"),),
    "nn.softmax": (reduction.along_axis("torch.softmax"),),
    "nn.log_softmax": (reduction.along_axis("torch.log_softmax"),),
    **{name: (manipulation.reshaped("reshape"), manipulation.reshaped("view"))
       for name in ("reshape", "reshape:inferred")},
    "flatten": (plain("torch.flatten"), manipulation.reshaped("reshape")),
    **{name: (manipulation.permuted, manipulation.swapped) for name in ("permute_dims", "permute_dims:reverse")},
    "expand_dims": (manipulation.unsqueezed,), "squeeze": (manipulation.squeezed, manipulation.squeezed_once),
    "squeeze:all": (manipulation.squeezed,), "broadcast_to": (manipulation.expanded, manipulation.broadcasted),
    "collapse_sum_to": (of_floats(manipulation.summed_to),),
    "collapse_sum_like": (of_floats(manipulation.summed_to),),
    "concat": (manipulation.concatenated("torch.cat"),), "concat:flat": (manipulation.concatenated("torch.cat"),),
    "stack": (manipulation.concatenated("torch.stack"),),
    "split": (manipulation.split, manipulation.chunked, manipulation.split_at),
    "split:at": (manipulation.split, manipulation.split_at),
    "tile": (manipulation.repeated_whole, manipulation.repeated_by_method),
    "repeat": (manipulation.repeated,), "repeat:flat": (manipulation.repeated,), "flip": (manipulation.flipped,),
    "strided_slice": (manipulation.sliced,), "strided_slice:backwards": (manipulation.sliced_backwards,),
    "tril": (manipulation.triangle("torch.tril"),), "triu": (manipulation.triangle("torch.triu"),),
    "take": (indexing.indexed, indexing.selected, indexing.embedded),
    "take:flat": (indexing.indexed, indexing.taken_flat, indexing.selected),
    "index_tensor": (indexing.indexed,), "index_tensor:pairs": (indexing.indexed_by_pairs,),
    "gather_elements": (indexing.gathered,), "gather_nd": (indexing.gathered_nd,),
    "gather_nd:pairs": (indexing.gathered_nd,), "scatter_elements": (indexing.scattered,),
    "scatter_nd": (indexing.put_nd,), "index_put": (indexing.put,), "one_hot": (indexing.one_hot,),
    "slice_scatter": (indexing.slice_scattered,), "sort": (indexing.ordered,), "argsort": (indexing.order,),
    "topk": (indexing.topk,), "topk:values": (indexing.topk,), "topk:indices": (indexing.topk,),
    "bucketize": (indexing.bucketized,), "meshgrid": (indexing.grid_of,),
    "zeros": (creation.filled("torch.zeros"),), "ones": (creation.filled("torch.ones"),),
    "full": (creation.filled("torch.full"),),
    "zeros_like": (creation.filled_like("torch.zeros_like"),), "ones_like": (creation.filled_like("torch.ones_like"),),
    "full_like": (creation.filled_like("torch.full_like"),), "arange": (creation.ranged,), "eye": (creation.eye,),
    "eye_like": (creation.eye,), "hamming_window": (creation.hamming,),
    "matmul": (plain("torch.matmul"), of_ranks(plain("torch.mm"), 2, 2), linear_algebra.linear),
    **{f"matmul:{form}": (plain("torch.matmul"), between("@"))
       for form in ("vectors", "vector first", "vector second")},
    **{f"einsum:{one}": (linear_algebra.einsum,) for one in
       ("ij,jk->ik", "bij,bjk->bik", "i,j->ij", "ij->ji", "ij->j", "i,i->", "bij,bik->bjk")},
    **{f"nn.conv{rank}d": (nn.convolution, nn.padded_convolution) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": (nn.transposed_convolution,) for rank in (1, 2)},
    **{f"nn.max_pool{rank}d": (nn.max_pool,) for rank in (1, 2, 3)}, "nn.max_pool2d:ceil": (nn.max_pool,),
    **{f"nn.avg_pool{rank}d": (nn.average_pool,) for rank in (1, 2)},
    "nn.avg_pool3d": (of_dtypes(nn.average_pool, "float32", "float64"),),
    **{f"nn.adaptive_avg_pool{rank}d": (nn.adaptive_average,) for rank in (1, 2, 3)},
    "nn.conv2d:NHWC": (nn.channels_last(nn.convolution, 3, 2, 0, 1),),
    "nn.max_pool2d:NHWC": (nn.channels_last(nn.max_pool),),
    "nn.avg_pool2d:NHWC": (nn.channels_last(nn.average_pool),), "nn.batch_flatten": (text("torch.flatten({0}, 1)"),),
    "nn.layer_norm": (nn.normalised(f"{NN}layer_norm"),), "nn.rms_norm": (nn.normalised(f"{NN}rms_norm"),),
    "nn.batch_norm": (nn.batch_norm,), "nn.group_norm": (nn.group_norm,), "nn.instance_norm": (nn.instance_norm,),
    "nn.prelu": (nn.prelu,), **{f"nn.pad{form}": (nn.pad,) for form in ("", ":reflect", ":replicate", ":circular")},
    "nn.pixel_shuffle": (nn.pixel_shuffle,),
    **{f"image.resize{rank}d{form}": (image.resize,) for rank in (2, 3) for form in ("", ":nearest")},
    "image.grid_sample": (image.grid_sample,), "image.affine_grid": (image.affine_grid,),
    "nn.nll_loss": (nn.nll_loss,), "nn.nll_loss:each": (nn.nll_loss,),
    "nn.attention": (nn.attention,), "nn.attention_bias": (nn.attention,),
    "grad.no_grad": (method("detach"),), "grad.start_checkpoint": (method("clone"),),
    "grad.end_checkpoint": (method("contiguous"),),
}  # fmt: skip
"""How to say a call of each row, by the row's name."""
