"""`tzerlike doctor`: checks of this machine, one line each, and how to fix failures."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from tzerlike.core.errors import TzerlikeError
from tzerlike.core.health import HealthCheck
from tzerlike.core.package import MEMCOV, NOT_BUILT
from tzerlike.execution.cuda.doctor import examine_cuda
from tzerlike.processes.caller import cache_directory, zygote_environment
from tzerlike.processes.client import Client
from tzerlike.systems import TVM
from tzerlike.systems.pair import installed_pair, mismatch
from tzerlike.tir.witness.running import examine_witness


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Check what works on this machine, and how to fix the rest."""
    checks = examine_machine(cache_directory(), zygote_environment())
    if as_json:
        click.echo(json.dumps([check.to_json() for check in checks]))
    else:
        for check in checks:
            click.echo(check.line())
    sys.exit(0 if all(check.good or not check.needed for check in checks) else 2)


def examine_machine(cache_dir: Path, environment: Mapping[str, str]) -> list[HealthCheck]:
    """Run all checks; the last ones start TVM as a campaign does."""
    checks = [_processor(), _python(), _tvm_pair(), _memcov(), _cache(cache_dir)]
    if all(check.good for check in checks if check.needed):
        checks += _live(cache_dir, environment)
    return [*checks, examine_witness(), *examine_cuda()]


def _processor() -> HealthCheck:
    seen = f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores"
    good = platform.machine() == "x86_64" and platform.system() == "Linux"
    return HealthCheck("processor", good, seen, "breakpoint coverage needs x86-64 Linux; use --coverage none elsewhere")


def _python() -> HealthCheck:
    return HealthCheck("python", sys.version_info >= (3, 11), platform.python_version(), "use Python 3.11 or newer")


def _tvm_pair() -> HealthCheck:
    seen = installed_pair()
    if advice := mismatch(seen):
        return HealthCheck("tvm", False, str(seen), advice)
    never_tried = f"this TVM has not been tried; these have: {', '.join(TVM.releases)}"
    return HealthCheck("tvm", seen.tvm in TVM.releases, str(seen), never_tried, needed=False)


def _memcov() -> HealthCheck:
    built = MEMCOV.is_file()
    return HealthCheck("memcov", built, "built" if built else "not built", f"it {NOT_BUILT}")


def _cache(cache_dir: Path) -> HealthCheck:
    free = shutil.disk_usage(cache_dir).free
    seen = f"{cache_dir}, {free >> 20} MiB free"
    return HealthCheck("cache", free > 200 << 20, seen, "make room: a campaign writes about 10 MB an hour")


def _live(cache_dir: Path, environment: Mapping[str, str]) -> list[HealthCheck]:
    try:
        with Client(slots=1, coverage="auto", cache_dir=cache_dir, environment=environment) as client:
            facts = client.facts
    except TzerlikeError as error:
        return [HealthCheck("compiler", False, str(error).splitlines()[0], "see the lines above")]
    blocks = facts["coverage_total"]
    return [
        HealthCheck("compiler", True, f"TVM {facts['tvm']} with LLVM {facts['llvm']} compiles"),
        HealthCheck(
            "coverage", blocks > 0, f"{facts['coverage_backend']}, {blocks:,} blocks", "runs blind", needed=False
        ),
        HealthCheck(
            "confinement",
            facts["confinement"] == "on",
            f"{facts['confinement']} for programs that are run",
            "bundles from others run only with --unconfined; allow seccomp(2) in the container",
            needed=False,
        ),
        HealthCheck(
            "address randomization",
            facts["address_randomisation"] == "off",
            f"{facts['address_randomisation']} in the processes that run TVM",
            "same seeds may give other runs; allow personality(2), in a container --security-opt seccomp=unconfined",
            needed=False,
        ),
    ]
