"""The environment of a command: environment variables, and the directories that they name.

The only reader of environment variables.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.limits import files_are_cut_off
from tzerlike.core.package import IMPORTED_FROM, PACKAGE
from tzerlike.processes.client import Client
from tzerlike.systems import TVM

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")
_CHECKOUT = str(PACKAGE.parent)
_OF_CUDA = ("CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Another Python with a TVM of its own, and what its environment has to hold for that to load."""

    python: Path
    variables: Mapping[str, str] = field(default_factory=dict)


def zygote_environment(interpreter: Interpreter | None = None) -> dict[str, str]:
    """Return the environment of the processes that run TVM: fixed but for what locates programs.

    Another interpreter finds its own packages, and none of ours but tzerlike itself. Of the caller's variables the
    zygote and its children do not see even these (tzerlike.processes.fixed_environment).
    """
    return {
        **{name: os.environ[name] for name in (*_PASSED_ON, *_OF_CUDA) if name in os.environ},
        "PYTHONHASHSEED": "0",
        **({"PYTHONDONTWRITEBYTECODE": "1"} if files_are_cut_off() else {}),
        "PYTHONPATH": os.pathsep.join(_import_path()) if interpreter is None else IMPORTED_FROM,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "TVM_NUM_THREADS": "2",
        "TVM_CUDA_COMPILE_MODE": "nvcc" if shutil.which("nvcc") else "nvrtc",
        **({} if interpreter is None else interpreter.variables),
    }


def _import_path() -> list[str]:
    """Where this process imports from, but for the directory that Python puts first by how it was started."""
    # Absolute ones: the rest would be taken from the directory in which the zygote starts.
    entries = [entry for entry in sys.path if os.path.isabs(entry)]
    places = {os.path.realpath(place) for place in (os.getcwd(), os.path.dirname(sys.argv[0]))}
    if sys.flags.safe_path or not sys.path or os.path.realpath(sys.path[0]) not in places - {_CHECKOUT}:
        return entries
    return entries[1:] if os.path.isabs(sys.path[0]) else entries


def adopt(directory: str, variables: Mapping[str, str]) -> None:
    """Take over the working directory and the variables of the command that this process works for."""
    os.chdir(directory)
    for name in ("LC_ALL", "LANG"):
        os.environ.pop(name, None)
    os.environ.update(variables)
    tempfile.tempdir = None


def whole_environment() -> dict[str, str]:
    """Return the environment of this process, for programs that are none of ours: compilers, pip."""
    return dict(os.environ)


def cache_directory() -> Path:
    """Return the directory for what can be made again, made if need be; UserError when it cannot be."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(base) / "tzerlike"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; set XDG_CACHE_HOME to a writable directory") from error
    return path


def open_client(
    slots: int = 1,
    coverage: str = "none",
    interpreter: Interpreter | None = None,
    *,
    unconfined: bool = False,
    system: str = TVM.name,
    loads: Collection[str] = (),
) -> Client:
    """Start a zygote of a system, in this interpreter or in another one, with some packages loaded.

    UserError where children cannot be confined, unless `unconfined`: whoever wrote the case could do anything.
    """
    client = Client(
        slots=slots,
        coverage=coverage,
        cache_dir=cache_directory(),
        environment=zygote_environment(interpreter),
        python=None if interpreter is None else interpreter.python,
        system=system,
        loads=loads,
    )
    try:
        if not unconfined:
            require_confinement(client.facts)
    except UserError:
        client.close()
        raise
    return client


def require_confinement(facts: Mapping[str, Any]) -> None:
    """UserError unless the children of a client, of which these are the facts, are confined."""
    if facts["confinement"] != "on":
        raise UserError(f"cases cannot be confined here ({facts['confinement']}); use --unconfined to run them anyway")
