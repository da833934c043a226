"""nvcc as a program: slower, with the same answer, for machines that have no NVRTC."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tzerlike.execution.cuda.toolchain import CudaToolchain

_FAST, _PRECISE = "--use_fast_math", "--fmad=false"

_OPTIONS = ("--cubin", "-w", "--expt-relaxed-constexpr", "--expt-extended-lambda")

_SECONDS = 120.0


def refusal(toolchain: CudaToolchain, source: str, arch: str) -> str | None:
    """Return what nvcc says where it refuses `source`, or None where it compiles, cannot tell, or takes too long."""
    done = _compiled(toolchain, source, arch, _FAST)
    return done if isinstance(done, str) else None


def cubin(toolchain: CudaToolchain, source: str, arch: str) -> bytes | str:
    """Return the machine code for `source`, without what trades accuracy for speed; or what nvcc says against it."""
    done = _compiled(toolchain, source, arch, _PRECISE)
    return "nvcc does not end" if done is None else done


def _compiled(toolchain: CudaToolchain, source: str, arch: str, option: str) -> bytes | str | None:
    """The machine code, or the complaint; None where nvcc itself fails, which says nothing about the source."""
    with tempfile.TemporaryDirectory(prefix="tzerlike-cuda-") as directory:
        text = Path(directory) / "kernels.cu"
        text.write_text(source, encoding="utf-8")
        made = text.with_suffix(".cubin")
        order = [str(toolchain.path), *_OPTIONS, option, "-arch", arch, "-o", str(made), text.name]
        try:
            done = subprocess.run(
                order, cwd=directory, capture_output=True, text=True, errors="replace", check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode == 0 and made.exists():
            return made.read_bytes()
    # nvcc's own death, or a missing host compiler, says nothing about the source.
    said = done.stdout + done.stderr
    return said if done.returncode > 0 and ("error" in said) else None
