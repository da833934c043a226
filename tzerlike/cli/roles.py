"""The roles of worker processes. Each runs in a fork of the zygote with its lane and its runner."""

from __future__ import annotations

import hashlib
import platform
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy

import tzerlike
from tzerlike.campaign.cases import CaseHarness
from tzerlike.campaign.confirming import ConfirmingWorker
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.harness import loaded
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.core.case import Case, Provenance, content_hash
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Effort
from tzerlike.core.finding import Finding
from tzerlike.core.harness import HARNESSES
from tzerlike.core.limits import Limits
from tzerlike.core.storage import write_json
from tzerlike.core.stored import StoredCase
from tzerlike.coverage import Coverage
from tzerlike.execution.block_list import list_blocks
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.warm_up import warm_up as warm_up
from tzerlike.execution.witness import OBJECTION
from tzerlike.findings.answer import found_answer, judged_answer
from tzerlike.findings.bisect.role import bisect_bundle
from tzerlike.findings.bundles.bundle import bundles_of, read_bundle
from tzerlike.findings.cases import harness_of, read_case
from tzerlike.findings.faults.bundle import read_fault
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.reduction.role import reduce_bundle
from tzerlike.findings.retrial import retrial_of_compilation
from tzerlike.graph.importers import TORCH
from tzerlike.harnesses.graph.through_torch import load_torch
from tzerlike.harnesses.tir.user_file import case_of_script
from tzerlike.oracles import ORACLES, effort_for, examiner, judged, make_oracles, probes_for
from tzerlike.oracles.examiner import examiner_of
from tzerlike.plugins import harness_named
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.processes.lane import Lane, Report
from tzerlike.systems import tvm_api
from tzerlike.systems.optional import baseline_named
from tzerlike.systems.tvm_api import SYSTEM as SYSTEM
from tzerlike.systems.tvm_api import compiler_libraries as compiler_libraries

for _probe in probes_for(tuple(ORACLES)):
    # Before anything is forked: a child that had to import what it does would be slow.
    examiner_of(_probe)

Role = Callable[[Lane, socket.socket, Report, dict[str, Any]], None]


def campaign(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run one shard of a campaign until it is over."""
    directory = CampaignDir(Path(params["root"]))
    assignment = Assignment(
        Shard(**params["shard"]),
        CampaignConfig.from_toml(directory.config),
        directory,
        params["elapsed"],
        params["culprit"],
        lambda why: report({"event": "paused", "why": why}),
    )
    harness = loaded(harness_named(assignment.config.harness))
    harness.worker(assignment, lane, runner, Path(params["cache_dir"])).run()


def prepare(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Check what takes the compiler to check, and make the seeds once: they are cached for the workers."""
    seeds, problems = loaded(harness_named(params["harness"])).prepare(params)
    report({"event": "prepared", "seeds": seeds, "problems": problems[:50]})


def judge_again(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Look at a bundle `times` times, each in a child of its own, and report what is found."""
    path = Path(params["path"])
    for answer in loaded(harness_of(path)).judge_again(path, params["times"], lane, runner):
        report(answer)


def reduce(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Reduce the bundle at `path`, and report what came of it."""
    bundle = read_bundle(Path(params["path"]))
    reduce_bundle(bundle, _case_harness(bundle.stored.case), lane, runner, report, params)


def bisect(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Bisect the bundle at `path`, and report whether it showed."""
    bundle = read_bundle(Path(params["path"]))
    bisect_bundle(bundle, _case_harness(bundle.stored.case), lane, runner, report, params)


def _case_harness(case: Case) -> CaseHarness:
    harness = loaded(harness_named(case.harness))
    assert isinstance(harness, CaseHarness)
    return harness


def trace(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run case files, each from nothing covered, and report the outcome with a digest of the blocks that it reaches.

    The blocks themselves are laid down in the directory `out`, one file a case, unless that is "".
    """
    limits = Limits(params["seconds"], params["memory"])
    for index, path in enumerate(params["paths"]):
        lane.coverage.reset()
        # A new one for each: what one remembers of programs that it has seen would spare a case some of its work.
        executor = ForkExecutor(lane, runner, limits, effort_for(params["oracles"]))
        seen = executor.run([read_case(Path(path)).case])[0]
        blocks = numpy.sort(lane.coverage.new_indices(lane.slot))
        if params["out"]:
            numpy.save(Path(params["out"]) / f"{index}.npy", blocks)
        report(
            {
                "event": "traced",
                "index": index,
                "path": path,
                "exit": seen.exit.value,
                "stage": seen.stage.value,
                "blocks": len(blocks),
                "digest": hashlib.sha256(blocks.tobytes()).hexdigest(),
            }
        )


def judge_file(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run a case file, on the archive `inputs` if it is given, or a function of a user's TVMScript file, once.

    The first finding that is confirmed goes to the directory `out`, unless that is "", as a bundle. UserError when the
    file does not hold a case.
    """
    path = Path(params["path"])
    if path.suffix == ".json":
        case = read_case(path).case
    else:
        how = (params[name] for name in ("function", "passes", "target", "input_seed"))
        case = case_of_script(path, *how, text_only=params.get("text_only", False))
    oracles = params["oracles"]
    effort = replace(effort_for(oracles), inputs=params.get("inputs", ""))
    executor = ForkExecutor(lane, runner, Limits(params["seconds"], params["memory"]), effort)
    _case_harness(case).require_fit(executor, case, effort.inputs)
    (seen,) = executor.run([case], count=False)
    found = judged(make_oracles(oracles), case, seen)
    blamed = [found_answer(finding) | {"blame": _blame(finding), "detail": _detail(finding)} for finding in found]
    bundle = _bundled(found[0], executor, lane, params) if found and params.get("out") else ""
    report(judged_answer((), seen) | {"findings": blamed, "bundle": bundle})


def _bundled(finding: Finding, executor: ForkExecutor, lane: Lane, params: dict[str, Any]) -> str:
    """Write the bundle of a finding under the directory `out`, unless it has one, and return where that is; "" where it
    does not show again."""
    programs = _case_harness(finding.case)
    out = Path(params["out"])
    if before := bundles_of(out, finding.signature):
        return str(before[0])
    stored = StoredCase(finding.case, Provenance(f"run of {Path(params['path']).name}"))
    retrial = retrial_of_compilation(finding.kind, executor, params["oracles"], programs)
    found_in = environment(lane.coverage, randomised=False) | {"oracles": params["oracles"]}
    path = retrial.write(out, finding, stored, found_in)
    return "" if path is None else str(path)


def _detail(finding: Finding) -> str:
    """Of wrong code the element, its value and what it should be, and who it is due to; else what TVM says."""
    results = finding.observation.results
    if finding.kind != "wrong-code" or results is None:
        return finding.observation.message
    ran = results.optimised if results.optimised.ending.wrong else results.baseline
    return f"{ran}{f'; {results.guilty} makes it so' if results.guilty else ''}"


def _blame(finding: Finding) -> str | None:
    """The build that is wrong, for wrong code; None for findings that do not compare builds."""
    results = finding.observation.results
    return results.blame if finding.kind == "wrong-code" and results is not None else None


def environment(coverage: Coverage, *, randomised: bool) -> dict[str, Any]:
    """Return what a result depends on besides the configuration: versions, the compiler's identity, the CPU."""
    libraries = " ".join(f"{path.name} {path.stat().st_size}" for path in tvm_api.compiler_libraries())
    return {
        "tzerlike": tzerlike.__version__,
        "system": SYSTEM.name,
        "tvm": tvm_api.TVM_VERSION,
        "baseline": baseline_named(tvm_api.TVM_VERSION),
        "tvm_ffi": _version("apache-tvm-ffi"),
        "llvm": str(tvm_api.LLVM_VERSION or "none"),
        "numpy": str(numpy.__version__),
        "python": platform.python_version(),
        "compiler_library": content_hash(f"{libraries} {tvm_api.TVM_VERSION}")[:16],
        "cpu": _cpu(),
        "kernel": platform.release(),
        "coverage_backend": coverage.backend,
        "coverage_total": coverage.total,
        "address_randomisation": "on" if randomised else "off",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def repeat_fault(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Do again what the fault in a bundle occurred on, `times` times, and report the faults that come of it."""
    kept = read_fault(Path(params["path"]))
    config = replace(kept.file.campaign, corpus="", known="", iterations=None)
    for _ in range(params["times"]):
        with tempfile.TemporaryDirectory(prefix="tzerlike-fault-") as scratch:
            directory = CampaignDir(Path(scratch))
            directory.create(1, first=kept.file.worker)
            write_json(directory.environment, environment(lane.coverage, randomised=False))
            shard = Shard(kept.file.worker, max(config.jobs, kept.file.worker + 1))
            harness = loaded(harness_named(config.harness))
            worker = harness.worker(Assignment(shard, config, directory), lane, runner, None)
            with limited():
                if kept.file.kind == OBJECTION and kept.occasion.stored and isinstance(worker, ConfirmingWorker):
                    worker.hear_again(kept.fault, kept.occasion)
                else:
                    worker.repeat(kept.occasion)
            report({"event": "judged", "faults": dict(worker.faults.counts)})


ROLES: dict[str, Role] = {
    "campaign": campaign,
    "prepare": prepare,
    "judge-again": judge_again,
    "judge-file": judge_file,
    "trace": trace,
    "list-blocks": list_blocks,
    "repeat-fault": repeat_fault,
    "reduce": reduce,
    "bisect": bisect,
}

JOBS = {**examiner.JOBS, **{name: job for row in HARNESSES.values() for name, job in loaded(row).jobs.items()}}
"""What a runner's child can do besides taking cases."""


LOADERS: dict[str, Callable[[], None]] = {TORCH.package: load_torch}
"""What loads a package that only some oracles take, where it is there."""


def run_case(
    case: Case, channel: Channel, around: RunContext, effort: Effort, baseline_known: bool, /
) -> dict[str, Any]:
    """Take a case through its stages as its harness does."""
    return loaded(harness_named(case.harness)).run_case(case, channel, around, effort, baseline_known)
