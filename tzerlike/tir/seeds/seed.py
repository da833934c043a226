"""The value that every seed source yields. Imports no TVM."""

from __future__ import annotations

from typing import Any

import msgspec

from tzerlike.core.schema import converted


class Seed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One function to start from.

    `name` is unique within a source; `origin` is "topi", "relax", "kernels", "handwritten", "graph", "tiles" or "dir";
    `target` is a target kind (or its JSON) as in Case; `ir` is the text of `tvm_api.dump_ir` of a module whose only
    function is `main`; `nodes` counts the distinct TIR nodes of that function.
    """

    name: str
    origin: str
    target: str
    ir: str
    nodes: int

    def to_json(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Seed:
        """Build from parsed JSON; UserError when it is not what `to_json` gives."""
        return converted(data, cls, "seed")
