"""How TVM fails on a model that is given as source: in which words, in a child."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.effort import Check
from tzerlike.core.errors import Fault
from tzerlike.core.finding import Finding
from tzerlike.core.observation import ILL_FORMED, READS_BACK, Offence, Stage
from tzerlike.findings.issue.layout import cut
from tzerlike.findings.issue.messages import MESSAGE_LINES, quotable
from tzerlike.graph.model import Model
from tzerlike.graph.relax import change_of_type, relax_accepts
from tzerlike.graph.steps import GRADIENT, leading, noted_as
from tzerlike.harnesses.graph.fewer_lines import with_fewer_lines
from tzerlike.harnesses.graph.offences import ALL_CHECKS, PassJudge
from tzerlike.harnesses.graph.passes import LIFTED, completed, made_pass
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api, tvm_build, tvm_passes
from tzerlike.systems.refusal import CompilerRefused, ask_compiler


def shortest_source(finding: Finding, model: Model, source: str) -> str:
    """Return source of a module on which TVM fails as on that of a model, in the same words, with fewer lines.

    The source as it is where it fails otherwise than in a pass, or in code generation by an exception.
    """
    if (
        not fails_on_source(finding)
        or any(one.kind == "constant" for one in model.sources)
        or "@I.ir_module" not in source
    ):
        return source
    return searched(finding, model, partial(with_fewer_lines, source)) or source


def fails_on_source(finding: Finding) -> bool:
    """Whether what is wrong is seen without running what is built: an exception, a death in a pass, or what that
    leaves."""
    stage = finding.observation.stage
    raises = finding.kind == "ice-on-valid" and stage in (Stage.PASSES, Stage.BUILD)
    return raises or finding.kind == "invalid-ir" or (finding.kind == "crash" and stage is Stage.PASSES)


def searched(finding: Finding, model: Model, search: Callable[[Callable[[str], str]], str]) -> str:
    """Return the source that a search comes to, which asks for sources how TVM fails on them."""
    if finding.kind != "crash":
        found, died = in_child(lambda: search(lambda text: _failure(finding, model, text)))
        if not died:
            return found or ""
    # Each is tried in a child of its own where one of them kills it.
    return search(lambda text: _in_words(finding, model, text))


def without_idle_passes(finding: Finding, model: Model, source: str) -> Finding:
    """Return a finding with no pass that TVM fails the same without on the module of a source, of those behind what
    makes the program: a pass may have put it into a form that the source has anyway."""
    own = finding.case.passes[len(leading(finding.case.passes)) :]
    wanted = _in_words(finding, model, source) if own else ""
    for spec in own:
        passes = tuple(one for one in finding.case.passes if one is not spec)
        fewer = replace(finding, case=replace(finding.case, passes=passes))
        if wanted and _in_words(fewer, model, source) == wanted:
            finding = fewer
    return finding


def _in_words(finding: Finding, model: Model, source: str) -> str:
    found, died = in_child(lambda: _failure(finding, model, source))
    return f"signal {died}" if finding.kind == "crash" and died == finding.observation.signal else found or ""


def _failure(finding: Finding, model: Model, source: str) -> str:
    """How TVM fails on the module of a source; "" where that is none that is well-formed."""
    try:
        module = ask_compiler(lambda: tvm_api.parse_script(source))
    except CompilerRefused:
        return ""
    return _run(finding, model, module) if relax_accepts(module) and _taken(finding, module) else ""


def _taken(finding: Finding, module: Any) -> bool:
    """Whether a module is one that the first step is documented to take: gradients are those of one dataflow block."""
    if GRADIENT not in finding.case.passes:
        return True
    blocks = module[tvm_api.ENTRY].body.blocks
    return len(blocks) == 1 and isinstance(blocks[0], tvm_api.part("relax").DataflowBlock)


def _run(finding: Finding, model: Model, module: Any) -> str:
    """How the passes and the build of a finding fail on a module; "" where they do not, or where it takes no passes."""
    stage, failed = finding.observation.stage, ""
    steps = completed(finding.case.passes, model) if stage is Stage.BUILD else finding.case.passes
    try:
        if finding.kind == "invalid-ir":
            return _breach(finding, module)
        passed = module_behind(finding.case, steps, module)
        if stage is Stage.BUILD:
            _build(finding, passed)
    except CompilerRefused as refusal:
        failed = refusal.message
    return cut(quotable(failed), MESSAGE_LINES) if failed and _compiles(finding, module) else ""


def _breach(finding: Finding, module: Any) -> str:
    """What the pass of a finding does to a module that it may not; "" where that is not what it is said to do."""
    wanted, given = finding.observation.offences[0], _given_to_culprit(finding, module)
    if given is None:
        return ""
    spec, before = given
    judge = PassJudge(spec, before, ALL_CHECKS)
    found = next(judge.offences(module_behind(finding.case, [spec], before)), None)
    if found is None or found.check != wanted.check:
        return ""
    return words_of(found)


def _given_to_culprit(finding: Finding, module: Any) -> tuple[PassSpec, Any] | None:
    """The pass of a finding of invalid IR, and what the passes in front of it make of a module for it."""
    passes, culprit = finding.case.passes, finding.observation.offences[0].pass_name
    place = next((place for place, spec in enumerate(passes) if noted_as(spec) == culprit), None)
    return None if place is None else (passes[place], module_behind(finding.case, passes[:place], module))


def types_around(finding: Finding, source: str) -> list[str]:
    """Return the type of `main` in the module of a source before the pass that changes it and after that, or those of
    its result where nothing else is changed; none where they are not to be had."""

    def printed() -> str:
        given = _given_to_culprit(finding, tvm_api.parse_script(source))
        if given is None:
            return ""
        spec, before = given
        modules = before, module_behind(finding.case, [spec], before)
        old, new = (tvm_api.type_of(module[tvm_api.ENTRY]) for module in modules)
        if not change_of_type(old, new):
            return ""
        if tvm_api.structural_equal(old.params, new.params):
            old, new = old.ret, new.ret
        return "\n".join(map(_type_text, (old, new)))

    try:
        return (in_child(printed)[0] or "").splitlines()
    except Fault:  # the compiler may raise anything while it parses and prints
        return []


def _type_text(one: Any) -> str:
    # Of a type by itself, the printer says T.Tuple.
    return " ".join(one.script(int_dtype="int64").replace("T.Tuple(", "R.Tuple(").split())


def words_of(offence: Offence) -> str:
    """Return what is said of an offence, whatever else is in the module."""
    if offence.check == Check.SIGNATURES:
        return offence.where.partition(": ")[0]
    return offence.where if offence.check in (ILL_FORMED, READS_BACK) else offence.rule


def module_behind(case: Case, passes: Sequence[PassSpec], module: Any) -> Any:
    """Return what passes make of a module, under the target and the options of a case; CompilerRefused where TVM
    refuses it."""
    with tvm_build.target_of(case.target), tvm_passes.pass_context(case.config, []):
        for spec in passes:
            module = ask_compiler(partial(made_pass(spec), module))
    return module


def _build(finding: Finding, module: Any) -> None:
    target = tvm_build.target_of(finding.case.target)
    with target, tvm_passes.pass_context(finding.case.config, []):
        ask_compiler(lambda: tvm_api.part("relax").build(module, target))


def _compiles(finding: Finding, module: Any) -> bool:
    """Whether a module compiles without the passes that are said to fail, where there are such."""
    try:
        if finding.case.passes and finding.kind != "invalid-ir":
            _build(finding, module_behind(finding.case, (LIFTED,), module))
    except CompilerRefused:
        return False
    return True
