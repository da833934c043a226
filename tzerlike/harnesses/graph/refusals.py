"""What TVM says where it does not support a model, and says so: no error of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from tzerlike.passes.label import Label

WORDS: Mapping[str, str] = MappingProxyType(
    {
        r"only support \w+ and \w+ for now": "normalisations of a dtype that is yet to come",
        r"Data type \S+ not supported for \w+ op": "tests for infinities and NaN in a dtype that has them",
    }
)
"""Regular expressions that occur in messages, and what is not supported."""

_ANY = re.compile("|".join(WORDS))


def label_of(message: str) -> Label:
    """Return what an exception of TVM's on a well-typed model is."""
    return Label.DOCUMENTED_REFUSAL if _ANY.search(message) else Label.INTERNAL_ERROR
