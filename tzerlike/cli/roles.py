"""What a worker process can be for. Each role runs in a fork of the zygote with its lane and its runner."""

from __future__ import annotations

import hashlib
import platform
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy

import tzerlike
from tzerlike.arith import batch
from tzerlike.arith.case import read_arith_case
from tzerlike.arith.checks import CHECKS
from tzerlike.arith.worker import ArithWorker, examine_in_child
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.shard_worker import Assignment, ShardWorker
from tzerlike.campaign.worker import Worker
from tzerlike.core.case import Case, ContextConfig, content_hash, parse_sequence
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Check
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Observation
from tzerlike.core.storage import write_json
from tzerlike.coverage import Coverage
from tzerlike.execution import fitness, rejection, rendering
from tzerlike.execution.block_list import list_blocks
from tzerlike.execution.diagnosis import job
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.stages import run_case as run_case
from tzerlike.execution.warm_up import warm_up as warm_up
from tzerlike.findings.bisect.role import bisect_bundle
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.faults.bundle import read_fault
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.reduction.role import reduce_bundle
from tzerlike.findings.replay import load_bundle, oracles_of
from tzerlike.findings.retrial import retrial_of
from tzerlike.harnesses.tir import TirHarness
from tzerlike.mutators import attempt, make_mutators
from tzerlike.oracles import ORACLES, effort_for, examiner, judged, make_oracles, probes_for
from tzerlike.oracles.examiner import examiner_of
from tzerlike.passes.catalog import instantiate
from tzerlike.processes.lane import Lane, Report
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import SYSTEM as SYSTEM
from tzerlike.systems.tvm_api import compiler_library as compiler_library
from tzerlike.tir.script import module_in
from tzerlike.tir.seeds import seeds_for
from tzerlike.tir.seeds.seed import Seed
from tzerlike.tir.stored import read_stored_case

for _probe in probes_for(tuple(ORACLES)):
    # Before anything is forked: a child that had to import what it does would be slow.
    examiner_of(_probe)

Role = Callable[[Lane, socket.socket, Report, dict[str, Any]], None]


def campaign(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Fuzz on one shard of a campaign until it is over."""
    assignment = _assignment(report, params)
    config = assignment.config
    seeds, problems = seeds_for(config.seeds, config.target, Path(params["cache_dir"]))
    worker = _tir_worker(assignment, lane, runner, seeds)
    executor = worker.executor
    if Check.RESULTS in executor.effort.checks and (problem := executor.devices.problem(config.case_target)):
        problems.append(problem)
    worker.state.problems += (problem for problem in problems if problem not in worker.state.problems)
    worker.run()


def _tir_worker(assignment: Assignment, lane: Lane, runner: socket.socket, seeds: Sequence[Seed] = ()) -> Worker:
    config = assignment.config
    executor = ForkExecutor(lane, runner, Limits(config.timeout, config.memory_limit), effort_for(config.oracles))
    return Worker(assignment, executor, TirHarness(config, executor.explore), seeds, lane.coverage, lane.channel)


def _arith_worker(assignment: Assignment, lane: Lane, runner: socket.socket) -> ArithWorker:
    limits = Limits(assignment.config.timeout, assignment.config.memory_limit)
    return ArithWorker(assignment, ForkExecutor(lane, runner, limits), lane.channel)


def _assignment(report: Report, params: dict[str, Any]) -> Assignment:
    directory = CampaignDir(Path(params["root"]))
    return Assignment(
        Shard(**params["shard"]),
        CampaignConfig.from_toml(directory.config),
        directory,
        params["elapsed"],
        params["culprit"],
        lambda why: report({"event": "paused", "why": why}),
    )


def prepare(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Check what only a process with TVM can check, and make the seeds once: they are cached for the workers."""
    make_mutators(params["mutators"])
    if not tvm_api.KNOWN_IR and set(params["oracles"]) != {"crash"}:
        raise UserError(
            f"TVM {tvm_api.tvm.__version__}: programs are interpreted from {SYSTEM.interpreted_from} on; with an older "
            "one: --oracles crash"
        )
    seeds, problems = seeds_for(params["seeds"], params["target"], Path(params["cache_dir"]))
    report({"event": "prepared", "seeds": len(seeds), "problems": problems[:50]})


def judge_again(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Look at a bundle of tensor IR `times` times, each in a child with a heap of its own, and report what is found."""
    bundle = load_bundle(Path(params["path"]))
    assert isinstance(bundle, Bundle)
    case, inputs, oracles = bundle.stored.case, str(bundle.path / "inputs.npz"), oracles_of(bundle)
    executor = ForkExecutor(lane, runner, bundle.limits, effort_for(oracles))
    fitness.require_fit(executor.call, case, inputs)
    retrial = retrial_of(bundle, executor, oracles)
    for layout in range(params["times"]):
        # What is timed is left the heap of the campaign.
        look = retrial.look(case, 0 if bundle.kind == "slow-code" else layout, inputs)
        said = {"word": look.word or "the same"} if look.seen is None else {"observation": _short(look.seen)}
        report({"event": "judged", "findings": [_found(finding) for finding in look.findings], **said})


def trace(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run case files, each from nothing covered, and report the outcome with a digest of the blocks that it reaches.

    The blocks themselves are laid down in the directory `out`, one file a case, unless that is "".
    """
    limits = Limits(params["seconds"], params["memory"])
    for index, path in enumerate(params["paths"]):
        lane.coverage.reset()
        # A new one for each: what one remembers of programs that it has seen would spare a case some of its work.
        executor = ForkExecutor(lane, runner, limits, effort_for(params["oracles"]))
        seen = executor.run([read_stored_case(Path(path)).case])[0]
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


def _found(finding: Signed) -> dict[str, Any]:
    return {"kind": finding.kind, "signature": finding.signature, "parts": list(finding.parts)}


def judge_file(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run a case file, on the archive `inputs` if it is given, or a function of a user's TVMScript file, once.

    UserError when the file does not hold one.
    """
    path = Path(params["path"])
    case = read_stored_case(path).case if path.suffix == ".json" else _case_of_script(path, params)
    oracles = params["oracles"]
    effort = replace(effort_for(oracles), inputs=params.get("inputs", ""))
    executor = ForkExecutor(lane, runner, Limits(params["seconds"], params["memory"]), effort)
    fitness.require_fit(executor.call, case, effort.inputs)
    (seen,) = executor.run([case], count=False)
    found = [_found(finding) | {"blame": _blame(finding)} for finding in judged(make_oracles(oracles), case, seen)]
    report({"event": "judged", "observation": _short(seen), "findings": found})


def _case_of_script(path: Path, params: dict[str, Any]) -> Case:
    case = Case(
        tvm_api.dump_ir(module_in(path, params["function"])),
        parse_sequence(params["passes"]),
        ContextConfig(),
        params["target"],
        params["input_seed"],
    )
    for spec in case.passes:
        instantiate(spec)
    return case


def _blame(finding: Finding) -> str | None:
    """The build that is wrong, for wrong code; None for findings that do not compare builds."""
    results = finding.observation.results
    return results.blame if finding.kind == "wrong-code" and results is not None else None


def _short(seen: Observation) -> dict[str, Any]:
    data = seen.to_json()
    return data | {key: data[key][:8192] for key in ("message", "stderr")}


def environment(coverage: Coverage, *, randomised: bool) -> dict[str, Any]:
    """Return what a result depends on besides the configuration: versions, the compiler's identity, the CPU."""
    library = tvm_api.compiler_library()
    return {
        "tzerlike": tzerlike.__version__,
        "system": SYSTEM.name,
        "tvm": str(tvm_api.tvm.__version__),
        "tvm_ffi": _version("apache-tvm-ffi"),
        "llvm": str(tvm_api.tvm.target.codegen.llvm_version_major()),
        "numpy": str(numpy.__version__),
        "python": platform.python_version(),
        "compiler_library": content_hash(f"{library.name} {library.stat().st_size} {tvm_api.tvm.__version__}")[:16],
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


def arith_campaign(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run one shard of an arithmetic campaign until it is over."""
    _arith_worker(_assignment(report, params), lane, runner).run()


def judge_arith(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Put the case of an arithmetic bundle to its check `times` times, each in a fresh child; report the findings."""
    case = read_arith_case(Path(params["path"]))
    if case.check not in CHECKS:
        raise UserError(f"{params['path']}: no check {case.check!r}; there are {', '.join(CHECKS)}")
    executor = ForkExecutor(lane, runner, Limits(params["seconds"], params["memory"]))
    for _ in range(params["times"]):
        examined = examine_in_child(executor, case.check, case.problem)
        report(
            {
                "event": "judged",
                "observation": _short(examined.seen),
                "findings": [] if examined.finding is None else [_found(examined.finding)],
            }
        )


_WORKERS: Mapping[str, Callable[[Assignment, Lane, socket.socket], ShardWorker]] = {
    "tir": _tir_worker,
    "arith": _arith_worker,
}
"""What makes a worker, by harness."""


def repeat_fault(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Do again what the fault in a bundle occurred on, `times` times, and report the faults that come of it."""
    kept = read_fault(Path(params["path"]))
    config = replace(kept.file.campaign, corpus="", known="", iterations=None)
    for _ in range(params["times"]):
        with tempfile.TemporaryDirectory(prefix="tzerlike-fault-") as scratch:
            directory = CampaignDir(Path(scratch))
            directory.create(kept.file.worker + 1)
            write_json(directory.environment, environment(lane.coverage, randomised=False))
            shard = Shard(kept.file.worker, max(config.jobs, kept.file.worker + 1))
            worker = _WORKERS[config.harness](Assignment(shard, config, directory), lane, runner)
            with limited():
                worker.repeat(kept.occasion)
            report({"event": "judged", "faults": dict(worker.faults.counts)})


ROLES: dict[str, Role] = {
    "campaign": campaign,
    "prepare": prepare,
    "judge-again": judge_again,
    "judge-file": judge_file,
    "trace": trace,
    "list-blocks": list_blocks,
    "arith-campaign": arith_campaign,
    "judge-arith": judge_arith,
    "repeat-fault": repeat_fault,
    "reduce": reduce_bundle,
    "bisect": bisect_bundle,
}

JOBS = {
    **attempt.JOBS,
    **batch.JOBS,
    **examiner.JOBS,
    **job.JOBS,
    **fitness.JOBS,
    **rejection.JOBS,
    **rendering.JOBS,
}
"""What a runner's child can do besides taking cases."""
