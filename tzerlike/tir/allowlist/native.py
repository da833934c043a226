"""The only way to compiled code that can be called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike.systems import tvm_build
from tzerlike.systems.refusal import ask_compiler
from tzerlike.tir.allowlist.module import DEVICE, HOST, SOURCE, Allowlist, objection


class NotAllowed(Exception):
    """A program, or what it was lowered to, holds something that is not in the tables; the message says what."""


def entry_point(program: Any, built: tvm_build.Built) -> Callable[..., Any]:
    """Return the compiled `main` of what was built from `program`, a module that no pass has touched.

    NotAllowed unless everything in both is in the tables: then no machine code has been loaded either. CompilerRefused
    where TVM raises.
    """
    _require(program, SOURCE, "")
    _require(built.host, HOST, ", as lowered")
    for device in built.devices:
        _require(device, DEVICE, ", as lowered for the device")
    return ask_compiler(lambda: tvm_build.compiled_main(built))


def _require(module: Any, table: Allowlist, form: str) -> None:
    found = ask_compiler(lambda: objection(module, table))
    if found:
        raise NotAllowed(f"{found}{form}")
