"""Keyword arguments of schedule primitives that may be left out, and what they then are."""

from __future__ import annotations

from types import MappingProxyType

DEFAULTS = MappingProxyType(
    {
        "assume_injective_transform": "False", "consumer_blocks": "[]", "cse_thresh": "0",
        "disable_predication": "False", "index": "-1", "pad_value": "None", "preserve_unit_iters": "True",
        "preserve_unit_loops": "False",
    }
)  # fmt: skip
"""By name, in the source that a trace has (tvm/s_tir/schedule/schedule.py)."""
