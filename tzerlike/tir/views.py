"""Views of buffers in blocks (`T.match_buffer`) that TVM would not make.

A module in JSON is read without its constructors' checks, and TVM's verifiers do not repeat them.
"""

from __future__ import annotations

from typing import Any

from tzerlike.systems.tvm_api import CONSTRUCTION_ERRORS, array_items, raised_by_tvm, s_tir, structural_walk


def views_fit(func: Any) -> bool:
    """Whether TVM's constructor takes each view as it is: of the scope and the dtype of its source, and no larger."""
    blocks: list[Any] = []
    structural_walk(func.body, (s_tir.SBlock, blocks.append))
    try:
        for view in (view for block in blocks for view in array_items(block.match_buffers)):
            s_tir.MatchBufferRegion(view.buffer, view.source)
    except CONSTRUCTION_ERRORS as error:
        if not raised_by_tvm(error):
            raise
        return False
    return True
