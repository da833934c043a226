"""Facts about a pass, as plain values; no TVM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from tzerlike.core.case import PassSpec, Scalar


@dataclass(frozen=True, slots=True)
class PassParameter:
    """One argument of a pass: the values worth trying, and whether a sequence must give one.

    `domain` is never empty; the value TVM's own pipelines use comes first.
    """

    name: str
    domain: tuple[Scalar, ...]
    required: bool = False


@dataclass(frozen=True, slots=True)
class PassInfo:
    """A pass of the installed TVM.

    `name` is the FFI name without its `transform` segment (`s_tir.ThreadSync`), which is
    also what `tvm.s_tir.transform.ThreadSync` becomes; `internal_name` is what
    `PassContext(disabled_pass=...)` compares with; `ffi_name` is the registered global function; `options` are the
    PassContext options that the pass reads.
    """

    name: str
    ffi_name: str
    parameters: tuple[PassParameter, ...] = ()
    internal_name: str = ""
    options: tuple[str, ...] = ()

    def random_spec(self, rng: Random) -> PassSpec:
        """Return this pass with every argument drawn from its domain."""
        return PassSpec(self.name, tuple((p.name, rng.choice(p.domain)) for p in self.parameters))


Catalog = tuple[PassInfo, ...]
"""Passes sorted by name, so that equal draws choose equal passes."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A catalogue and how likely each of its passes is drawn: in proportion to `weights`, or equally without any."""

    catalog: Catalog
    weights: tuple[float, ...] = ()

    def draw(self, rng: Random) -> PassSpec:
        """Return a random pass with random arguments."""
        if self.weights:
            return rng.choices(self.catalog, self.weights)[0].random_spec(rng)
        return rng.choice(self.catalog).random_spec(rng)


def by_name(catalog: Iterable[PassInfo]) -> dict[str, PassInfo]:
    """Return the catalogue as a mapping from name to pass."""
    return {info.name: info for info in catalog}
