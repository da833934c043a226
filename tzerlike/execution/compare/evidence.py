"""The evidence in a bundle of wrong code besides its case: the inputs, and the expected results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tzerlike.core.archive import no_arrays
from tzerlike.core.case import TIR, Case
from tzerlike.core.effort import Effort
from tzerlike.core.results import Results
from tzerlike.execution.compare.inputs import Inputs, Parameter, pack_inputs
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.systems import tvm_api
from tzerlike.tir.interpreter import Judgement


@dataclass(frozen=True, slots=True)
class Evidence:
    """`archive` is a bundle's inputs.npz: the inputs, `expectedN` and `boundN` for each buffer parameter N.

    It has nothing, and `parameters` are empty, for a finding of the compiler itself.
    """

    archive: bytes
    parameters: tuple[Parameter, ...] = ()


def evidence_for(case: Case, results: Results | None) -> Evidence:
    """Return the evidence for `results`, which occurred on the inputs that the case's seed gives.

    Of programs that are not in tensor IR the seed says it all.
    """
    if case.harness != TIR or results is None or not results.defined:
        return Evidence(no_arrays())
    func = tvm_api.entry_of(tvm_api.load_ir(case.ir))
    inputs, judgement, _ = interpret_seeded(func, case.input_seed, Effort().thorough())
    if inputs is None or judgement is None:
        return Evidence(no_arrays())
    return Evidence(archive_of(inputs, judgement), inputs.parameters)


def archive_of(inputs: Inputs, judgement: Judgement) -> bytes:
    """Return the archive of inputs and of what the interpreter computes on them."""
    expected: dict[str, NDArray[Any]] = {}
    for position, result in judgement.expected.items():
        expected[f"expected{position}"] = result.values
        expected[f"bound{position}"] = result.bound
    return pack_inputs(inputs, expected)
