"""Values of input tensors."""

from __future__ import annotations

from random import Random

import ml_dtypes
import numpy as np

from tzerlike.core.dtypes import parse
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Origin


def numpy_dtype(dtype: str) -> np.dtype[np.generic]:
    return np.dtype(getattr(ml_dtypes, dtype)) if dtype == "bfloat16" else np.dtype(dtype)


def drawn_values(origin: Origin, seed: int) -> Array:
    """Draw the elements of a tensor between the limits of its origin, and those of its dtype."""
    rng = np.random.default_rng(Random(f"{origin.seed} {seed}").getrandbits(64))
    shape = origin.type.shape
    if origin.type.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if (ends := whole_range(origin)) is not None:
        return rng.integers(*ends, shape, endpoint=True).astype(numpy_dtype(origin.type.dtype))
    return np.asarray(rng.uniform(origin.low, origin.high, shape)).astype(numpy_dtype(origin.type.dtype))


def whole_range(origin: Origin) -> tuple[int, int] | None:
    """The least and the greatest element of a tensor of whole numbers; None for one of others."""
    kind, low, high = parse(origin.type.dtype), int(np.ceil(origin.low)), int(np.floor(origin.high))
    if kind is not None and kind.is_int:
        return max(low, kind.low), min(high, kind.high)
    return (low, high) if origin.whole else None
