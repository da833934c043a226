"""Broken invariants of passes on models, checked in a child, and expressed as source of a test."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from tzerlike.core.case import PassSpec
from tzerlike.core.effort import Check, Effort
from tzerlike.core.observation import ILL_FORMED, READS_BACK, Offence
from tzerlike.graph.relax import change_of_type, relax_accepts, relax_objection
from tzerlike.graph.steps import IMPORT_STEPS, noted_as
from tzerlike.harnesses.graph.construct import differing_construct
from tzerlike.harnesses.graph.passes import ROUND_TRIPS
from tzerlike.systems import tvm_api

BREACHES = MappingProxyType(
    {
        ILL_FORMED: "not relax.analysis.check_well_formed({after})",
        Check.IMMUTABILITY.value: "tvm_ffi.structural_hash(before) != hashed",
        Check.SIGNATURES.value: 'not tvm_ffi.structural_equal(before["main"].ty, {after}["main"].ty)',
        READS_BACK: "not tvm_ffi.structural_equal(before, {after})",
    }
)
"""Source of what is true of a breach, by its check: `before` went into a step, and had the structural hash `hashed`."""

ALL_CHECKS = Effort(frozenset({Check.TYPES, Check.SIGNATURES, Check.IMMUTABILITY}))
"""Everything that there is to look at."""


class PassJudge:
    """Looks at a module before and after a step of a sequence."""

    def __init__(self, spec: PassSpec, module: Any, effort: Effort) -> None:
        self._name, self._before = noted_as(spec), module
        # Nothing goes into an import.
        self._imports = spec in IMPORT_STEPS
        checks = frozenset() if self._imports else effort.checks
        immutable = Check.IMMUTABILITY in checks
        self._signatures = Check.SIGNATURES in checks
        self._hashed = tvm_api.structural_hash(module) if immutable else None

    def offences(self, after: Any) -> Iterator[Offence]:
        """Yield what the step did that it may not."""
        if not relax_accepts(after) and (self._imports or relax_accepts(self._before)):
            yield Offence(ILL_FORMED, self._name, "well-formed", relax_objection(after))
        if self._name in ROUND_TRIPS and not tvm_api.structural_equal(self._before, after):
            where = differing_construct(self._before, after) or "it is read as another one"
            yield Offence(READS_BACK, self._name, "the same module", where)
        if self._hashed is not None and tvm_api.structural_hash(self._before) != self._hashed:
            yield Offence(Check.IMMUTABILITY, self._name, "its input as it was", "")
        if self._signatures:
            old, new = (tvm_api.type_of(module[tvm_api.ENTRY]) for module in (self._before, after))
            if change := change_of_type(old, new):
                yield Offence(Check.SIGNATURES, self._name, "the type of main", f"{change}: {old} is {new}"[:400])
