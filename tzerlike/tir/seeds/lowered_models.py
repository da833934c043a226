"""Small models in Relax, whose lowering and fusion give the functions of real networks at toy size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tzerlike.tir.seeds.operators import Operator, t


def models(relax: Any) -> Iterator[Operator]:
    """Yield every model: a composition of operators, named without its input types."""

    def model(name: str, apply: Callable[..., Any], *inputs: str) -> Operator:
        return Operator(f"relax.model_{name}", apply, tuple(map(t, inputs)))

    r, nn = relax.op, relax.op.nn

    def constant(value: float, dtype: str = "float32") -> Any:
        return relax.const(value, dtype)

    def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        return r.add(r.matmul(nn.relu(r.add(r.matmul(x, w1), b1)), w2), b2)

    yield model("mlp", mlp, "f32:2,6", "f32:6,5", "f32:5", "f32:5,3", "f32:3")
    yield model("mlp_dynamic", mlp, "f32:n,6", "f32:6,5", "f32:5", "f32:5,3", "f32:3")
    yield model("mlp_half", mlp, "f16:2,4", "f16:4,4", "f16:4", "f16:4,2", "f16:2")
    yield model(
        "mlp_gelu",
        lambda x, w1, b1, w2: nn.softmax(r.matmul(nn.gelu(r.add(r.matmul(x, w1), b1)), w2)),
        "f32:2,4",
        "f32:4,8",
        "f32:8",
        "f32:8,3",
    )
    yield model(
        "mlp_gated",
        lambda x, w1, w2, w3: r.matmul(r.multiply(nn.silu(r.matmul(x, w1)), r.matmul(x, w2)), w3),
        "f32:n,4",
        "f32:4,6",
        "f32:4,6",
        "f32:6,4",
    )

    def convnet(x: Any, w1: Any, b1: Any, w2: Any, dense: Any) -> Any:
        hidden = nn.relu(r.add(nn.conv2d(x, w1, padding=1), r.reshape(b1, (1, 2, 1, 1))))
        hidden = nn.max_pool2d(hidden, (2, 2), (2, 2))
        hidden = r.tanh(nn.conv2d(hidden, w2))
        return r.matmul(nn.batch_flatten(hidden), dense)

    yield model("convnet", convnet, "f32:1,1,6,6", "f32:2,1,3,3", "f32:2", "f32:2,2,2,2", "f32:8,3")

    def residual(x: Any, w1: Any, w2: Any, scale: Any, shift: Any) -> Any:
        hidden = nn.relu(r.add(r.multiply(nn.conv2d(x, w1, padding=1), scale), shift))
        return nn.relu(r.add(x, nn.conv2d(hidden, w2, padding=1)))

    yield model("residual", residual, "f32:1,1,4,4", "f32:1,1,3,3", "f32:1,1,3,3", "f32:1,1,1", "f32:1,1,1")
    yield model(
        "depthwise_separable",
        lambda x, d, p: nn.relu6(nn.conv2d(nn.relu6(nn.conv2d(x, d, groups=3, padding=1)), p)),
        "f32:1,3,4,4",
        "f32:3,1,3,3",
        "f32:2,3,1,1",
    )
    yield model(
        "squeeze_excite",
        lambda x, w1, w2: r.multiply(
            x,
            r.reshape(
                r.sigmoid(r.matmul(nn.relu(r.matmul(r.mean(x, [2, 3]), w1)), w2)),
                (1, 4, 1, 1),
            ),
        ),
        "f32:1,4,3,3",
        "f32:4,2",
        "f32:2,4",
    )
    yield model(
        "conv1d_net",
        lambda x, w: r.mean(nn.gelu(nn.conv1d(x, w, padding=1, strides=2)), axis=[2]),
        "f32:n,2,8",
        "f32:3,2,3",
    )

    def attention(x: Any, wq: Any, wk: Any, wv: Any) -> Any:
        q, k, v = r.matmul(x, wq), r.matmul(x, wk), r.matmul(x, wv)
        scores = r.multiply(r.matmul(q, r.permute_dims(k, [0, 2, 1])), constant(0.5))
        return r.matmul(nn.softmax(scores), v)

    yield model("attention", attention, "f32:1,3,4", "f32:4,4", "f32:4,4", "f32:4,4")
    yield model("attention_dynamic", attention, "f32:1,n,4", "f32:4,4", "f32:4,4", "f32:4,4")

    def masked_attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = r.matmul(q, r.permute_dims(k, [0, 1, 3, 2]))
        return r.matmul(nn.softmax(r.where(mask, scores, constant(-1e9))), v)

    yield model("masked_attention", masked_attention, "f32:1,2,3,4", "f32:1,2,3,4", "f32:1,2,3,4", "b:3,3")

    def transformer(x: Any, g1: Any, b1: Any, wq: Any, wo: Any, g2: Any, w1: Any, w2: Any) -> Any:
        normal = nn.layer_norm(x, g1, b1, axes=[-1])
        q = r.reshape(r.matmul(normal, wq), (3, 2, 2))
        heads = r.permute_dims(q, [1, 0, 2])
        weights = nn.softmax(r.matmul(heads, r.permute_dims(heads, [0, 2, 1])))
        mixed = r.reshape(r.permute_dims(r.matmul(weights, heads), [1, 0, 2]), (3, 4))
        x = r.add(x, r.matmul(mixed, wo))
        return r.add(x, r.matmul(nn.silu(r.matmul(nn.rms_norm(x, g2, axes=[-1]), w1)), w2))

    yield model(
        "transformer",
        transformer,
        "f32:3,4",
        "f32:4",
        "f32:4",
        "f32:4,4",
        "f32:4,4",
        "f32:4",
        "f32:4,6",
        "f32:6,4",
    )

    def lstm(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
        gates = r.split(r.add(r.add(r.matmul(x, w), r.matmul(h, u)), b), 4, axis=1)
        keep, let, new, out = (gates[index] for index in range(4))
        cell = r.add(r.multiply(r.sigmoid(keep), c), r.multiply(r.sigmoid(let), r.tanh(new)))
        return relax.Tuple([r.multiply(r.sigmoid(out), r.tanh(cell)), cell])

    yield model("lstm_cell", lstm, "f32:2,3", "f32:2,4", "f32:2,4", "f32:3,16", "f32:4,16", "f32:16")

    def gru(x: Any, h: Any, wz: Any, uz: Any, wn: Any, un: Any) -> Any:
        z = r.sigmoid(r.add(r.matmul(x, wz), r.matmul(h, uz)))
        n = r.tanh(r.add(r.matmul(x, wn), r.multiply(z, r.matmul(h, un))))
        return r.add(r.multiply(r.subtract(constant(1.0), z), n), r.multiply(z, h))

    yield model("gru_cell", gru, "f32:2,3", "f32:2,4", "f32:3,4", "f32:4,4", "f32:3,4", "f32:4,4")
    yield model(
        "embedding_bag",
        lambda i, table, w: r.matmul(r.mean(r.take(table, i, axis=0), axis=[0], keepdims=True), w),
        "i64:5",
        "f32:7,4",
        "f32:4,3",
    )
    yield model(
        "rotary",
        lambda x, c, s: r.add(
            r.multiply(x, c),
            r.multiply(
                r.concat(
                    (
                        r.negative(r.strided_slice(x, [1], [2], [4])),
                        r.strided_slice(x, [1], [0], [2]),
                    ),
                    axis=1,
                ),
                s,
            ),
        ),
        "f32:3,4",
        "f32:3,4",
        "f32:3,4",
    )
    yield model(
        "quantised_dense",
        lambda x, w, s: r.multiply(r.astype(r.matmul(x, w, out_dtype="int32"), "float32"), s),
        "i8:3,8",
        "i8:8,4",
        "f32:4",
    )
    yield model(
        "fake_quantise",
        lambda x: r.multiply(
            r.subtract(r.clip(r.round(r.add(r.divide(x, constant(0.05)), constant(3.0))), -128, 127), constant(3.0)),
            constant(0.05),
        ),
        "f32:3,5",
    )
    yield model(
        "cosine_similarity",
        lambda a, b: r.divide(
            r.sum(r.multiply(a, b), axis=[1]),
            r.sqrt(r.multiply(r.sum(r.multiply(a, a), axis=[1]), r.sum(r.multiply(b, b), axis=[1]))),
        ),
        "f32:3,5",
        "f32:3,5",
    )
    yield model(
        "log_sum_exp",
        lambda x: r.add(
            r.log(r.sum(r.exp(r.subtract(x, r.max(x, axis=[1], keepdims=True))), axis=[1], keepdims=True)),
            r.max(x, axis=[1], keepdims=True),
        ),
        "f32:3,n",
    )
    yield model(
        "huber_loss",
        lambda a, b: r.mean(
            r.where(
                r.less(r.abs(r.subtract(a, b)), constant(1.0)),
                r.multiply(r.multiply(r.subtract(a, b), r.subtract(a, b)), constant(0.5)),
                r.subtract(r.abs(r.subtract(a, b)), constant(0.5)),
            )
        ),
        "f32:3,4",
        "f32:3,4",
    )
    yield model(
        "elementwise_tower",
        lambda a, b: r.sqrt(r.abs(r.sin(r.add(r.multiply(r.exp(r.negative(a)), b), r.floor(r.divide(a, b)))))),
        "f32:n,4",
        "f32:4",
    )
    yield model(
        "integer_tower",
        lambda a, b: r.where(
            r.greater(a, b),
            r.bitwise_xor(r.bitwise_and(a, b), constant(5, "int32")),
            r.floor_mod(a, constant(7, "int32")),
        ),
        "i32:n,3",
        "i32:3",
    )
    yield model(
        "channel_shuffle",
        lambda x: r.reshape(r.permute_dims(r.reshape(x, (1, 2, 3, 4)), [0, 2, 1, 3]), (1, 6, 4)),
        "f32:1,6,4",
    )
    yield model(
        "batch_norm",
        lambda x, g, b, m, v: nn.batch_norm(x, g, b, m, v, axis=1, training=False)[0],
        "f32:2,3,4",
        "f32:3",
        "f32:3",
        "f32:3",
        "f32:3",
    )
    yield model(
        "upsample_conv",
        lambda x, w: nn.conv2d(
            relax.op.image.resize2d(
                x,
                (4, 4),
                method="nearest_neighbor",
                coordinate_transformation_mode="asymmetric",
                rounding_method="floor",
            ),
            w,
            padding=1,
        ),
        "f32:1,1,2,2",
        "f32:2,1,3,3",
    )
