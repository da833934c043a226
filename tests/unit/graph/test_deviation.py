"""How far off a normalisation may be: as far as the quick way to a variance is, and not much further."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tzerlike.graph.answer import answers, differs
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.meaning.quantization import quantize
from tzerlike.graph.model import TensorType
from tzerlike.graph.solve import recognise
from tzerlike.graph.spec import ROWS

GROUPS = {"num_groups": 3, "channel_axis": 1, "axes": (2,), "epsilon": 1e-05, "center": True, "scale": True}


def _quick(x: Array, gamma: Array, beta: Array, epsilon: float) -> Array:
    """In float32, with the variance as the mean of squares less the square of the mean."""
    one = np.float32(x.shape[2])
    mean = x.sum(axis=2, keepdims=True, dtype=np.float32) / one
    variance = (x * x).sum(axis=2, keepdims=True, dtype=np.float32) / one - mean * mean
    spread = np.sqrt(variance + np.float32(epsilon))
    return np.asarray((x - mean) / spread * gamma.reshape(-1, 1) + beta.reshape(-1, 1))


def _beyond(x: Array, built: Array) -> bool:
    row, gamma = ROWS["nn.group_norm"], np.ones(3, np.float32)
    kinds = [TensorType(x.shape, "float32"), *[TensorType((3,), "float32")] * 2]
    known = recognise(row, kinds, GROUPS)
    assert known is not None
    ((value, bound),) = answers(row, known, [x, gamma, gamma], GROUPS, kinds[:1])
    return differs(value, bound, built)


@pytest.mark.parametrize("apart", [1e-4, 1e-3, 1e-2, 1.0])
def test_values_that_are_close_together_may_be_off_by_more(apart: float) -> None:
    rng, gamma = np.random.default_rng(0), np.ones(3, np.float32)
    for _ in range(200):
        x = (rng.uniform(-4, 4, (1, 3, 1)) + apart * rng.uniform(-1, 1, (1, 3, 2))).astype(np.float32)
        with np.errstate(all="ignore"):
            assert not _beyond(x, _quick(x, gamma, gamma, 1e-05)), x


def test_an_epsilon_that_is_forgotten_is_seen() -> None:
    x = np.random.default_rng(1).uniform(-0.05, 0.05, (1, 3, 6)).astype(np.float32)
    gamma = np.ones(3, np.float32)
    assert [_beyond(x, _quick(x, gamma, gamma, epsilon)) for epsilon in (1e-05, 0.0)] == [False, True]


@pytest.mark.parametrize("name", ["std", "variance"])
def test_equal_values_may_have_a_variance_of_rounding_errors(name: str) -> None:
    x, attributes = np.full((2, 3), 0.1, np.float32), {"axis": (1,), "keepdims": False}
    row, kind = ROWS[name], TensorType((2, 3), "float32")
    known: Any = recognise(row, [kind], attributes)
    ((value, bound),) = answers(row, known, [x], attributes, [TensorType((2,), "float32")])
    off = np.full(2, 1e-8, np.float32) if name == "std" else np.full(2, 1e-16, np.float32)
    assert not differs(value, bound, off)
    assert differs(value, bound, np.full(2, 0.1, np.float32))


def _off(name: str, attributes: dict[str, Any], built: Array, *inputs: Array) -> bool:
    kinds = [TensorType(one.shape, str(one.dtype)) for one in inputs]
    known = recognise(ROWS[name], kinds, attributes)
    assert known is not None
    ((value, bound),) = answers(ROWS[name], known, inputs, attributes, kinds[:1])
    return differs(value, bound, built)


def test_a_remainder_is_off_by_roundings_of_the_dividend() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1000, 1000, 500).astype(np.float32)
    y = rng.uniform(0.1, 3, 500).astype(np.float32)
    assert not _off("floor_mod", {}, x - np.floor(x / y) * y, x, y)
    assert _off("floor_mod", {}, x - np.floor(x / y) * y + np.float32(0.01), x, y)
    whole = np.array([9, -9], np.int32)
    assert not _off("floor_mod", {}, np.array([1, 3], np.int32), whole, np.array([4, 4], np.int32))


def test_a_quotient_that_is_nearly_whole_may_be_the_next() -> None:
    x, y = np.array([0.3, 0.7], np.float32), np.array([0.1, 0.4], np.float32)
    assert not _off("floor_divide", {}, np.array([2, 1], np.float32), x, y)
    assert not _off("floor_divide", {}, np.array([3, 1], np.float32), x, y)
    assert _off("floor_divide", {}, np.array([3, 2], np.float32), x, y)


def test_a_logarithm_of_softmax_is_off_by_roundings_of_the_greatest() -> None:
    x = np.random.default_rng(0).uniform(-1000, 1000, (50, 8)).astype(np.float32)
    shifted = x - x.max(axis=1, keepdims=True)
    found = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True, dtype=np.float32))
    assert not _off("nn.log_softmax", {"axis": 1}, found, x)
    assert _off("nn.log_softmax", {"axis": 1}, found + np.float32(0.1), x)


def _bound(name: str, inputs: list[Array], kind: TensorType, **attributes: Any) -> Array:
    row, kinds = ROWS[name], [TensorType(one.shape, str(one.dtype)) for one in inputs]
    known = recognise(row, kinds, attributes)
    assert known is not None
    with np.errstate(all="ignore"):
        return answers(row, known, inputs, attributes, [kind])[0][1]


@pytest.mark.parametrize("size, counts", [(1.0, True), (1e6, False)])
def test_weights_of_attention_are_off_by_roundings_of_large_scores(size: float, counts: bool) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.uniform(-1, 1, (1, 3, 2, 4)).astype(np.float32) for _ in range(3))
    bias = (size + rng.uniform(-1, 1, (1, 2, 3, 3))).astype(np.float32)
    bound = _bound("nn.attention_bias", [q, k, v, bias], TensorType((1, 3, 2, 4), "float32"), causal_mask=None)
    assert (bound.max() < 1e-2) == counts


@pytest.mark.parametrize("name", ["prod", "cumprod"])
@pytest.mark.parametrize("factors, counts", [((200.0, 300.0, 0.5, 1e-3), True), ((200.0, 400.0, 0.01), False)])
def test_a_product_does_not_count_of_which_a_part_overflows(
    name: str, factors: tuple[float, ...], counts: bool
) -> None:
    x = np.array(factors, np.float16)
    given = {"axis": (0,), "keepdims": False} if name == "prod" else {"axis": 0, "exclusive": False}
    kind = TensorType(() if name == "prod" else x.shape, "float16")
    assert bool(np.all(np.isfinite(_bound(name, [x], kind, **given)))) == counts


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("size, counts", [(1000.0, True), (40000.0, False)])
def test_a_sum_does_not_count_that_may_overflow_on_the_way(name: str, size: float, counts: bool) -> None:
    x = np.array([size, size, -size, -size], np.float16)
    bound = _bound(name, [x], TensorType((), "float16"), axis=(0,), keepdims=False)
    assert bool(np.isfinite(bound)) == counts


def test_halves_are_quantized_as_in_float32() -> None:
    x, scale = np.float32([-1.5340784788131714]), np.float32([0.278923362493515])
    found = quantize(x.astype(np.float64), scale.astype(np.float64), np.int8([0]), "int8", 0)
    assert found == np.rint(x / scale)


@pytest.mark.parametrize("apart, most", [(1.0, 1e-3), (1e5, 10.0)])
def test_between_pixels_a_place_is_off_by_roundings(apart: float, most: float) -> None:
    """The bound grows with the pixels, also where they nearly cancel."""
    x = np.array([apart, -apart], np.float32).reshape(1, 1, 1, 2)
    grid = np.zeros((1, 2, 1, 1), np.float32)
    kind = TensorType((1, 1, 1, 1), "float32")
    given = {"method": "bilinear", "layout": "NCHW", "padding_mode": "zeros", "align_corners": True}
    bound = float(_bound("image.grid_sample", [x, grid], kind, **given).max())
    assert apart * 1e-7 < bound < most


def test_a_large_quotient_of_float16_is_rounded_before_it_is_a_whole_number() -> None:
    x, y = np.float16([2604]), np.float16([0.1085])
    bound = _bound("floor_divide", [x, y], TensorType((1,), "float16"))
    exact = np.floor(x.astype(np.float64) / y.astype(np.float64))
    assert 1 < abs(float(np.floor(x / y)[0]) - exact[0]) <= bound[0]
