"""Calls that TVM should refuse: what is wrong with a refusal, and with its absence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tzerlike.core.refused import refusal_in
from tzerlike.graph.calls import shapes_of
from tzerlike.graph.model import Model
from tzerlike.graph.spec import ROWS
from tzerlike.graph.values import drawn_values
from tzerlike.oracles.model_refusals import INFERRED, NEGATIVE_EXTENT, names_the_axis
from tzerlike.systems import tvm_api

_FOR_USERS = frozenset({"TypeError", "ValueError", "OverflowError", "NotImplementedError"})
"""Exceptions that are refusals by their class."""

_BY_ACCIDENT = frozenset({"AttributeError", "IndexError", "KeyError", "UnboundLocalError"})
"""Exceptions that say nothing of the call, whatever their words, unless those name an axis."""

_IMPOSSIBLE = re.compile(r"axis \S+ is out of bounds|could not be broadcast")
"""What NumPy says of a call that cannot be meant. Other errors are of the values that were drawn, of lists of other
lengths, which TVM takes for several of one number, or of axes of more than one element to squeeze out, which TVM leaves
there on purpose, as PyTorch does (TVM's pull request 18478)."""

_MEANT = ("dtype", "padding", "pad_width")
"""What may be another than a row has: a padding that is negative leaves out what lies there, as TVM computes it."""

_DOCUMENTED = frozenset({("topk", "attribute k")})
"""What TVM takes by its documentation where NumPy computes another thing: all elements, where `k` is less than 1."""


def without_words(message: str, broken: str, *, late: bool) -> str:
    """Return a refusal that does not say what is wrong with the call, "" for one that does. It is `late` if the type of
    the call was inferred; `broken` is what breaks its row."""
    said = refusal_in(message)
    told = said.words and said.error not in _BY_ACCIDENT
    clean = said.error in _FOR_USERS or told or (not late and names_the_axis(broken, said.words))
    return "" if clean else message[:400]


def accepted_wrongly(model: Model, module: Any) -> str:
    """Say what is wrong with what type inference gives a call that breaks its row; "" where it can be meant.

    What NumPy computes in the same shape may be meant, too.
    """
    (vertex,) = model.vertices
    shapes = shapes_of(module[tvm_api.ENTRY].ret_ty)
    if any(extent is not None and extent < 0 for shape in shapes for extent in shape or ()):
        return f"{NEGATIVE_EXTENT}{_shapes(shapes)}"
    if vertex.broken.endswith(_MEANT) or (vertex.operator, vertex.broken) in _DOCUMENTED:
        return ""
    try:
        with np.errstate(all="ignore"):
            found = ROWS[vertex.row].meaning(*[drawn_values(one, 0) for one in model.sources], **vertex.attributes)
    except ValueError as error:
        said = f"{INFERRED} {_shapes(shapes)}; a reference in NumPy raises {type(error).__name__}: {error}"[:400]
        return said if _IMPOSSIBLE.search(str(error)) else ""
    except Exception:  # noqa: BLE001 - what depends on the values that were drawn, or on how the meaning is written
        return ""
    wanted = [np.shape(one) for one in (found if isinstance(found, tuple) else (found,))]
    if None in shapes or shapes == wanted:
        return ""
    return f"{INFERRED} {_shapes(shapes)}, a reference in NumPy {_shapes(wanted)}"


def _shapes(shapes: Sequence[object]) -> str:
    return ", ".join(map(str, shapes))
