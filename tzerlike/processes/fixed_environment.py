"""The constant environment of every process that runs TVM, whoever started the command and where.

Hash tables inside TVM are ordered by addresses, and each string of a process's environment, its arguments and its
working directory moves what is allocated after it. So these are the same for all callers; what a worker needs of the
caller's it is given once it has been forked, and the children, which it does not fork, never see.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_OF_THE_CALLER: Final = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR",
    "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "TVM_CUDA_COMPILE_MODE",
)  # fmt: skip

_FIXED: Final = {
    "HOME": "/",
    # The C library's own locale: any other one is a file that is mapped, if it is there.
    "LC_ALL": "C",
    "PYTHONUTF8": "1",
    # Neither the working directory nor a user's own packages: what is to be imported is on PYTHONPATH.
    "PYTHONSAFEPATH": "1",
    "PYTHONNOUSERSITE": "1",
}

_PROGRAMS: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OF_NVCC: Final = ("nvcc", "g++", "gcc", "cc")
"""Programs that a child may start: nvcc, and the host compilers that it looks for."""

_STACK: Final = 8 << 20
"""Bytes of stack: where the kernel maps libraries depends on it."""


def fixed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` with the same values for every caller in place of the caller's own."""
    own = {name: value for name, value in environment.items() if name not in _OF_THE_CALLER}
    return {**own, **_FIXED, "PATH": _path_of_children(environment.get("PATH"))}


def callers_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what `fixed_environment` leaves out of `environment`: a worker's, once it is forked."""
    return {name: value for name, value in environment.items() if name in _OF_THE_CALLER}


def _path_of_children(path: str | None) -> str:
    """Return a PATH of standard directories, and before them those of what nvcc needs where these are others."""
    standard = _PROGRAMS.split(os.pathsep)
    if shutil.which("nvcc", path=path) is None:
        return _PROGRAMS
    found = (shutil.which(program, path=path) for program in _OF_NVCC)
    places = [str(Path(program).parent) for program in found if program is not None]
    return os.pathsep.join(dict.fromkeys([*(place for place in places if place not in standard), *standard]))


def settle_stack() -> bool:
    """Set the stack limit that every zygote has; return whether it was another one, which takes an exec to matter."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = _STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard)
    if soft == wanted:
        return False
    resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))
    return True
