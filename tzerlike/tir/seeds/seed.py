"""The value that every seed source yields. Imports no TVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tzerlike.core.errors import TzerlikeError


@dataclass(frozen=True, slots=True)
class Seed:
    """One function to start from.

    `name` is unique within a source; `origin` is "topi", "relax", "kernels", "handwritten" or "dir"; `target` is a
    target kind (or its JSON) as in Case; `ir` is the text of `tvm_api.dump_ir` of a module whose only function is
    `main`; `nodes` counts the distinct TIR nodes of that function.
    """

    name: str
    origin: str
    target: str
    ir: str
    nodes: int

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "origin": self.origin,
            "target": self.target,
            "ir": self.ir,
            "nodes": self.nodes,
        }

    @classmethod
    def from_json(cls, data: object) -> Seed:
        """Build from parsed JSON; TzerlikeError when it is not what `to_json` gives."""
        if not isinstance(data, dict) or set(data) != {"name", "origin", "target", "ir", "nodes"}:
            raise TzerlikeError("seed: expected exactly the fields name, origin, target, ir, nodes")
        for key in ("name", "origin", "target", "ir"):
            if not isinstance(data[key], str):
                raise TzerlikeError(f"seed.{key}: expected a string")
        if not isinstance(data["nodes"], int) or isinstance(data["nodes"], bool):
            raise TzerlikeError("seed.nodes: expected an integer")
        return cls(**data)
