"""nvcc as a program: slower, with the same answer, for machines that have no NVRTC."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tzerlike.execution.cuda.toolchain import CudaToolchain

_OPTIONS = ("--cubin", "-w", "--use_fast_math", "--expt-relaxed-constexpr", "--expt-extended-lambda")

_SECONDS = 120.0


def refusal(toolchain: CudaToolchain, source: str, arch: str) -> str | None:
    """Return what nvcc says where it refuses `source`, or None where it compiles, cannot tell, or takes too long."""
    with tempfile.TemporaryDirectory(prefix="tzerlike-cuda-") as directory:
        text = Path(directory) / "kernels.cu"
        text.write_text(source, encoding="utf-8")
        order = [str(toolchain.path), *_OPTIONS, "-arch", arch, "-o", str(text.with_suffix(".cubin")), text.name]
        try:
            done = subprocess.run(
                order, cwd=directory, capture_output=True, text=True, errors="replace", check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            return None
    # nvcc's own death, or a missing host compiler, says nothing about the source.
    said = done.stdout + done.stderr
    return said if done.returncode > 0 and ("error" in said) else None
