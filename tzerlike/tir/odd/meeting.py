"""Whether two stores with differently written indices may be to the same element of a buffer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tzerlike.systems.tvm_api import array_items, structural_equal, tirx
from tzerlike.tir.node import dtype_of, key


def may_meet(first: Any, second: Any) -> bool:
    """Whether two statements are such stores: of one element each, and not a constant way apart in any dimension."""
    if type(first) is not tirx.BufferStore or type(second) is not tirx.BufferStore:
        return False
    if key(first.buffer) != key(second.buffer):
        return False
    pairs = list(zip(array_items(first.indices), array_items(second.indices), strict=True))
    if any("x" in dtype_of(index) for pair in pairs for index in pair):
        return False
    return not all(structural_equal(*pair) for pair in pairs) and not any(_apart(*pair) for pair in pairs)


def _apart(first: Any, second: Any) -> bool:
    """Whether the difference of two indices is a number other than 0, by their sums alone."""
    terms: Counter[Any] = Counter()
    _add(terms, first, 1)
    _add(terms, second, -1)
    rest = {term for term, times in terms.items() if times}
    return rest == {None}


def _add(terms: Counter[Any], index: Any, times: int) -> None:
    """Count the variables of a sum `times`, and its numbers under None; what is neither stands for itself."""
    kind = type(index)
    if kind is tirx.IntImm:
        terms[None] += times * int(index.value)
    elif kind in (tirx.Add, tirx.Sub):
        _add(terms, index.a, times)
        _add(terms, index.b, times if kind is tirx.Add else -times)
    elif kind is tirx.Mul and type(index.b) is tirx.IntImm:
        _add(terms, index.a, times * int(index.b.value))
    elif kind is tirx.Mul and type(index.a) is tirx.IntImm:
        _add(terms, index.b, times * int(index.a.value))
    else:
        terms[key(index)] += times
