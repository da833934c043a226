"""Bundles of the arithmetic harness: the same files as any bundle, with a case.json of its own kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tzerlike.arith.case import ArithCase
from tzerlike.arith.finding import INTERNAL_ERROR, WRONG_CODE
from tzerlike.arith.inspect import Outcome
from tzerlike.arith.repro import module_source, repro_script
from tzerlike.bundle import Confirmation, no_inputs, observation_text, store_bundle
from tzerlike.campaign import json_text
from tzerlike.limits import Limits
from tzerlike.observation import Observation
from tzerlike.oracles.finding import Signed


def write_arith_bundle(
    directory: Path,
    finding: Signed,
    case: ArithCase,
    seen: Observation,
    outcome: Outcome | None,
    limits: Limits,
    confirmation: Confirmation,
    environment: Mapping[str, Any],
) -> Path | None:
    """Write a bundle whole or not at all; None when its signature has one already."""
    files: dict[str, str | bytes] = {
        "case.json": json_text(case.to_json()),
        "module.py": module_source(case.problem),
        "inputs.npz": no_inputs(),
        "observation.json": observation_text(finding, seen, limits, confirmation, environment),
        "repro.py": repro_script(finding, case.check, case.problem, outcome, limits),
        "report.md": _report(finding, case, seen, outcome, confirmation, environment),
    }
    return store_bundle(directory, finding, files)


def _report(
    finding: Signed,
    case: ArithCase,
    seen: Observation,
    outcome: Outcome | None,
    confirmation: Confirmation,
    environment: Mapping[str, Any],
) -> str:
    wrong = None if outcome is None else outcome.wrong
    happened = {
        WRONG_CODE: "The answer is false for values that the analyzer was told of, at which nothing is undefined.",
        INTERNAL_ERROR: "The analysis fails an internal check on an expression that is defined for all values.",
        "crash": f"The process dies ({seen.message or 'no message'}).",
        "hang": f"The analysis does not end within {seen.elapsed:.0f} s of processor time.",
    }.get(finding.kind, seen.message)
    lines = [
        f"# {finding.kind}: {case.check} of {' and '.join(map(str, case.problem.roots))}",
        "",
        happened,
        "",
        f"- analysis: `tvm.sym`, {case.check}",
        *(f"- expression: `{root}` ({root.dtype})" for root in case.problem.roots),
        *(f"- variable: `{v.name}`, {v.dtype}, {_told(v.told)} {list(v.values)}" for v in case.problem.variables),
        *(f"- under the constraint `{constraint}`" for constraint in case.problem.constraints),
    ]
    if wrong is not None:
        values = ", ".join(f"{name} = {value}" for name, value in wrong.assignment.items())
        lines += [
            f"- TVM claims: `{wrong.claim}`",
            f"- at {values or 'all values'} the expression is **{wrong.expected}**, TVM's answer says **{wrong.got}**",
        ]
    elif seen.message:
        lines += ["", "```", seen.message[:2000], "```", ""]
    lines += [
        f"- seen again in {confirmation.same} of {confirmation.runs} further runs",
        f"- found at iteration {case.iteration} of worker {case.worker}, seed {case.seed}",
        *(f"- {key}: {value}" for key, value in sorted(environment.items()) if isinstance(value, str | int)),
        "",
        "`//` and `%%` are floordiv and floormod, `/` and `%` truncdiv and truncmod.",
        "",
        "Run `python repro.py` (tvm alone); it exits non-zero when the bug shows.",
        "",
    ]
    lines += ["## Expression", "", "```python", module_source(case.problem).rstrip(), "```", ""]
    if seen.backtrace:
        lines += ["## Backtrace", "", "```", *map(str, seen.backtrace[:24]), "```", ""]
    return "\n".join(lines)


def _told(told: str) -> str:
    return {"range": "bound to the range", "steps": "bound to the range and modular set of"}.get(
        told, "unbound; tried at"
    )
