"""Builds of modules, and of modules that claim to be the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike.core.case import ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.results import Results
from tzerlike.execution.compare.results import Builds, compile_baseline, judge_builds
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import SILENT, Compilation
from tzerlike.tir.allowlist import native


def compile_module(module: Any, target: str, config: ContextConfig) -> Callable[..., Any]:
    """Return the compiled `main` of `module`; CompilerRefused when TVM raises, NotAllowed where it may not run."""
    return native.entry_point(module, Compilation(target, config).build(module))


def compare_builds(program: Any, reference: Any, optimised: Any) -> Results:
    """Judge two modules that claim to be `program`: IRModules, each with the entry `main`.

    `reference` becomes the baseline build. Call it in a child (in_child): what is wrong with a module may kill the
    process.
    """
    builds = Builds(
        lambda: compile_baseline(reference, SILENT),
        lambda: compile_module(optimised, "llvm", ContextConfig()),
    )
    return judge_builds(tvm_api.entry_of(program), builds, 0, Effort(), SILENT)
