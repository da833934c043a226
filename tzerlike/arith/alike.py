"""Signatures of the analyzer that have one cause, as found by reading the source."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BY_ZERO = "pb->value != <n>"
"""The check that a division by 0 does not hold."""

_TRUNCATED = re.compile(r"(?<!Floor)Mod\(")


def words_of_cause(parts: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Return the words that findings of one cause share; `parts` are those of a finding, `words` those it is signed by.

    A comparison of truncated remainders goes by one rule of the canonical simplifier, whatever is around it; the set
    of such a remainder is as wrong in a constraint; iterators are divided by one rule, whatever is added in between,
    and by a factor of 0 wherever there is one.
    """
    code, *rest = words
    text = parts[1] if len(parts) > 1 else ""
    if len(rest) == 3 and rest[1] == "values":
        about, way, place = rest
        if code == "canonical_simplify" and re.match("order|equality", place) and _TRUNCATED.search(text):
            return (code, about, way, "order of Mod")
        if code == "int_set" and not place and _TRUNCATED.search(text.partition(" given ")[2]):
            return (code, about, way, "Mod")
        if code == "iterator map":
            return (code, about, way, place.replace("of sum and FloorDiv", "of FloorDiv"))
    if code == _BY_ZERO and rest[:2] == ["iterator map", "values"]:
        return (code, *rest[:2])
    return tuple(words)
