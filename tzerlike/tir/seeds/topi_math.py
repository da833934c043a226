"""TOPI operators on numbers: maps, broadcasts, reductions, matrix products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.seeds.operators import SHORT, Operator, op


def elementwise(topi: Any) -> Iterator[Operator]:
    """Unary maps over floats, integers and low-precision types."""
    real = (
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "sigmoid",
        "tanh",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "floor",
        "ceil",
        "round",
        "trunc",
        "abs",
        "negative",
        "sign",
        "log2",
        "log10",
        "isnan",
        "isfinite",
        "isinf",
        "identity",
        "fast_exp",
        "fast_tanh",
        "fast_erf",
    )
    for index, name in enumerate(real):
        shape = ("7", "3,5", "2,3,4", "16", "1", "4,1,5")[index % 6]
        yield op(name, getattr(topi, name), f"f32:{shape}")
    for name in (
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "sigmoid",
        "tanh",
        "sin",
        "cos",
        "floor",
        "ceil",
        "round",
        "trunc",
        "abs",
        "negative",
        "sign",
        "isnan",
    ):
        yield op(name, getattr(topi, name), "f64:5")
    for name in ("exp", "sqrt", "sigmoid", "tanh", "floor", "ceil", "abs", "negative", "sign", "isnan"):
        yield op(name, getattr(topi, name), "f16:3,4")
    for name in ("exp", "sigmoid", "abs", "negative", "sqrt"):
        yield op(name, getattr(topi, name), "bf16:9")
    for kind in ("i8", "i16", "i32", "i64"):
        for name in ("abs", "negative", "sign", "bitwise_not"):
            yield op(name, getattr(topi, name), f"{kind}:3,5")
    for kind in ("u8", "u16", "u32", "u64"):
        for name in ("bitwise_not", "identity"):
            yield op(name, getattr(topi, name), f"{kind}:6")
    yield op("logical_not", topi.logical_not, "b:7")
    yield op("scalar_exp", topi.exp, "f32:")
    yield op("symbolic_exp", topi.exp, "f32:n,m")
    yield op("symbolic_negative", topi.negative, "i64:n")
    for a, b in (
        ("f32", "i32"),
        ("i32", "f32"),
        ("f32", "f16"),
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f32", "bf16"),
        ("i64", "i32"),
        ("i32", "i64"),
        ("i8", "i32"),
        ("i32", "i8"),
        ("u8", "f32"),
        ("b", "f32"),
        ("f64", "f32"),
        ("u32", "i64"),
        ("i32", "b"),
        ("f32", "b"),
        ("u8", "i8"),
        ("i16", "u16"),
        ("f32", "i8"),
        ("u64", "f64"),
        ("b", "i32"),
        ("i64", "f64"),
        ("f32", "u8"),
        ("i8", "f16"),
    ):
        yield op(f"cast_{b}", lambda x, to=SHORT[b]: topi.cast(x, to), f"{a}:3,4")
    for a, b in (("f32", "i32"), ("i32", "f32"), ("f64", "u64"), ("f16", "i16"), ("i8", "u8")):
        yield op(f"reinterpret_{b}", lambda x, to=SHORT[b]: topi.reinterpret(x, to), f"{a}:5")
    for kind, low, high in (
        ("f32", -1.0, 1.5),
        ("i32", -3, 100),
        ("i8", -7, 9),
        ("u8", 3, 200),
        ("f16", 0.0, 6.0),
        ("i64", -5, 5),
        ("f64", -0.5, 0.5),
    ):
        yield op("clip", lambda x, lo=low, hi=high: topi.clip(x, lo, hi), f"{kind}:4,5")
    for kind, value in (("f32", 3.5), ("i32", -7), ("i64", 1 << 40), ("u8", 255), ("f16", 0.5), ("b", True)):
        yield op("full_like", lambda x, v=value: topi.full_like(x, v), f"{kind}:3,4")
    for name in ("relu", "softplus"):
        for kind in ("f32", "f16", "f64"):
            yield op(f"nn_{name}", getattr(topi.nn, name), f"{kind}:3,7")
    yield op("nn_relu", topi.nn.relu, "i32:3,7")
    yield op("leaky_relu", lambda x: topi.nn.leaky_relu(x, 0.1), "f32:5,3")
    yield op("leaky_relu", lambda x: topi.nn.leaky_relu(x, 0.25), "f64:4")
    yield op("prelu", lambda x, a: topi.nn.prelu(x, a), "f32:2,3,4", "f32:3")
    yield op("prelu_last", lambda x, a: topi.nn.prelu(x, a, 2), "f32:2,3,4", "f32:4")
    yield op("fixed_point_multiply", lambda x: topi.fixed_point_multiply(x, 1073741824, -3), "i32:7")
    yield op("fixed_point_multiply_up", lambda x: topi.fixed_point_multiply(x, 1395864371, 2), "i32:2,3")
    yield op(
        "fixed_point_multiply_axis",
        lambda x, y, a, b: topi.fixed_point_multiply_per_axis(x, y, a, b, True, True, [1]),
        "i32:2,3",
        "i32:3",
        "i32:3",
        "i32:3",
    )


def broadcasts(topi: Any) -> Iterator[Operator]:
    """Binary maps with and without broadcasting."""
    pairs = (("4,5", "4,5"), ("4,5", "5"), ("3,1,4", "2,1"), ("1", "3,3"), ("2,3,4", "3,1"), ("6", "1"))
    arithmetic = ("add", "subtract", "multiply", "maximum", "minimum")
    for number, kind in enumerate(("f32", "i32", "i64", "f16", "i8", "u8", "f64", "i16", "u32", "bf16", "u16", "u64")):
        for index, name in enumerate(arithmetic):
            # The common types get every operator, the others some of them.
            if number >= 6 and (index + number) % 3:
                continue
            a, b = pairs[(index + number) % len(pairs)]
            yield op(name, getattr(topi, name), f"{kind}:{a}", f"{kind}:{b}")
    for kind in ("f32", "f64", "f16"):
        yield op("divide", topi.divide, f"{kind}:4,5", f"{kind}:5")
        yield op("power", topi.power, f"{kind}:5", f"{kind}:5")
    yield op("floor_divide", topi.floor_divide, "f32:3,4", "f32:4")
    yield op("floor_mod", topi.floor_mod, "f32:3,4", "f32:3,1")

    def by_odd(divide: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Return `divide` with a divisor made odd: division by zero would end the process that runs it."""
        return lambda x, y: divide(x, topi.bitwise_or(y, tirx.const(1, SHORT[kind])))

    for kind in ("i32", "i64", "i8", "u8"):
        yield op("floor_divide_odd", by_odd(topi.floor_divide, kind), f"{kind}:3,4", f"{kind}:4")
        yield op("floor_mod_odd", by_odd(topi.floor_mod, kind), f"{kind}:3,4", f"{kind}:3,1")
    for kind in ("i32", "i64", "u32", "i16"):
        yield op("divide_odd", by_odd(topi.divide, kind), f"{kind}:6", f"{kind}:6")
        yield op("mod_odd", by_odd(topi.mod, kind), f"{kind}:6", f"{kind}:1")
    for index, name in enumerate(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")):
        for number, kind in enumerate(("f32", "i32", "u8", "i64", "f16")):
            a, b = pairs[(index + number) % len(pairs)]
            yield op(name, getattr(topi, name), f"{kind}:{a}", f"{kind}:{b}")
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield op(name, getattr(topi, name), "b:3,4", "b:4")
    for index, name in enumerate(("bitwise_and", "bitwise_or", "bitwise_xor")):
        for number, kind in enumerate(("i32", "u8", "i64", "u32", "i16")):
            a, b = pairs[(index + number) % len(pairs)]
            yield op(name, getattr(topi, name), f"{kind}:{a}", f"{kind}:{b}")
    for name in ("left_shift", "right_shift"):
        shift = getattr(topi, name)
        for kind in ("i32", "u32", "i64", "u8"):
            yield op(
                f"{name}_small",
                lambda x, y, f=shift, k=SHORT[kind]: f(x, topi.bitwise_and(y, tirx.const(7, k))),
                f"{kind}:5",
                f"{kind}:5",
            )
    yield op("atan2", topi.atan2, "f32:3,4", "f32:3,4")
    yield op("log_add_exp", topi.log_add_exp, "f32:3,4", "f32:4")
    yield op("add_scalar", lambda x: topi.add(x, tirx.const(2.5, "float32")), "f32:3,5")
    yield op("scalar_minus", lambda x: topi.subtract(tirx.const(10, "int32"), x), "i32:7")
    yield op("symbolic_add", topi.add, "f32:n,m", "f32:m")
    yield op("symbolic_add_same", topi.add, "i32:n", "i32:n")
    yield op("symbolic_maximum", topi.maximum, "f32:n,1", "f32:1,m")
    yield op("elemwise_sum", lambda a, b, c: topi.elemwise_sum([a, b, c]), "f32:4,3", "f32:4,3", "f32:4,3")
    yield op("chain", lambda a, b, c: topi.tanh(topi.add(topi.multiply(a, b), c)), "f32:3,4", "f32:4", "f32:3,1")
    yield op(
        "chain_int",
        lambda a, b, c: topi.floor_mod(topi.add(topi.multiply(a, b), c), tirx.const(7, "int32")),
        "i32:3,4",
        "i32:4",
        "i32:3,1",
    )
    yield op(
        "gelu_chain",
        lambda x: topi.multiply(x, topi.sigmoid(topi.multiply(x, tirx.const(1.702, "float32")))),
        "f32:4,6",
    )
    for kind in ("f32", "i32", "u8", "f16", "i64", "b"):
        yield op("where", topi.where, "b:3,4", f"{kind}:3,4", f"{kind}:3,4")
    yield op("where_broadcast", topi.where, "b:3,1", "f32:4", "f32:1")
    yield op("broadcast_to", lambda x: topi.broadcast_to(x, (2, 3, 4)), "f32:3,1")
    yield op("broadcast_to", lambda x: topi.broadcast_to(x, (5, 3)), "i8:1")


def reductions(topi: Any) -> Iterator[Operator]:
    """Commutative reductions, argument reductions and scans."""
    axes = (None, 0, 1, -1, (0, 2), (1, 2))
    for number, kind in enumerate(("f32", "i32", "i64", "f64", "f16", "i8", "u8")):
        for index, name in enumerate(("sum", "max", "min", "prod")):
            axis = axes[(index + number) % len(axes)]
            keep = (index + number) % 3 == 0
            yield op(f"{name}_{number}", partial(getattr(topi, name), axis=axis, keepdims=keep), f"{kind}:3,4,5")
    for index, axis in enumerate(axes):
        yield op(f"sum_axis{index}", lambda x, a=axis: topi.sum(x, axis=a, keepdims=True), "f32:2,5,3")
        yield op(f"max_axis{index}", lambda x, a=axis: topi.max(x, axis=a), "f32:2,5,3")
    for name in ("all", "any"):
        for index, axis in enumerate((None, 0, 1)):
            yield op(f"{name}_{index}", partial(getattr(topi, name), axis=axis), "b:4,5")
    for name in ("argmax", "argmin"):
        for index, (kind, axis) in enumerate((("f32", None), ("f32", 0), ("i32", 1), ("u8", -1), ("f16", 0))):
            yield op(f"{name}_{index}", partial(getattr(topi, name), axis=axis), f"{kind}:4,5")
        yield op(f"{name}_last", partial(getattr(topi, name), axis=1, keepdims=True, select_last_index=True), "f32:3,6")
    for name in ("cumsum", "cumprod"):
        for index, (kind, axis, exclusive) in enumerate(
            (("f32", 0, False), ("i32", 1, True), ("i64", None, False), ("f64", 1, False))
        ):
            yield op(f"{name}_{index}", partial(getattr(topi, name), axis=axis, exclusive=exclusive), f"{kind}:3,4")
    yield op("symbolic_sum", lambda x: topi.sum(x, axis=1), "f32:n,m")
    yield op("symbolic_max", lambda x: topi.max(x, axis=0), "i32:n,3")
    yield op("mean", lambda x: topi.divide(topi.sum(x, axis=1), tirx.const(5.0, "float32")), "f32:3,5")
    yield op(
        "variance",
        lambda x: topi.sum(topi.multiply(topi.subtract(x, topi.sum(x, axis=1, keepdims=True)), x), axis=1),
        "f32:3,5",
    )
    yield op("norm2", lambda x: topi.sqrt(topi.sum(topi.multiply(x, x), axis=-1)), "f32:4,6")
    for shape in ("3,5", "2,3,4", "7"):
        yield op("softmax", lambda x: topi.nn.softmax(x), f"f32:{shape}")
        yield op("log_softmax", lambda x: topi.nn.log_softmax(x), f"f32:{shape}")
    yield op("softmax_axis1", lambda x: topi.nn.softmax(x, axis=1), "f32:2,3,4")
    yield op("softmax_axis0", lambda x: topi.nn.softmax(x, axis=0), "f64:4,3")
    yield op("softmax", lambda x: topi.nn.softmax(x), "f16:3,6")
    yield op("softmax_symbolic", lambda x: topi.nn.softmax(x), "f32:n,4")
    yield op("fast_softmax", lambda x: topi.nn.fast_softmax(x), "f32:3,5")


def matrices(topi: Any) -> Iterator[Operator]:
    """Matrix products in their layouts and types, einsum and tensordot."""
    nn = topi.nn
    for kind in ("f32", "f64", "f16", "i32", "i64", "i8", "u8"):
        yield op("matmul", topi.matmul, f"{kind}:4,5", f"{kind}:5,3")
    for a, b in ((False, True), (True, False), (True, True)):
        yield op(
            f"matmul_{int(a)}{int(b)}",
            lambda x, y, p=a, q=b: topi.matmul(x, y, p, q),
            "f32:5,4" if a else "f32:4,5",
            "f32:3,5" if b else "f32:5,3",
        )
    yield op("matmul_square", topi.matmul, "f32:8,8", "f32:8,8")
    yield op("matmul_symbolic", topi.matmul, "f32:n,5", "f32:5,3")
    yield op("matmul_symbolic_all", topi.matmul, "f32:n,k", "f32:k,m")
    yield op("matmul_vector", topi.matmul, "f32:1,7", "f32:7,1")
    for kind, out in (
        ("i8", "int32"),
        ("u8", "int32"),
        ("f16", "float32"),
        ("bf16", "float32"),
        ("i16", "int32"),
        ("i8", "float32"),
    ):
        yield op(f"dense_{out}", lambda x, w, o=out: nn.dense(x, w, out_dtype=o), f"{kind}:3,8", f"{kind}:4,8")
    yield op("dense", lambda x, w: nn.dense(x, w), "f32:3,8", "f32:4,8")
    yield op("dense_bias", lambda x, w, b: nn.dense(x, w, b), "f32:3,7", "f32:4,7", "f32:4")
    yield op("dense_bias_relu", lambda x, w, b: nn.relu(nn.dense(x, w, b)), "f32:2,5", "f32:3,5", "f32:3")
    yield op("nn_matmul_ta", lambda x, w: nn.matmul(x, w, transpose_a=True), "f32:7,3", "f32:7,4")
    for kind in ("f32", "f64", "i32"):
        yield op("batch_matmul", lambda x, y: nn.batch_matmul(x, y), f"{kind}:2,3,4", f"{kind}:2,5,4")
    yield op("batch_matmul_nn", lambda x, y: nn.batch_matmul(x, y, transpose_b=False), "f32:2,3,4", "f32:2,4,5")
    yield op(
        "batch_matmul_tn",
        lambda x, y: nn.batch_matmul(x, y, transpose_a=True, transpose_b=False),
        "f32:2,4,3",
        "f32:2,4,5",
    )
    yield op("batch_matmul_one", lambda x, y: nn.batch_matmul(x, y), "f32:1,3,4", "f32:2,5,4")
    yield op("batch_matmul_int8", lambda x, y: nn.batch_matmul(x, y, out_dtype="int32"), "i8:2,3,4", "i8:2,5,4")
    for subscripts, types in (
        ("ij,jk->ik", ("3,4", "4,5")),
        ("ij->ji", ("3,4",)),
        ("ii->i", ("4,4",)),
        ("bij,bjk->bik", ("2,3,4", "2,4,3")),
        ("ij->", ("3,4",)),
        ("i,j->ij", ("3", "4")),
        ("ij,ij->i", ("3,4", "3,4")),
        ("abc,cd->abd", ("2,2,3", "3,4")),
        ("ij,j", ("3,4", "4")),
    ):
        name = "einsum_" + subscripts.replace(",", "_").replace("->", "_to_")
        yield op(name, lambda *xs, s=subscripts: topi.einsum(s, *xs), *(f"f32:{shape}" for shape in types))
    yield op("tensordot", lambda a, b: topi.tensordot(a, b, axes=1), "f32:2,3", "f32:3,4")
    yield op("tensordot2", lambda a, b: topi.tensordot(a, b, axes=((1, 2), (0, 1))), "f32:2,3,4", "f32:3,4,5")
    yield op("binarize_pack", lambda x: nn.binarize_pack(x), "f32:2,64")
    yield op("binary_dense", lambda x, w: nn.binary_dense(x, w), "u32:2,3", "u32:4,3")
    yield op("bitpack", lambda x: nn.bitpack(x, bits=2, pack_axis=1, bit_axis=0, pack_type="uint8"), "u8:3,8")
    yield op("mlp2", lambda x, w, v: nn.dense(nn.relu(nn.dense(x, w)), v), "f32:2,4", "f32:5,4", "f32:3,5")
    yield op("gemv", lambda x, w: topi.sum(topi.multiply(w, x), axis=1), "f32:6", "f32:4,6")
