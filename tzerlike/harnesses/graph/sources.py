"""Source that makes the values of what comes into a model."""

from __future__ import annotations

import base64
import zlib
from random import Random

import numpy as np

from tzerlike.core.case import Case
from tzerlike.core.dtypes import parse
from tzerlike.findings.issue.literal import array_source, number_source
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin
from tzerlike.graph.reference import source_values
from tzerlike.graph.spec import ROWS
from tzerlike.graph.values import drawn_values

_INLINE = 64
"""Elements that are listed; more are packed."""


def sources_source(model: Model, case: Case) -> list[str]:
    """Return for each source of a model an expression that makes its values: drawn again where they are.

    `np` is in scope, `base64` and `zlib`, and `ml_dtypes` where a dtype is bfloat16.
    """
    values = source_values(model, ROWS, case.input_seed)
    return [_source(one, value, case) for one, value in zip(model.sources, values, strict=True)]


def packed_bytes(values: Array) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 9)).decode()


def _source(origin: Origin, values: Array, case: Case) -> str:
    if np.array_equal(values, drawn_values(origin, case.input_seed)):
        return _drawn(origin, case)
    dtype = _dtype(origin)
    if values.size <= _INLINE:
        return array_source(values, dtype)
    held = f'zlib.decompress(base64.b64decode("{packed_bytes(values)}"))'
    return f"np.frombuffer({held}, {dtype}).reshape({tuple(origin.type.shape)}).copy()"


def _drawn(origin: Origin, case: Case) -> str:
    seed = Random(f"{origin.seed} {case.input_seed}").getrandbits(64)
    low, high, kind = origin.low, origin.high, parse(origin.type.dtype)
    shape = tuple(origin.type.shape)
    if origin.type.dtype == "bool":
        drawn = f"integers(0, 2, {shape})"
    elif kind is not None and kind.is_int:
        low, high = max(int(np.ceil(low)), kind.low), min(int(np.floor(high)), kind.high)
        drawn = f"integers({low}, {high}, {shape}, endpoint=True)"
    else:
        drawn = f"uniform({number_source(low)}, {number_source(high)}, {shape})"
    values = f"np.random.default_rng({seed}).{drawn}"
    return f"{values if shape else f'np.asarray({values})'}.astype({_dtype(origin)})"


def _dtype(origin: Origin) -> str:
    return {"bool": "bool", "bfloat16": "ml_dtypes.bfloat16"}.get(origin.type.dtype, f'"{origin.type.dtype}"')
