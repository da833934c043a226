"""Checks of this machine for `--target cuda`; CUDA is started in a separate process, and only if there is a GPU."""

from __future__ import annotations

import shutil
from pathlib import Path

from tzerlike.core.health import HealthCheck
from tzerlike.core.targets import DEFAULT_ARCH, target_text
from tzerlike.execution.cuda import memcheck
from tzerlike.execution.cuda.device import DRIVER, Device, devices
from tzerlike.execution.cuda.toolchain import CudaCompiler, find_cuda_toolchain


def examine_cuda(driver: Path = DRIVER) -> list[HealthCheck]:
    """Say what of the cuda target can be tested here: generated source, its compilation, kernels that run."""
    return [_compiler(), _device(driver)]


def _compiler() -> HealthCheck:
    toolchain = find_cuda_toolchain()
    if toolchain is None:
        seen = "none; --target cuda generates source but does not compile it"
        advice = "pip install 'tzerlike[cuda]' for NVRTC, or put nvcc on the PATH"
        return HealthCheck("cuda compiler", False, seen, advice, needed=False)
    share = "" if toolchain.compiler is CudaCompiler.NVRTC else ", for one case in eight"
    return HealthCheck("cuda compiler", True, f"{toolchain}; generated source is compiled{share}", needed=False)


def _device(driver: Path) -> HealthCheck:
    found = devices(driver)
    if not found:
        seen = "none; kernels are not run but interpreted, in the form that the device passes leave"
        return HealthCheck("cuda device", False, seen, needed=False)
    device = Device(target_text("cuda"))
    fault = device.fault()
    device.close()
    if fault:
        seen = f"{', '.join(found)}; a kernel for {DEFAULT_ARCH} does not run: {fault}"
        advice = "name another architecture with --arch; kernels need 'tzerlike[cuda]' or nvcc on the PATH"
        return HealthCheck("cuda device", False, seen, advice, needed=False)
    beside = (
        "" if shutil.which(memcheck.COMPUTE_SANITIZER) else f"; no {memcheck.COMPUTE_SANITIZER} for details of findings"
    )
    return HealthCheck("cuda device", True, f"{', '.join(found)}; kernels run and are compared{beside}", needed=False)
