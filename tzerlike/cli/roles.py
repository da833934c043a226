"""What a worker process can be for. Each role runs in a fork of the zygote with its lane and its runner."""

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
from tzerlike.arith import batch
from tzerlike.arith.case import read_arith_case
from tzerlike.arith.checks import CHECKS
from tzerlike.arith.worker import ArithWorker, examine_in_child
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.worker import Worker
from tzerlike.core.case import Case, ContextConfig, content_hash, parse_sequence
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import COMPILE_ONLY, Check
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Observation
from tzerlike.core.storage import write_json
from tzerlike.core.targets import kind_of_target
from tzerlike.coverage import Coverage
from tzerlike.execution import fitness, rejection, rendering
from tzerlike.execution.block_list import list_blocks
from tzerlike.execution.diagnosis import job
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.fitness import require_fit
from tzerlike.execution.stages import run_case as run_case
from tzerlike.execution.warm_up import warm_up as warm_up
from tzerlike.findings.bisect.role import bisect_bundle
from tzerlike.findings.bundles import text as text_bundle
from tzerlike.findings.bundles.mutation_crash import repeat
from tzerlike.findings.bundles.schedule import look_again
from tzerlike.findings.faults.bundle import read_fault
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.reduction.role import reduce_bundle
from tzerlike.mutators import attempt, make_mutators
from tzerlike.oracles import effort_for, judged, make_oracles
from tzerlike.oracles.schedules import judge
from tzerlike.passes.catalog import instantiate
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import compiler_library as compiler_library
from tzerlike.tir.seeds import builtin_seeds, seeds_from_directory
from tzerlike.tir.seeds.handwritten import definitions
from tzerlike.tir.seeds.seed import Seed
from tzerlike.tir.stored import read_stored_case

Report = Callable[[dict[str, Any]], None]
Role = Callable[[Lane, socket.socket, Report, dict[str, Any]], None]


def campaign(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Fuzz on one shard of a campaign until it is over."""
    directory = CampaignDir(Path(params["root"]))
    config = CampaignConfig.from_toml(directory.config)
    seeds, problems = load_seeds(config.seeds, config.target, Path(params["cache_dir"]))
    executor = ForkExecutor(lane, runner, Limits(config.timeout, config.memory_limit), effort_for(config.oracles))
    worker = Worker(
        lane.slot,
        config,
        directory,
        seeds,
        executor,
        lane.coverage,
        params["elapsed"],
        lane.channel,
        params["culprit"],
        lambda why: report({"event": "paused", "why": why}),
    )
    worker.problems += problems
    if Check.RESULTS in executor.effort.checks and (problem := executor.devices.problem(config.case_target)):
        worker.problems.append(problem)
    worker.run()


def prepare(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Check what only a process with TVM can check, and make the seeds once: they are cached for the workers."""
    make_mutators(params["mutators"])
    if not tvm_api.KNOWN_IR and set(params["oracles"]) != {"crash"}:
        raise UserError(
            f"TVM {tvm_api.tvm.__version__}: programs are interpreted from 0.27 on; with an older one: --oracles crash"
        )
    seeds, problems = load_seeds(params["seeds"], params["target"], Path(params["cache_dir"]))
    report({"event": "prepared", "seeds": len(seeds), "problems": problems[:50]})


def load_seeds(source: str, target: str, cache_dir: Path) -> tuple[list[Seed], list[str]]:
    """Return the seeds of `--seeds` that fit the target, and what was wrong with those left out.

    UserError when the source does not exist or holds nothing that fits.
    """
    problems: list[str] = []
    if source == "none":
        return [_empty_seed(target)], problems
    if source == "builtin":
        found = builtin_seeds(cache_dir)
    else:
        found, refused = seeds_from_directory(Path(source))
        problems = [f"{path}: {reason}" for path, reason in refused]
    fitting = [seed for seed in found if kind_of_target(seed.target) == target]
    if not fitting:
        raise UserError(f"--seeds: {source} has no seed for --target {target}")
    return fitting, problems


def _empty_seed(target: str) -> Seed:
    func = tvm_api.PrimFunc([], tvm_api.tirx.Evaluate(tvm_api.tirx.const(0, "int32")))
    return Seed("empty", "none", target, tvm_api.dump_ir(tvm_api.module_of(func)), 3)


def judge_files(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run case files (of a corpus or of bundles), each `times` times, and report every observation."""
    for item in params["items"]:
        case = read_stored_case(Path(item["path"])).case
        effort = replace(effort_for(params["oracles"]), inputs=item.get("inputs", ""))
        executor = ForkExecutor(lane, runner, Limits(item["seconds"], item["memory"]), effort)
        require_fit(executor.call, case, effort.inputs)
        _judge(executor, case, params["oracles"], item["times"], report, item.get("still", False))


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


def mutate_again(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Repeat a mutation `times` times, each in a child, and report the signal that the child died of, or 0."""
    case = read_stored_case(Path(params["path"])).case
    mutation = Mutation.from_json(params["mutation"])
    for layout in range(params["times"]):
        report({"event": "mutated", "signal": repeat(mutation, case, layout).signal})


def judge_schedule(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Apply a schedule to a program `times` times, each in a child, and report what is found."""
    case = read_stored_case(Path(params["path"])).case
    executor = ForkExecutor(lane, runner, Limits(params["seconds"], params["memory"]))
    require_fit(executor.call, case, params["inputs"])
    for _ in range(params["times"]):
        looked = look_again(executor, case, params["trace"], params["inputs"])
        report({"event": "judged", "word": looked.word, "findings": _found(looked.finding)})


def judge_text(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Print and parse a program `times` times, each in a child, and report what is found."""
    case = read_stored_case(Path(params["path"])).case
    executor = ForkExecutor(lane, runner, Limits(params["seconds"], params["memory"]))
    require_fit(executor.call, case)
    for _ in range(params["times"]):
        finding = text_bundle.look_at_text(executor, case)
        report({"event": "judged", "word": "the same", "findings": _found(finding)})


def _found(finding: Signed | None) -> list[dict[str, Any]]:
    if finding is None:
        return []
    return [{"kind": finding.kind, "signature": finding.signature, "parts": list(finding.parts)}]


def judge_script(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run a function of a user's TVMScript file once; UserError when the file does not hold one."""
    case = Case(
        tvm_api.dump_ir(_function_of(Path(params["path"]), params["function"])),
        parse_sequence(params["passes"]),
        ContextConfig(),
        params["target"],
        params["input_seed"],
    )
    for spec in case.passes:
        instantiate(spec)
    executor = ForkExecutor(lane, runner, Limits(params["seconds"], params["memory"]), effort_for(params["oracles"]))
    _judge(executor, case, params["oracles"], 1, report)


def _judge(
    executor: ForkExecutor, case: Case, oracles: list[str], times: int, report: Report, still: bool = False
) -> None:
    """Run a case `times` times and report, each time on another heap unless it is to be `still`."""
    judges = make_oracles(oracles)
    for layout in range(times):
        effort = executor.effort if still else replace(executor.effort, layout=layout)
        seen = executor.run([case], count=False, effort=effort)[0]
        report(
            {
                "event": "judged",
                "observation": _short(seen),
                "findings": [
                    found | {"blame": _blame(finding)}
                    for finding in judged(judges, case, seen)
                    for found in _found(finding)
                ],
            }
        )


def _blame(finding: Finding) -> str | None:
    """The build that is wrong, for wrong code; None for findings that do not compare builds."""
    results = finding.observation.results
    return results.blame if finding.kind == "wrong-code" and results is not None else None


def _function_of(path: Path, wanted: str | None) -> Any:
    """Return the module of the function `wanted` in a TVMScript file, or of `main`, or of the only one."""
    functions: dict[str, Any] = {}
    try:
        for name, source in definitions(path.read_text(encoding="utf-8")).items():
            parsed = tvm_api.parse_script(source)
            if isinstance(parsed, tvm_api.PrimFunc):
                functions[name] = parsed
            elif isinstance(parsed, tvm_api.IRModule):
                functions |= {
                    variable.name_hint: func
                    for variable, func in parsed.functions.items()
                    if isinstance(func, tvm_api.PrimFunc)
                }
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except Exception as error:
        raise UserError(f"{path}: not TVMScript that this TVM parses: {_parser_complaint(error)}") from error
    if not functions:
        raise UserError(f"{path}: no @T.prim_func and no @I.ir_module in it")
    if wanted is None and tvm_api.ENTRY in functions:
        wanted = tvm_api.ENTRY
    elif wanted is None and len(functions) == 1:
        (wanted,) = functions
    if wanted not in functions:
        raise UserError(f"{path}: name the function to run with --function; there are: {', '.join(sorted(functions))}")
    return tvm_api.module_of(functions[wanted])


def _parser_complaint(error: Exception) -> str:
    """The line of a diagnostic that says what is wrong: the one that starts with `error:`, or else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in lines:
        if line.startswith("error:"):
            return line.removeprefix("error:").strip()
    return lines[0] if lines else type(error).__name__


def _short(seen: Observation) -> dict[str, Any]:
    data = seen.to_json()
    for key in ("message", "stderr"):
        data[key] = data[key][:8192]
    return data


def environment(coverage: Coverage, *, randomised: bool) -> dict[str, Any]:
    """Return what a result depends on besides the configuration: versions, the compiler's identity, the CPU."""
    library = tvm_api.compiler_library()
    return {
        "tzerlike": tzerlike.__version__,
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
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def arith_campaign(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Run one shard of an arithmetic campaign until it is over."""
    directory = CampaignDir(Path(params["root"]))
    config = CampaignConfig.from_toml(directory.config)
    executor = ForkExecutor(lane, runner, Limits(config.timeout, config.memory_limit))
    worker = ArithWorker(
        lane.slot,
        config,
        directory,
        executor,
        params["elapsed"],
        lane.channel,
        params["culprit"],
        lambda why: report({"event": "paused", "why": why}),
    )
    worker.run()


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
                "findings": _found(examined.finding),
            }
        )


def repeat_fault(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Do again what the fault in a bundle came about on, `times` times, and report the faults that come of it."""
    kept = read_fault(Path(params["path"]))
    config = replace(kept.file.campaign, corpus="", known="", iterations=None)
    for _ in range(params["times"]):
        with tempfile.TemporaryDirectory(prefix="tzerlike-fault-") as scratch:
            directory = CampaignDir(Path(scratch))
            directory.create(kept.file.worker + 1)
            write_json(directory.environment, environment(lane.coverage, randomised=False))
            limits, effort = Limits(config.timeout, config.memory_limit), effort_for(config.oracles)
            executor = ForkExecutor(lane, runner, limits, COMPILE_ONLY if config.harness == "arith" else effort)
            of_shard = (kept.file.worker, config, directory)
            worker: Worker | ArithWorker = (
                ArithWorker(*of_shard, executor, 0.0, lane.channel)
                if config.harness == "arith"
                else Worker(*of_shard, [], executor, lane.coverage, 0.0, lane.channel)
            )
            with limited():
                worker.repeat(kept.occasion)
            report({"event": "judged", "faults": dict(worker.faults.counts)})


ROLES: dict[str, Role] = {
    "campaign": campaign,
    "prepare": prepare,
    "judge-files": judge_files,
    "judge-script": judge_script,
    "trace": trace,
    "list-blocks": list_blocks,
    "mutate-again": mutate_again,
    "judge-schedule": judge_schedule,
    "judge-text": judge_text,
    "arith-campaign": arith_campaign,
    "judge-arith": judge_arith,
    "repeat-fault": repeat_fault,
    "reduce": reduce_bundle,
    "bisect": bisect_bundle,
}

JOBS = {
    **attempt.JOBS,
    **batch.JOBS,
    **judge.JOBS,
    **text_bundle.JOBS,
    **job.JOBS,
    **fitness.JOBS,
    **rejection.JOBS,
    **rendering.JOBS,
}
"""What a runner's child can do besides taking cases."""
