"""In which construct two modules first differ: the operator that is called there, and the fields of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tzerlike.systems import tvm_api

_STEPS = 3
"""How many fields are named, the last ones of those on the way."""


def differing_construct(one: Any, other: Any) -> str:
    """Return words like `relax.nn.rms_norm Call.attrs RMSNormAttrs.epsilon`, "" for modules that are alike."""
    found = tvm_api.first_mismatch(one, other)
    if found is None:
        return ""
    operator, fields, node = "", [], one
    for field, after in _followed(one, found[0]):
        if field:
            fields.append(f"{_name(node)}.{field}")
        node = after
        if _name(node) == "Call":
            operator = str(getattr(node.op, "name", getattr(node.op, "name_hint", "")))
    return " ".join(word for word in (operator, *fields[-_STEPS:]) if word)


def _followed(node: Any, path: Any) -> Iterator[tuple[str, Any]]:
    """The field, where a step names one, and the node behind each step that can be taken."""
    for step in path.to_steps():
        key = step.key
        try:
            node = getattr(node, key) if isinstance(key, str) and hasattr(node, key) else node[key]
        except (AttributeError, IndexError, KeyError, TypeError):
            return
        yield (key if isinstance(key, str) else ""), node


def _name(node: Any) -> str:
    return type(node).__name__
