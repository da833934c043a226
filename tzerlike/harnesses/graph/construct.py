"""In which construct two modules first differ: the operator that is called there, the node, and its field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tzerlike.systems import tvm_api

_PARTS = frozenset({"Array", "Map", "String", "bool", "float", "int", "str"})
"""What nodes are made of, by its type."""


def differing_construct(one: Any, other: Any) -> str:
    """Return words like `relax.clip Call.args FloatImm.value`, "" for modules that are alike."""
    found = tvm_api.first_mismatch(one, other)
    if found is None:
        return ""
    nodes, fields = [one], [""]
    for field, node in _followed(one, found[0]):
        if field:
            fields.append(field)
        nodes.append(node)
    operators = [str(node.op.name) for node in nodes if _name(node) == "Call" and hasattr(node.op, "name")]
    owners = [_name(node) for node in nodes if _name(node) not in _PARTS]
    return " ".join(word for word in (*operators[-1:], *owners[-1:], fields[-1]) if word)


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
