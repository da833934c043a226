"""Bugs planted in the way of a model, and rewrites that are none: each a model, and what is made of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.models import Drafted, called, floats
from tzerlike.graph.loss import with_loss
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.systems import tvm_api

relax = tvm_api.part("relax")
R: Any = relax.op

Rewrite = Callable[..., Any]
"""The call's inputs and, by name, what is in `attrs`, to the expression that takes its place."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A rewrite of the calls of `operator`, and a model on which it applies."""

    operator: str
    model: Model
    rewrite: Rewrite


def rewriting(operator: str, rewrite: Rewrite) -> Callable[[Any], Any]:
    """Return a pass that rewrites all calls of an operator."""
    name = f"relax.{operator}"

    @relax.expr_functor.mutator
    class Rewriting(relax.PyExprMutator):  # type: ignore[misc, name-defined]
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            if not (isinstance(call.op, tvm_api.tvm.ir.Op) and call.op.name == name):
                return call
            found = rewrite(*map(self._normal, call.args), attrs=call.attrs, emit=self._normal)
            return call if found is None else found

        def _normal(self, one: Any) -> Any:
            return self.builder_.normalize(one) if not isinstance(one, relax.Var) else one

    def applied(module: Any) -> Any:
        planted = Rewriting(module)
        for variable, function in module.functions_items():
            if isinstance(function, relax.Function):
                planted.builder_.update_func(variable, planted.visit_expr(function))
        return planted.builder_.get()

    return applied


def _numbers(attributes: Any) -> list[int]:
    return [int(one) for one in attributes]


def _shape(one: Any) -> list[int]:
    return [int(extent) for extent in tvm_api.type_of(one).shape.values]


def _binary(row: str) -> Model:
    return called(row, floats(3, 4), floats(3, 4, low=0.5))


def _unary(row: str, **attributes: Any) -> Model:
    return called(row, floats(3, 4), **attributes)


F32 = "float32"
SQUARE = floats(4, 4)
POOL = {
    "pool_size": (3, 3), "strides": (1, 1), "padding": (1, 1, 1, 1), "dilation": (1, 1), "ceil_mode": False,
    "count_include_pad": True, "layout": "NCHW",
}  # fmt: skip
WINDOW = {"strides": (1, 1), "dilation": (1, 1), "groups": 1, "data_layout": "NCHW", "kernel_layout": "OIHW"}
CONVOLVED = called("nn.conv2d", floats(1, 2, 5, 5), floats(3, 2, 3, 3), padding=(1, 0, 0, 1), **WINDOW)
NORMAL = {"axes": (-1,), "epsilon": 0.001, "center": True, "scale": True}
CLIPPED = called("clip", floats(3, 4), min=-2, max=1)


def _index(shape: tuple[int, ...], most: int) -> Origin:
    return Origin(TensorType(shape, "int64"), "input", 0, most)


def _split() -> Model:
    draft = Drafted(floats(4, 6))
    made = draft.call("split", 0, indices_or_sections=2, axis=1)
    return draft.model(draft.call("subtract", made, made + 1))


def _twice(row: str) -> Model:
    """Calls of one operator on two inputs."""
    draft = Drafted(floats(3, 4), floats(3, 4, seed=1), floats(3, 4, seed=2))
    one = draft.call(row, 0, 1)
    return draft.model(draft.call("subtract", one, draft.call(row, 0, 2)))


def _alone(shape: list[int], size: float) -> Any:
    return R.full(shape, relax.const(size, F32), F32)


def _first_row(x: Any) -> Any:
    return R.strided_slice(x, axes=[0], begin=[0], end=[1])


MISCOMPILES: Mapping[str, Planted] = {
    "operands-swapped": Planted("subtract", _binary("subtract"), lambda x, y, **_: R.subtract(y, x)),
    "quotient-reversed": Planted("divide", called("divide", floats(3, 4, low=0.5), floats(3, 4, low=0.5)),
                                 lambda x, y, **_: R.divide(y, x)),
    "node-dropped": Planted("nn.relu", _unary("nn.relu"), lambda x, **_: x),
    "sign-dropped": Planted("negative", _unary("sin"), lambda x, **_: x),
    "transposition-dropped": Planted("permute_dims", called("permute_dims", SQUARE, axes=(1, 0)), lambda x, **_: x),
    "broadcast-forgotten": Planted(
        "add", called("add", floats(3, 4), floats(3, 1)),
        lambda x, y, emit, **_: R.add(x, emit(_first_row(y))) if _shape(y) == [3, 1] else None,
    ),
    "axis-off-by-one": Planted(
        "sum", called("sum", SQUARE, axis=(0,), keepdims=False),
        lambda x, attrs, **_: R.sum(x, axis=[(one + 1) % 2 for one in _numbers(attrs.axis)]),
    ),
    "limit-lost": Planted("clip", CLIPPED, lambda x, *_, emit, **__: R.maximum(x, emit(_alone([3, 4], -2.0)))),
    "padding-counted-otherwise": Planted(
        "nn.avg_pool2d", called("nn.avg_pool2d", floats(1, 2, 5, 5), **POOL),
        lambda x, **_: R.nn.avg_pool2d(x, (3, 3), (1, 1), (1, 1, 1, 1), count_include_pad=False),
    ),
    "pieces-joined-backwards": Planted(
        "concat", called("concat", floats(2, 3), floats(2, 3), axis=0),
        lambda parts, **_: R.concat([parts[1], parts[0]], axis=0),
    ),
    "pieces-split-otherwise": Planted(
        "split", _split(), lambda x, emit, **_: R.split(emit(R.flip(x, axis=1)), 2, axis=1)
    ),
    "branches-swapped": Planted(
        "where", called("where", Origin(TensorType((3, 4), "bool")), floats(3, 4), floats(3, 4)),
        lambda c, x, y, **_: R.where(c, y, x),
    ),
    "comparison-off-by-one": Planted(
        "less", called("less", floats(3, 4), floats(3, 1)), lambda x, y, **_: R.greater_equal(x, y)
    ),
    "product-transposed": Planted(
        "matmul", called("matmul", SQUARE, SQUARE), lambda x, y, emit, **_: R.matmul(emit(R.permute_dims(x)), y)
    ),
    "softmax-along-another-axis": Planted(
        "nn.softmax", called("nn.softmax", SQUARE, axis=1), lambda x, **_: R.nn.softmax(x, axis=0)
    ),
    "epsilon-lost": Planted(
        "nn.layer_norm", called("nn.layer_norm", floats(3, 4, low=-0.05, high=0.05), floats(4), floats(4), **NORMAL),
        lambda x, g, b, **_: R.nn.layer_norm(x, g, b, axes=[-1], epsilon=1e-5),
    ),
    "greatest-for-least": Planted("maximum", _binary("maximum"), lambda x, y, **_: R.minimum(x, y)),
    "folded-wrongly": Planted(
        "multiply", called("multiply", floats(3, 4), floats(3, 4, kind="constant")),
        lambda x, y, **_: R.multiply(x, relax.const(y.value.numpy().astype("float16").astype("float32"), F32)),
    ),
    "taken-for-a-common-subexpression": Planted("maximum", _twice("maximum"), lambda x, y, **_: x),
    "cast-through-whole-numbers": Planted(
        "astype", called("astype", floats(3, 4), dtype="float64"),
        lambda x, emit, **_: R.astype(emit(R.astype(x, "int32")), "float64"),
    ),
    "mean-for-sum": Planted(
        "sum", called("sum", floats(3, 4), axis=(1,), keepdims=False), lambda x, **_: R.mean(x, axis=[1])
    ),
    "slope-lost": Planted("nn.leakyrelu", _unary("nn.leakyrelu", alpha=0.2), lambda x, **_: R.nn.relu(x)),
    "padding-on-the-other-side": Planted(
        "nn.conv2d", CONVOLVED, lambda x, w, **_: R.nn.conv2d(x, w, padding=(0, 1, 1, 0)),
    ),
    "scan-takes-itself-in": Planted(
        "cumsum", called("cumsum", floats(3, 4), axis=1, exclusive=True), lambda x, **_: R.cumsum(x, axis=1)
    ),
    "rounded-to-the-other-side": Planted("floor", _unary("floor"), lambda x, **_: R.trunc(x)),
    "index-off-by-one": Planted(
        "take", called("take", floats(5, 3), _index((4,), 3), axis=0, mode="fast"),
        lambda x, i, emit, **_: R.take(x, emit(R.add(i, relax.const(1, "int64"))), axis=0),
    ),
    "halved": Planted("tanh", _unary("tanh"), lambda x, emit, **_: R.multiply(emit(R.tanh(x)), relax.const(0.5, F32))),
    "precision-lost": Planted(
        "exp", called("exp", floats(3, 4, low=-1, high=1)),
        lambda x, emit, **_: R.astype(emit(R.exp(emit(R.astype(x, "float16")))), F32),
    ),
    "taken-for-a-reshape": Planted(
        "call_tir", called("call_tir:reshaped", floats(3, 4), shape=(4, 3), columns=True),
        lambda kernel, taken, **_: R.reshape(taken[0], (4, 3)),
    ),
    "taken-for-elementwise": Planted(
        "call_tir", called("call_tir:mirrored_sum", floats(3, 4), axis=0),
        lambda kernel, taken, **_: R.add(taken[0], taken[0]),
    ),
}  # fmt: skip
"""Passes that change what a model computes."""


def _chain_of_pairs() -> Model:
    """Two results that are both needed at one time."""
    draft = Drafted(floats(3, 4, low=-1, high=1))
    one, other = draft.call("exp", 0), draft.call("cos", 0)
    return draft.model(draft.call("negative", draft.call("subtract", one, other)))


def _legal(rewrite: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A legalisation of a call of one input, by TOPI."""
    return lambda builder, call: builder.call_te(rewrite, call.args[0])


topi: Any = tvm_api.tvm.topi

LEGALISATIONS: Mapping[str, tuple[Model, Callable[[Any, Any], Any]]] = {
    "tanh": (_unary("tanh"), _legal(topi.sin)),
    "floor": (_unary("floor"), _legal(topi.ceil)),
    "nn.relu": (_unary("nn.relu"), _legal(topi.abs)),
    "permute_dims": (called("permute_dims", SQUARE, axes=(1, 0)), _legal(topi.identity)),
}
"""What is lowered wrongly in all builds, by operator."""

OVERLAPPING = _chain_of_pairs()


def _sigmoid(x: Any, emit: Callable[[Any], Any], **_: Any) -> Any:
    half = relax.const(0.5, F32)
    return R.multiply(emit(R.add(emit(R.tanh(emit(R.multiply(x, half)))), relax.const(1.0, F32))), half)


def _softmax(x: Any, emit: Callable[[Any], Any], **_: Any) -> Any:
    powers = emit(R.exp(emit(R.subtract(x, emit(R.max(x, axis=[1], keepdims=True))))))
    return R.divide(powers, emit(R.sum(powers, axis=[1], keepdims=True)))


def _variance(x: Any, emit: Callable[[Any], Any], **_: Any) -> Any:
    mean = emit(R.mean(x, axis=[1]))
    return R.subtract(emit(R.mean(emit(R.multiply(x, x)), axis=[1])), emit(R.multiply(mean, mean)))


def _normal(x: Any, g: Any, b: Any, emit: Callable[[Any], Any], **_: Any) -> Any:
    around = emit(R.subtract(x, emit(R.mean(x, axis=[1], keepdims=True))))
    spread = emit(R.mean(emit(R.multiply(around, around)), axis=[1], keepdims=True))
    share = emit(R.rsqrt(emit(R.add(spread, relax.const(0.001, F32)))))
    return R.add(emit(R.multiply(emit(R.multiply(around, share)), g)), b)


def _regrouped(x: Any, y: Any, emit: Callable[[Any], Any], **_: Any) -> Any:
    """(x + y) as x / 3 + y + 2 x / 3."""
    one, two = (emit(R.multiply(x, relax.const(share / 3, F32))) for share in (1.0, 2.0))
    return R.add(one, emit(R.add(y, two)))


HARMLESS: Mapping[str, Planted] = {
    "sum-commuted": Planted("add", _binary("add"), lambda x, y, **_: R.add(y, x)),
    "product-commuted": Planted("multiply", _binary("multiply"), lambda x, y, **_: R.multiply(y, x)),
    "sum-regrouped": Planted("add", _binary("add"), _regrouped),
    "difference-as-sum": Planted(
        "subtract", _binary("subtract"), lambda x, y, emit, **_: R.add(x, emit(R.negative(y)))
    ),
    "quotient-as-product": Planted(
        "divide", _binary("divide"),
        lambda x, y, emit, **_: R.multiply(x, emit(R.divide(emit(_alone([3, 4], 1.0)), y))),
    ),
    "negated-twice": Planted("sin", _unary("sin"), lambda x, emit, **_: R.negative(emit(R.sin(emit(R.negative(x)))))),
    "transposed-twice": Planted(
        "exp", called("exp", floats(3, 4, low=-1, high=1)),
        lambda x, emit, **_: R.permute_dims(emit(R.exp(emit(R.permute_dims(x))))),
    ),
    "flattened-and-back": Planted(
        "tanh", _unary("tanh"), lambda x, emit, **_: R.reshape(emit(R.tanh(emit(R.flatten(x)))), (3, 4))
    ),
    "relu-as-maximum": Planted("nn.relu", _unary("nn.relu"), lambda x, **_: R.maximum(x, relax.const(0.0, F32))),
    "square-as-product": Planted("square", _unary("square"), lambda x, **_: R.multiply(x, x)),
    "sum-one-axis-after-the-other": Planted(
        "sum", called("sum", floats(3, 4, 5), axis=(0, 2), keepdims=False),
        lambda x, emit, **_: R.sum(emit(R.sum(x, axis=[2])), axis=[0]),
    ),
    "mean-as-sum": Planted(
        "mean", called("mean", floats(3, 4), axis=(1,), keepdims=False),
        lambda x, emit, **_: R.multiply(emit(R.sum(x, axis=[1])), relax.const(0.25, F32)),
    ),
    "product-of-the-transposed": Planted(
        "matmul", called("matmul", floats(3, 4), floats(4, 5)),
        lambda x, y, emit, **_: R.permute_dims(emit(R.matmul(emit(R.permute_dims(y)), emit(R.permute_dims(x))))),
    ),
    "softmax-by-its-definition": Planted("nn.softmax", _unary("nn.softmax", axis=1), _softmax),
    "sigmoid-by-tanh": Planted("sigmoid", _unary("sigmoid"), _sigmoid),
    "variance-by-squares": Planted(
        "variance", called("variance", floats(3, 8), axis=(1,), keepdims=False), _variance
    ),
    "normalised-by-hand": Planted(
        "nn.layer_norm", called("nn.layer_norm", floats(3, 4), floats(4), floats(4), **NORMAL), _normal
    ),
    "through-float64": Planted(
        "cos", _unary("cos"), lambda x, emit, **_: R.astype(emit(R.cos(emit(R.astype(x, "float64")))), F32)
    ),
    "clip-by-two": Planted(
        "clip", CLIPPED,
        lambda x, *_, emit, **__: R.minimum(emit(R.maximum(x, relax.const(-2.0, F32))), relax.const(1.0, F32)),
    ),
    "leaky-by-a-choice": Planted(
        "nn.leakyrelu", _unary("nn.leakyrelu", alpha=0.2),
        lambda x, emit, **_: R.where(emit(R.greater(x, relax.const(0.0, F32))), x,
                                     emit(R.multiply(x, relax.const(0.2, F32)))),
    ),
    "split-and-joined": Planted(
        "sqrt", called("sqrt", floats(4, 4, low=-4, high=-0.5)),
        lambda x, emit, **_: R.concat(
            [emit(R.sqrt(emit(R.strided_slice(x, [0], [at], [at + 2])))) for at in (0, 2)], 0
        ),
    ),
    "kernel-as-operators": Planted(
        "call_tir", called("call_tir:mirrored_sum", floats(3, 4), axis=0),
        lambda kernel, taken, emit, **_: R.add(taken[0], emit(R.flip(taken[0], axis=0))),
    ),
}  # fmt: skip
"""Passes that do not."""


def _summed(row: str, *sources: Origin, **attributes: Any) -> Model:
    """A weighted sum of the results of a call, behind a call that is none of theirs."""
    draft = Drafted(*sources)
    found = draft.call(row, *(draft.call("sin", number) for number in range(len(sources))), **attributes)
    return with_loss(draft.model(found), [found])


def _rule(*partials: Callable[[Any, Any, Any], Any]) -> Callable[..., list[Any]]:
    """A rule for gradients: what each input gets, by the result, the inputs and the gradient by the result."""
    return lambda out, call, grad, builder: [partial(out, call.args, grad) for partial in partials]


NOTHING, WHOLE, HALF = (relax.const(one, F32) for one in (0.0, 1.0, 0.5))

GRADIENTS: Mapping[str, tuple[str, Model, Callable[..., list[Any]]]] = {
    "sign-lost": ("cos", _summed("cos", floats(3, 4)), _rule(lambda out, given, grad: R.sin(given[0]) * grad)),
    "inputs-swapped": (
        "multiply", _summed("multiply", floats(3, 4), floats(3, 4)),
        _rule(lambda out, given, grad: grad * given[0], lambda out, given, grad: grad * given[1]),
    ),
    "mask-forgotten": ("nn.relu", _summed("nn.relu", floats(3, 4)), _rule(lambda out, given, grad: grad)),
    "inner-sum-forgotten": (
        "nn.softmax", _summed("nn.softmax", floats(3, 4), axis=1), _rule(lambda out, given, grad: grad * out)
    ),
    "not-divided": (
        "mean", _summed("mean", floats(3, 4), axis=(1,), keepdims=True),
        _rule(lambda out, given, grad: R.broadcast_to(grad, (3, 4))),
    ),
    "transposition-forgotten": (
        "matmul", _summed("matmul", SQUARE, SQUARE),
        _rule(lambda out, given, grad: R.matmul(grad, given[1]), lambda out, given, grad: R.matmul(given[0], grad)),
    ),
    "half-off": (
        "tanh", _summed("tanh", floats(3, 4)),
        _rule(lambda out, given, grad: grad * (WHOLE - out * HALF * out)),
    ),
}  # fmt: skip
"""Rules for gradients that are wrong, by operator."""

HARMLESS_GRADIENTS: Mapping[str, tuple[str, Model, Callable[..., list[Any]]]] = {
    "by-the-result": ("exp", _summed("exp", floats(3, 4)), _rule(lambda out, given, grad: R.exp(given[0]) * grad)),
    "either-at-an-edge": (
        "nn.relu", _summed("nn.relu", floats(3, 4, low=0, high=0)),
        _rule(lambda out, given, grad: R.where(R.less_equal(given[0], NOTHING), NOTHING, grad)),
    ),
    "by-another-formula": (
        "tanh", _summed("tanh", floats(3, 4)),
        _rule(lambda out, given, grad: grad * (WHOLE - out) * (WHOLE + out)),
    ),
}  # fmt: skip
"""Rules that are as right as TVM's, one of them where both sides of an edge are."""
