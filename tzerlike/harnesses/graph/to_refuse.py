"""Calls that TVM should refuse: what is wrong with a refusal, and with its absence."""

from __future__ import annotations

from typing import Any

import numpy as np

from tzerlike.core.refused import refusal_in
from tzerlike.graph.calls import shapes_of
from tzerlike.graph.model import Model
from tzerlike.graph.spec import ROWS
from tzerlike.graph.values import drawn_values
from tzerlike.systems import tvm_api

_FOR_USERS = frozenset({"TypeError", "ValueError", "OverflowError", "NotImplementedError"})
"""Exceptions that are refusals by their class."""

_BY_ACCIDENT = frozenset({"AssertionError", "AttributeError", "IndexError", "KeyError", "UnboundLocalError"})
"""Exceptions that say nothing of the call, whatever their words."""


def without_words(message: str) -> str:
    """Return a refusal that does not say what is wrong with the call, "" for one that does."""
    said = refusal_in(message)
    clean = said.error in _FOR_USERS or (said.words and said.error not in _BY_ACCIDENT)
    return "" if clean else message[:400]


def accepted_wrongly(model: Model, module: Any) -> str:
    """Say what is wrong with what type inference gives a call that breaks its row; "" where it can be meant.

    Another dtype than the row has may be meant, as may be what NumPy computes in the same shape.
    """
    (vertex,) = model.vertices
    shapes = shapes_of(module[tvm_api.ENTRY].ret_ty)
    if any(extent is not None and extent < 0 for shape in shapes for extent in shape or ()):
        return f"a negative extent in {shapes}"
    if vertex.broken.endswith("dtype"):
        return ""
    try:
        with np.errstate(all="ignore"):
            found = ROWS[vertex.row].meaning(*[drawn_values(one, 0) for one in model.sources], **vertex.attributes)
    except Exception as error:  # noqa: BLE001 - what NumPy says of a call that has no meaning
        return f"type inference gives {shapes}; NumPy: {type(error).__name__}: {error}"[:400]
    wanted = [np.shape(one) for one in (found if isinstance(found, tuple) else (found,))]
    return f"type inference gives {shapes}, NumPy {wanted}" if None not in shapes and shapes != wanted else ""
