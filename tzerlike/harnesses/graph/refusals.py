"""What TVM says where it does not support a model, and says so: no error of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from tzerlike.graph.model import Model
from tzerlike.passes.label import Label

WORDS: Mapping[str, str] = MappingProxyType(
    {
        r"only support \w+ and \w+ for now": "normalisations of a dtype that is yet to come",
        r"Data type \S+ not supported for \w+ op": "tests for infinities and NaN in a dtype that has them",
    }
)
"""Regular expressions that occur in messages, and what is not supported."""

WORDS_ON_EXTENTS: Mapping[str, str] = MappingProxyType(
    {
        r"(?i)(must be|expect\w*)\b.{0,40}\bconstant": "an extent that has to be a number",
        r"CodeGenVM cannot emit this Relax operator directly": "no code for any extents",
    }
)
"""The same for models whose extents vary."""

_ANY, _ON_EXTENTS = re.compile("|".join(WORDS)), [re.compile(words) for words in WORDS_ON_EXTENTS]


def label_of(message: str, model: Model) -> Label:
    """Return what an exception of TVM's on a well-typed model is."""
    varies = bool(model.variables) or any(vertex.row == "match_cast" for vertex in model.vertices)
    said = _ANY.search(message) or (varies and any(words.search(message) for words in _ON_EXTENTS))
    return Label.DOCUMENTED_REFUSAL if said else Label.INTERNAL_ERROR
