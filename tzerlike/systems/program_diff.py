"""Two programs as text, side by side."""

from __future__ import annotations

import difflib
from functools import partial
from typing import Any

from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

_LONGEST = 100_000
"""Characters."""


def program_diff(name: str, before: Any, after: Any) -> str:
    """Return what the step `name` changes in a module, as a unified diff of TVMScript; a module that is as it was is
    shown whole, and nothing where TVM cannot print one."""
    try:
        first, second = (ask_compiler(partial(tvm_api.script_of, module)).splitlines() for module in (before, after))
    except CompilerRefused:
        return ""
    if first == second:
        lines = [f"--- before {name}", *(f" {line}" for line in first)]
    else:
        lines = list(difflib.unified_diff(first, second, f"before {name}", f"after {name}", lineterm=""))
    text = "\n".join(lines)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n... cut"
