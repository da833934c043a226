"""Bundles as files, for what reads them: as much of one as comparing takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case, Provenance
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.core.stored import StoredCase
from tzerlike.findings.bundles.bisection import Bisection, write_bisection

LIBRARY = "libtvm_compiler.so"


def crashed(pass_name: str, *functions: str, **more: Any) -> Observation:
    """A crash in a pass with these functions of TVM on the stack, the deepest first."""
    frames = tuple(Frame(function, LIBRARY) for function in functions)
    return Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", pass_name, 11, frames, len(frames), **more)


def refused(pass_name: str, message: str, *functions: str) -> Observation:
    """An internal error of a pass, raised in these functions."""
    return Observation(
        Exit.REJECTED, Stage.PASSES, message, pass_name, backtrace=tuple(Frame(function, "") for function in functions)
    )


def wrong(nature: str, blame: str = "optimised", dtype: str = "float32") -> Observation:
    """Wrong results of a build, or of both."""
    bad = Ran(Ending.DIFFERS, difference=Difference(0, "A", dtype, (0,), "1", "0", "2", 1, 4, nature))
    good = Ran(Ending.AGREES)
    builds = {"optimised": (good, bad), "reference": (bad, good), "both": (bad, bad)}[blame]
    return Observation(Exit.OK, Stage.DONE, results=Results("defined", baseline=builds[0], optimised=builds[1]))


def program(*kinds: str) -> str:
    """Canonical JSON of a graph that has nodes of these kinds."""
    nodes = [{"type": kind, "data": {"kind": 0}} if kind == "tirx.For" else {"type": kind} for kind in kinds]
    return json.dumps({"root_index": 0, "nodes": nodes})


def write_case(path: Path, ir: str, **fields: Any) -> Case:
    case = Case(ir, **fields)
    path.write_text(json.dumps(StoredCase(case, Provenance("test")).to_json()))
    return case


def add_bundle(
    directory: Path,
    finding: Signed,
    seen: Observation,
    *,
    ir: str = '{"nodes": []}',
    reduced: str = "",
    guilty: str = "",
    version: str = "0.27.0.post1",
) -> Path:
    """Write a bundle into `directory`, with a reduction and a bisection where they are given."""
    path = directory / finding.directory
    path.mkdir(parents=True)
    write_case(path / "case.json", ir)
    observation = {
        "schema_version": 1,
        "kind": finding.kind,
        "signature": finding.signature,
        "parts": list(finding.parts),
        "bare": list(finding.bare),
        "finer": list(finding.finer),
        "apart": list(finding.apart),
        "limits": {"seconds": 5.0, "memory": 1 << 30},
        "confirmed": {"runs": 2, "same": 2},
        "observation": seen.to_json(),
        "environment": {"tvm": version},
    }
    (path / "observation.json").write_text(json.dumps(observation))
    if reduced:
        (path / "reduced").mkdir()
        write_case(path / "reduced" / "case.json", reduced)
    if guilty:
        write_bisection(path, Bisection(finding.signature, guilty))
    return path
