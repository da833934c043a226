"""What this machine can do for `--target cuda`; CUDA is not started to find out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tzerlike.cuda.toolchain import Compiler, find_toolchain
from tzerlike.health import Check

DRIVER = Path("/proc/driver/nvidia/gpus")
"""A directory of the kernel driver with an entry for each GPU."""

_PATIENCE = 30.0


def examine_cuda(driver: Path = DRIVER) -> list[Check]:
    """Say what of the cuda target can be tested here: generated source, its compilation, kernels that run."""
    return [_compiler(), _device(driver)]


def _compiler() -> Check:
    toolchain = find_toolchain()
    if toolchain is None:
        seen = "none; --target cuda generates source and does not compile it"
        advice = "pip install 'tzerlike[cuda]' for NVRTC, or put nvcc on the PATH"
        return Check("cuda compiler", False, seen, advice, needed=False)
    share = "" if toolchain.compiler is Compiler.NVRTC else ", for one case in eight"
    return Check("cuda compiler", True, f"{toolchain}; generated source is compiled{share}", needed=False)


def _device(driver: Path) -> Check:
    found = devices(driver)
    if not found:
        seen = "none; kernels are not run, they are interpreted as the device passes leave them"
        return Check("cuda device", False, seen, needed=False)
    seen = f"{', '.join(found)}; tzerlike does not run kernels yet"
    return Check("cuda device", False, seen, needed=False)


def devices(driver: Path = DRIVER) -> list[str]:
    """Return the NVIDIA GPUs of this machine by name, as its driver tells; empty without one."""
    names = []
    for file in sorted(driver.glob("*/information")):
        lines = (line.partition(":") for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
        names += [value.strip() for key, _, value in lines if key == "Model"]
    tool = shutil.which("nvidia-smi") if not names else None
    if tool is None:
        return names
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.startswith("GPU ")]
