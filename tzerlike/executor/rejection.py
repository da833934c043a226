"""What speaks for a program that TVM refused: a look at it in the child, after the refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike import tvm_api
from tzerlike.case import Case
from tzerlike.child.apart import run_apart
from tzerlike.child.effort import Effort
from tzerlike.child.refusal import CompilerRefused, ask_compiler
from tzerlike.child.tray import Tray
from tzerlike.compare.results import compile_executable, interpret
from tzerlike.cuda.source import first_refusal
from tzerlike.cuda.toolchain import find_toolchain
from tzerlike.observation import Stage
from tzerlike.outcome import Rejection
from tzerlike.passes import instantiate
from tzerlike.passes.facts import facts_of
from tzerlike.passes.label import Label, label
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.reference import Verdict
from tzerlike.reference_build import REFERENCE_CONFIG, REFERENCE_TARGET
from tzerlike.targets import arch_of_target, kind_of_target


def weigh_rejection(case: Case, message: str, effort: Effort, tray: Tray, paced: Callable[[bool], None]) -> Rejection:
    """Label the refusal of `case`; for an internal error, find out whether TVM ought to have compiled the program.

    `tray` still says which pass was under way.
    """
    try:
        tail = () if case.config.pipeline == "none" else default_pipeline(case.target, case.config).passes
        module = ask_compiler(lambda: tvm_api.load_ir(case.ir))
    except CompilerRefused:
        return Rejection(Label.DOCUMENTED_REFUSAL.value)
    kind = label((*case.passes, *tail), facts_of(case.ir), tray.pass_name(), message)
    if kind is not Label.INTERNAL_ERROR:
        return Rejection(kind.value)
    of_source = tray.stage() is Stage.COMPILE_DEVICE
    tray.note_pass("")
    tray.enter_stage(Stage.BUILD_REFERENCE)
    if not _well_formed_up_to_failure(case, module, of_source):
        return Rejection(kind.value)
    tray.enter_stage(Stage.INTERPRET)
    paced(False)
    _, _, results = interpret(tvm_api.entry_of(module), case.input_seed, effort)
    paced(True)
    if results.defined:
        return Rejection(kind.value, True, "defined")
    if results.verdict == Verdict.UNDEFINED:
        return Rejection(kind.value, True)
    tray.enter_stage(Stage.BUILD_REFERENCE)
    return Rejection(kind.value, True, "builds" if _builds(case, tray) else "")


def _well_formed_up_to_failure(case: Case, module: Any, of_source: bool) -> bool:
    """Whether TVM's verifiers accept the program, and what the failing step was given.

    With `of_source` nothing failed up to the source, and it is what the case's own passes made that they look at.

    They accept what the default pipeline gives each of its passes. A pass that another has given something ill-formed
    is not the one to blame. The verifiers run in a process of their own, since some programs kill them.
    """

    def look() -> str | None:
        watch = tvm_api.ModuleWatch()
        try:
            target = ask_compiler(lambda: tvm_api.target_of(case.target))
            context = ask_compiler(lambda: tvm_api.pass_context(case.config, [watch]))
            with target, context:
                given = ask_compiler(lambda: tvm_api.bind_target(module, target))
                for spec in case.passes:
                    given = ask_compiler(lambda spec=spec, given=given: instantiate(spec)(given))  # type: ignore[misc]
                ask_compiler(lambda: tvm_api.build(given, target, case.config.pipeline))
        except CompilerRefused:
            if of_source:
                return None
            given = watch.module or module
        else:
            if not of_source:
                return None
        return "accepted" if tvm_api.well_formed(module) and tvm_api.well_formed(given) else None

    return run_apart(look)[0] is not None


def _builds(case: Case, tray: Tray) -> bool:
    """Whether the program compiles without optimisation; no machine code is generated."""
    wanted = REFERENCE_TARGET if kind_of_target(case.target) == "llvm" else case.target
    try:
        module = ask_compiler(lambda: tvm_api.load_ir(case.ir))
        built = compile_executable(module, wanted, REFERENCE_CONFIG, tray)
        sources = ask_compiler(lambda: tvm_api.cuda_sources(built))
    except CompilerRefused:
        return False
    toolchain = find_toolchain() if sources else None
    return toolchain is None or first_refusal(toolchain, sources, arch_of_target(wanted)) is None
