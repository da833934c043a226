"""`tzerlike doctor`: what works on this machine, one line a check, and what to do about the rest."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tzerlike.core.errors import TzerlikeError
from tzerlike.core.health import Check
from tzerlike.core.package import MEMCOV
from tzerlike.execution.cuda.doctor import examine_cuda
from tzerlike.processes.client import Client

WORKING_PAIRS = {
    "0.27.0.post1": "0.1.14.post1",
    "0.26.0": "0.1.13.post3",
    "0.25.0": "0.1.12",
}
"""TVM and the tvm-ffi it works with; with a newer ffi, saving IR as JSON dies."""


def examine(cache_dir: Path, environment: Mapping[str, str]) -> list[Check]:
    """Run all checks; the last ones start TVM as a campaign does."""
    checks = [_processor(), _python(), _tvm_pair(), _memcov(), _cache(cache_dir)]
    if all(check.good for check in checks if check.needed):
        checks += _live(cache_dir, environment)
    return [*checks, *examine_cuda()]


def _processor() -> Check:
    seen = f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores"
    good = platform.machine() == "x86_64" and platform.system() == "Linux"
    return Check("processor", good, seen, "breakpoint coverage needs x86-64 Linux; use --coverage none elsewhere")


def _python() -> Check:
    return Check("python", sys.version_info >= (3, 11), platform.python_version(), "use Python 3.11 or newer")


def _tvm_pair() -> Check:
    found = {}
    for package in ("apache-tvm", "apache-tvm-ffi"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            return Check("tvm", False, f"{package} is missing", "make setup, or pip install -r constraints.txt")
    tvm, ffi = found["apache-tvm"], found["apache-tvm-ffi"]
    wanted = WORKING_PAIRS.get(tvm)
    seen = f"apache-tvm {tvm} with apache-tvm-ffi {ffi}"
    if wanted is None:
        known = ", ".join(WORKING_PAIRS)
        return Check("tvm", False, seen, f"this TVM was never tried; tried ones are {known}", needed=False)
    advice = f"saving IR dies with this pair; pip install apache-tvm-ffi=={wanted}"
    return Check("tvm", ffi == wanted, seen, advice)


def _memcov() -> Check:
    built = MEMCOV.is_file()
    return Check("memcov", built, "built" if built else "not built", "make setup (needs g++)")


def _cache(cache_dir: Path) -> Check:
    free = shutil.disk_usage(cache_dir).free
    seen = f"{cache_dir}, {free >> 20} MiB free"
    return Check("cache", free > 200 << 20, seen, "make room: a campaign writes some 10 MB an hour")


def _live(cache_dir: Path, environment: Mapping[str, str]) -> list[Check]:
    try:
        with Client(slots=1, coverage="auto", cache_dir=cache_dir, environment=environment) as client:
            facts = client.facts
    except TzerlikeError as error:
        return [Check("compiler", False, str(error).splitlines()[0], "see the lines above")]
    blocks = facts["coverage_total"]
    return [
        Check("compiler", True, f"TVM {facts['tvm']} with LLVM {facts['llvm']} compiles"),
        Check("coverage", blocks > 0, f"{facts['coverage_backend']}, {blocks:,} blocks", "runs blind", needed=False),
        Check(
            "confinement",
            facts["confinement"] == "on",
            f"{facts['confinement']} for programs that are run",
            "bundles from others run with --unconfined only; allow seccomp(2) in the container",
            needed=False,
        ),
        Check(
            "address randomisation",
            facts["address_randomisation"] == "off",
            f"{facts['address_randomisation']} in the processes that run TVM",
            "two runs with one seed may differ; allow personality(2), in a container --security-opt seccomp=unconfined",
            needed=False,
        ),
    ]
