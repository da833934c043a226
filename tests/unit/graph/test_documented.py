"""What TVM documents that it takes, or computes on the way, is meant so here."""

from __future__ import annotations

import numpy as np
import pytest

from tzerlike.graph.meaning import deviation, image, indexing, losses, nn

HALF, SINGLE = 2.0**-10, 2.0**-23


def test_one_size_is_that_of_all_axes() -> None:
    x = np.arange(20.0).reshape(1, 1, 4, 5)
    rest = ("NCHW", "linear", "half_pixel", "")
    assert np.array_equal(image.resize(x, (3,), *rest), image.resize(x, (3, 3), *rest))


def test_elements_are_gathered_as_far_as_the_indices_go() -> None:
    x, indices = np.arange(10).reshape(5, 2), np.array([[4], [0]])
    assert indexing.gather_elements(x, indices, 0).tolist() == [[8], [0]]
    with pytest.raises((IndexError, ValueError)):
        indexing.gather_elements(x, np.zeros((2, 2, 2), int), 0)


@pytest.mark.parametrize(
    ("extent", "size", "stride", "rows"), [(5, 2, 99, 1), (4, 1, 2, 2), (5, 2, 2, 3), (5, 3, 2, 2), (6, 2, 4, 2)]
)
def test_no_window_begins_behind_the_end(extent: int, size: int, stride: int, rows: int) -> None:
    found = nn.max_pool_of_all(np.ones((1, 1, extent, 3)), (size, 1), (stride, 1), (0, 0, 0, 0), True)
    assert found.shape == (1, 1, rows, 3) and np.all(found == 1)


def test_heads_of_a_query_share_those_of_keys_and_values() -> None:
    rng = np.random.default_rng(0)
    query, key, value = (rng.normal(size=(1, 3, heads, 2)) for heads in (4, 2, 2))
    whole = losses.attention(query, np.repeat(key, 2, axis=2), np.repeat(value, 2, axis=2))
    assert np.array_equal(losses.attention(query, key, value), whole)


@pytest.mark.parametrize("size", [1.0, 1e5])
def test_what_overflows_on_the_way_may_be_anything(size: float) -> None:
    x = np.full((1, 1, 4, 4), 8000.0 if size > 1 else 1.0)
    unknown = size > 1
    assert np.all(np.isinf(deviation.window(HALF, x))) == unknown
    assert np.all(np.isinf(deviation.window(HALF, x, pool_size=(3, 3)))) == unknown
    assert np.all(np.isinf(deviation.float_remainder(HALF, np.array([1.0]), np.array([1 / size])))) == unknown
    heads = np.full((1, 2, 1, 8), np.sqrt(size))
    assert np.all(np.isinf(deviation.attention(HALF, heads, heads, heads))) == unknown
    wide = np.full(4, 1e20 if unknown else 1.0)
    assert np.all(np.isinf(deviation.std(SINGLE, wide, 0, False))) == unknown
    assert np.all(np.isinf(deviation.rms_norm(SINGLE, wide, wide, (0,), 1e-5))) == unknown


def test_a_deviation_whose_square_is_too_small_may_be_none() -> None:
    small = np.array([1e-25, -1e-25])
    assert float(deviation.std(SINGLE, small, 0, False)) > float(np.std(small))
