"""Whether a CUDA compiler accepts the source that TVM generated, and with which message it refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tzerlike.execution.cuda import nvcc, nvrtc
from tzerlike.execution.cuda.toolchain import CudaCompiler, CudaToolchain

SHARE = 8
"""One case in so many has its source compiled where that is dear: with nvcc alone, which takes 0.8 s of processor time,
some ten times as long as the rest of a case, and with NVRTC where the source is long."""

LONG = 20_000
"""Characters from which on a source is long: NVRTC takes some 0.05 s for one of 2,000, and 0.7 s for one of 100,000,
which dlight's schedules of products of matrices give."""

_ERROR = re.compile(r"^(?:[^\n:]*?\(\d+\): |[^\n]*?)((?:catastrophic )?error(?: *#?[\w-]*)?(?: *:| +)[^\n]*)", re.M)
_PTXAS = re.compile(r"ptxas[^\n]*(?:error|fatal)[^\n]*", re.M)

_QUOTED = re.compile(r"\"([A-Za-z_]\w*)\"")

_NOT_THE_SOURCE = ("could not open source file", "cannot open source file", "unsupported gpu architecture")
"""What says that the installation lacks something."""

_COMPILERS = {CudaCompiler.NVRTC: nvrtc.cubin, CudaCompiler.NVCC: nvcc.cubin}
_REFUSERS = {CudaCompiler.NVRTC: nvrtc.refusal, CudaCompiler.NVCC: nvcc.refusal}


class SourceRefused(Exception):
    """The CUDA compiler refuses source that TVM generated."""


def due(toolchain: CudaToolchain, sources: Sequence[str], case_id: str, exploring: bool) -> bool:
    """Whether the sources of a case are to be compiled: always where a single case is looked at."""
    cheap = toolchain.compiler is CudaCompiler.NVRTC and sum(map(len, sources)) < LONG
    return cheap or not exploring or int(case_id[:8], 16) % SHARE == 0


def runs_confined(toolchain: CudaToolchain) -> bool:
    """Whether a confined child can use it: a library, and no program."""
    return toolchain.compiler is CudaCompiler.NVRTC


def first_refusal(toolchain: CudaToolchain, sources: Sequence[str], arch: str) -> str | None:
    """Return the compiler's complaint about the first source that it refuses, its first error in front; else None."""
    for source in sources:
        said = _REFUSERS[toolchain.compiler](toolchain, source, arch)
        if said is not None and not any(phrase in said for phrase in _NOT_THE_SOURCE):
            return f"the CUDA compiler says {first_error(said, source)}\n{said}"
    return None


def machine_code(toolchain: CudaToolchain, source: str, arch: str) -> bytes:
    """Return the machine code for source, which computes as exactly as the program says; SourceRefused without it.

    TVM's own options take subnormal numbers for 0, and approximations for functions and quotients: no wrong code.
    """
    made = _COMPILERS[toolchain.compiler](toolchain, source, arch)
    if isinstance(made, str):
        raise SourceRefused(made)
    return made


def first_error(said: str, source: str) -> str:
    """Return the first error in what a compiler said about `source`, without the place.

    Names in quotation marks are dropped from signatures; those of functions tell one error from another, so they lose
    their marks.
    """
    found = _ERROR.search(said) or _PTXAS.search(said)
    if found is None:
        return next((line.strip() for line in said.splitlines() if line.strip()), "")
    text = found.group(found.lastindex or 0).strip()
    return _QUOTED.sub(lambda name: name[1] if f"{name[1]}(" in source else name[0], text)
