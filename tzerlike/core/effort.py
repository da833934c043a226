"""What a child does after TVM is done with a case, and its budget for that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

_STEPS = 20_000
"""Scalar operations that the interpreter may take on a program; most take a few hundred."""

THOROUGH_STEPS = 5_000_000
"""The same once two builds disagree: a few seconds."""


class Check(StrEnum):
    """What a child may look at besides compilation; oracles say which of these they need."""

    RESULTS = "results"
    """Interpret the program, run both builds, compare."""
    REJECTIONS = "rejections"
    """For an exception that nothing excuses: does its baseline build compile, is it defined?"""
    DEVICE_SOURCE = "device-source"
    """Have the source that was generated for a device compiled, where its compiler is at hand."""
    SPEED = "speed"
    """Time kernels on their device, as a part of RESULTS."""
    TYPES = "types"
    """Does each pass leave well-typed IR?"""
    IMMUTABILITY = "immutability"
    """Does each pass leave the module that it is given as it is?"""
    SIGNATURES = "signatures"
    """Does each pass leave the types of what goes in and comes out as they are?"""


@dataclass(frozen=True, slots=True)
class Effort:
    """`inputs` is the path of an archive of inputs to use in place of those that a case's seed gives, or "".

    `layout` stirs the heap before the case; see tzerlike.processes.heap. `baseline` is the build that others are
    compared with (tzerlike.systems.optional), "" for that of the TVM at hand.
    """

    checks: frozenset[Check] = frozenset()
    steps: int = _STEPS
    inputs: str = ""
    layout: int = 0
    baseline: str = ""

    def thorough(self) -> Effort:
        return replace(self, steps=THOROUGH_STEPS)

    def to_json(self) -> dict[str, Any]:
        # A child works in another directory.
        inputs = os.path.abspath(self.inputs) if self.inputs else ""
        return {
            "checks": sorted(self.checks),
            "steps": self.steps,
            "inputs": inputs,
            "layout": self.layout,
            "baseline": self.baseline,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Effort:
        checks = frozenset(map(Check, data["checks"]))
        return cls(checks, int(data["steps"]), str(data["inputs"]), int(data["layout"]), str(data["baseline"]))


COMPILE_ONLY = Effort()
"""What crash oracles need."""
