"""The CUDA compiler: NVRTC as a library, or nvcc as a program, with the matching headers.

Looked for, in this order: NVRTC of NVIDIA's wheels (`pip install 'tzerlike[cuda]'`), NVRTC of an installed toolkit,
nvcc on the PATH. NVRTC comes first since it answers some ten times as fast.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

TOOLKITS = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit")
"""Where toolkits are installed."""

_WHEEL_PARTS = ("cu13", "cuda_nvrtc", "cuda_runtime", "cuda_cccl", "cuda_nvcc")
"""The directories of NVIDIA's wheels below `nvidia`: all of CUDA 13 in one, of CUDA 12 one for each wheel."""


class CudaCompiler(StrEnum):
    NVRTC = "nvrtc"
    NVCC = "nvcc"


@dataclass(frozen=True, slots=True)
class CudaToolchain:
    """A compiler and where it is; `includes` are the directories of its headers (nvcc knows its own)."""

    compiler: CudaCompiler
    path: Path
    includes: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return f"{self.compiler} at {self.path}"


def find_cuda_toolchain(
    packages: Sequence[str] | None = None, toolkits: Iterable[str] = TOOLKITS, programs: str | None = None
) -> CudaToolchain | None:
    """Return the CUDA compiler to use, or None where there is none.

    `packages` are the directories that Python imports from, and `programs` a PATH; both are this process's by default.
    """
    roots = [Path(directory) / "nvidia" for directory in (sys.path if packages is None else packages)]
    nvcc = shutil.which("nvcc", path=programs)
    for parts in _candidates(roots, toolkits, nvcc):
        library = next((found for part in parts for found in _libraries(part)), None)
        includes = tuple(path for part in parts for path in _includes(part))
        # Half precision and tensor cores are headers: without them NVRTC would refuse what is right.
        if library is not None and all(_holds(includes, name) for name in ("cuda_fp16.h", "mma.h")):
            return CudaToolchain(CudaCompiler.NVRTC, library, includes)
    return CudaToolchain(CudaCompiler.NVCC, Path(nvcc)) if nvcc is not None else None


def _candidates(roots: Iterable[Path], toolkits: Iterable[str], nvcc: str | None) -> Iterator[list[Path]]:
    """The places that may make up one installation of NVRTC with its headers."""
    for root in roots:
        parts = [root / part for part in _WHEEL_PARTS if (root / part).is_dir()]
        if parts:
            yield parts
    homes = [Path(home) for home in toolkits]
    if nvcc is not None:
        homes.insert(0, Path(os.path.realpath(nvcc)).parent.parent)
    yield from ([home] for home in homes if home.is_dir())


def _libraries(home: Path) -> list[Path]:
    """The NVRTC libraries of a place, the newest name last; those with its built-in functions are not among them."""
    found = [path for name in ("lib", "lib64") for path in sorted((home / name).glob("libnvrtc.so*"))]
    return found[-1:]


def _includes(home: Path) -> list[Path]:
    base = home / "include"
    return [path for path in (base, base / "cccl") if path.is_dir()]


def _holds(includes: Iterable[Path], name: str) -> bool:
    return any((path / name).is_file() for path in includes)
