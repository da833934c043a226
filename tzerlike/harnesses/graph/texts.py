"""The texts in a model's bundle: TVMScript, and a script that needs only tvm and numpy."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Stage
from tzerlike.core.targets import arch_of_target, target_options
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.bundles.compilation import confirming_limits
from tzerlike.findings.issue.listing import PARSED_ONLY
from tzerlike.findings.issue.subject import OPERATORS_SHOWN, PASS_SHOWN, TYPES_SHOWN
from tzerlike.findings.programs import JudgeCase
from tzerlike.findings.repro import LIMIT, quotable, replaying, without_idle_imports
from tzerlike.graph.importers import importer_in, importer_named
from tzerlike.graph.model import Model
from tzerlike.graph.reference import ExpectedOutput
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT, noted_as
from tzerlike.graph.stored import model_of
from tzerlike.graph.symbols import RUNS
from tzerlike.harnesses.graph.building import expected_results
from tzerlike.harnesses.graph.failing import shortest_source, types_around, without_idle_passes
from tzerlike.harnesses.graph.fewer_lines import with_bare_output
from tzerlike.harnesses.graph.given import NO_MODEL, given_to_failing
from tzerlike.harnesses.graph.imported_program import imported_program
from tzerlike.harnesses.graph.offences import BREACHES
from tzerlike.harnesses.graph.passes import build_source, completed, step_source
from tzerlike.harnesses.graph.program import ModelSource, in_short, source_program
from tzerlike.harnesses.graph.refusal_texts import refusal_script, refusal_test
from tzerlike.harnesses.graph.regression import applied_test, bare_test, of_bare_output, regression_test, step_test
from tzerlike.harnesses.graph.sources import (
    constants_source,
    inputs_source,
    result_source,
    run_of,
    sources_source,
    values_source,
)
from tzerlike.harnesses.graph.variants import variants_shown
from tzerlike.harnesses.proof import proved, shown_by
from tzerlike.harnesses.tir.script import nvrtc_source

_HEAD = '''\
"""{title}

Exits non-zero when the bug shows, and 0 when it does not.
"""

{parsed}import base64
import textwrap
import resource
import signal
import sys
import zlib
{variables}
{imports}
import numpy as np
import tvm
import tvm_ffi
{importer}from tvm import relax{tirx}
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

SECONDS, MEMORY = {seconds!r}, {memory!r}


{limit}

{module}


{constants}INPUTS = [
{inputs}]
limit()
target = tvm.target.Target({target!r})
module = {made}
with target, tvm.transform.PassContext(opt_level={level}, config={options!r}, disabled_pass={disabled!r}):
'''

_BUILD = """\
{steps}
    built = {build}
"""

_OFFERED = """\
for device in built.mod.imports[0].imports:
    log = nvrtc_log(device.inspect_source(), {arch!r})
    if log is None:
        print("cannot tell: there is no NVRTC here")
        sys.exit(2)
    if log:
        sys.exit(log)
print("the CUDA compiler takes the source: the bug does not show")
"""

_BUILD_END = """\
print("TVM compiles the model: the bug does not show")
"""

_LAST = """\
{steps}
    before, hashed = module, tvm_ffi.structural_hash(module)
    {last}
    if {wrong}:
        print("{said}")
        sys.exit(1)
print("the bug does not show")
"""

_CALL = """\
got = {result}
"""

_OTHER_DTYPE = """\
print(f"{name} is of {{got.dtype}}, where {dtype} is right")
sys.exit(int(got.dtype != "{dtype}"))
"""

_OTHER_RUN = """\
INPUTS = [
{inputs}]
"""

_CALL_END = """\
print("the model runs: the bug does not show")
"""

_COMPARE = """\

# {what}, and how far off a correct build may be.
expected = {expected}
bound = {bound}
if got.shape != expected.shape:
    print(f"{name} has the shape {{got.shape}}, not {{expected.shape}}: the bug shows")
    sys.exit(1)
with np.errstate(invalid="ignore"):
    bad = ~(abs(got.astype("float64") - expected) <= bound) if expected.dtype.kind == "f" else got != expected
for index in np.argwhere(bad)[:5]:
    place = tuple(index)
    print(f"{name}{{list(map(int, place))}} is {{got[place]}}, not {{expected[place]}} ± {{bound[place]}}")
print("the bug shows" if bad.any() else "every result is right: the bug does not show")
sys.exit(int(bad.any()))
"""


_WITHOUT_INPUTS = ("crash", "ice-on-valid", "invalid-ir")
"""Kinds for which it takes a compiler alone, and no inputs."""

_MOST = 1 << 14
"""Characters of a source that holds constants, which do not compress."""


def texts(executor: ForkExecutor, finding: Finding, limits: Limits, judge: JudgeCase) -> Texts:
    """Return the texts of a finding; where no source makes its program, it takes tzerlike to show it."""
    model = model_of(finding.case.ir)
    lines = "\n".join(f"# {line}" for line in str(model).splitlines())
    if model.disrupted:
        repro, shows = shown_by(executor, finding, [refusal_script(finding, model)])
        test = proved(executor, refusal_test(finding, model), finding)
        return Texts(f"{lines}\n", repro, test, bool(test) or shows)
    program = source_of_program(finding, model)
    if program is None:
        return Texts(f"{lines}\n", replaying(finding.title))
    program, wrong = in_short(program), wrong_output(finding, model)
    limits = confirming_limits(finding, limits)
    script = repro_script(finding, model, program.source, limits, wrong)
    if finding.kind == "oom":
        # Nothing of it is tried: a child has less than the limit of its test.
        test = regression_test(finding, model, program.source, wrong).text
        return Texts(f"{lines}\n\n{program.shown}\n", script, test)
    short = _shortest(executor, finding, model, program, wrong, limits)
    repro, shows = shown_by(executor, finding, [*filter(None, (short.repro, script))])
    notes = variants_shown(executor, finding, model, judge)
    if short.place is not None:
        # Other operators would be in the place of one that is not shown.
        notes = {**notes, PASS_SHOWN: short.place, OPERATORS_SHOWN: []}
    if finding.kind == "invalid-ir" and finding.observation.offences[0].check == Check.SIGNATURES:
        notes = {**notes, TYPES_SHOWN: types_around(short.finding, short.program.source)}
    return Texts(f"{lines}\n\n{short.program.shown}\n", repro, short.test, bool(short.test) or shows, notes)


@dataclass(frozen=True, slots=True)
class _Short:
    """A program with the finding on it and its regression test, and a script where that is not the one of the whole
    program; the place of the pass that these take alone, where it is of what that is given."""

    finding: Finding
    program: ModelSource
    test: str
    repro: str = ""
    place: int | None = None


def _plain(text: str) -> ModelSource:
    """A program that a reader sees as it stands."""
    return ModelSource(text, text)


def _shortest(
    executor: ForkExecutor,
    finding: Finding,
    model: Model,
    program: ModelSource,
    wrong: ExpectedOutput | None,
    limits: Limits,
) -> _Short:
    """The shortest program whose regression test is proved."""
    source = program.source

    def written(found: Finding, text: str, model: Model = model) -> str:
        tests = (
            applied_test(found, model, text),
            step_test(found, model, text),
            regression_test(found, model, text, wrong),
        )
        return next(filter(None, (proved(executor, test, finding) for test in tests)), "")

    bare = with_bare_output(source)
    if bare != source and (test := proved(executor, bare_test(finding, model, bare, wrong), finding)):
        return _Short(finding, _plain(bare), test, of_bare_output(repro_script(finding, model, bare, limits, wrong)))
    if given := given_to_failing(finding, model):
        text = shortest_source(given.finding, NO_MODEL, given.source)
        longer = len(text.splitlines()) - len(source.splitlines())
        if longer <= given.place and (test := written(given.finding, text, NO_MODEL)):
            script = repro_script(given.finding, NO_MODEL, text, limits, None)
            return _Short(given.finding, _plain(text), test, script, given.place)
    shortest = shortest_source(finding, model, source)
    if shortest != source:
        plainer = without_idle_passes(finding, model, shortest)
        if test := written(plainer, shortest):
            return _Short(plainer, _plain(shortest), test, repro_script(plainer, model, shortest, limits, wrong))
    test = written(finding, source)
    return (None if test else _with_constants(finding, model, limits, written)) or _Short(finding, program, test)


def _with_constants(
    finding: Finding, model: Model, limits: Limits, written: Callable[[Finding, str, Model], str]
) -> _Short | None:
    """What shows only where the program holds its constants: branches and closures take parameters from outside.

    None where it has none, is imported, has to be run or timed, or is too long for a report.
    """
    case = finding.case
    constants = any(one.kind == "constant" for one in model.sources)
    if not constants or importer_in(case.passes) or finding.kind not in _WITHOUT_INPUTS:
        return None
    _, values = values_of_runs(model, ROWS, case.input_seed)[0]
    program = source_program(model, values=values, alone=GRADIENT in case.passes)
    if program is None or len(program.source) > _MOST:
        return None
    program = in_short(program)
    shortest = shortest_source(finding, NO_MODEL, program.source)
    for one in (program,) if shortest == program.source else (_plain(shortest), program):
        if test := written(finding, one.source, NO_MODEL):
            return _Short(finding, one, test, repro_script(finding, NO_MODEL, one.source, limits, None))
    return None


def source_of_program(finding: Finding, model: Model) -> ModelSource | None:
    """Return source that makes the program which the passes of a case are given; None where there is none."""
    case = finding.case
    if importer_in(case.passes):
        return imported_program(model, case, alone=importer_named(finding.observation.culprit) is not None)
    return source_program(model, alone=GRADIENT in case.passes)


def wrong_output(finding: Finding, model: Model) -> ExpectedOutput | None:
    """Return the output that wrong code has wrong, None where it is no output."""
    results = finding.observation.results
    if finding.kind != "wrong-code" or results is None or results.optimised.difference is None:
        return None
    run, output = run_of(finding, model)
    one, values = values_of_runs(model, ROWS, finding.case.input_seed)[run]
    return expected_results(finding.case.passes, one, values)[output]


def repro_script(finding: Finding, model: Model, module: str, limits: Limits, wrong: ExpectedOutput | None) -> str:
    """Return the script of a finding; `module` is source that defines `Module`, and `wrong` the output that is."""
    text = _whole_script(finding, model, module, limits, wrong)
    if text.count("INPUTS") == 1:
        text = re.sub(r"^INPUTS = \[\n.*?^\]\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return without_idle_imports(text)


def _whole_script(finding: Finding, model: Model, module: str, limits: Limits, wrong: ExpectedOutput | None) -> str:
    case, results = finding.case, finding.observation.results
    run_number, output = run_of(finding, model)
    importer = importer_in(case.passes)
    constants = "" if importer else constants_source(model, sources_source(model, case, run_number))
    refused = finding.observation.stage is Stage.COMPILE_DEVICE
    more, helpers = nvrtc_source() if refused else ([], "")
    bfloat = any(one.type.dtype == "bfloat16" for one in model.sources)
    head = _HEAD.format(
        title=quotable(finding.title),
        imports="\n".join([*(line for line in more if line != "import sys"), *["import ml_dtypes"] * bfloat]),
        importer="".join(f"{line}\n" for line in importer.imports) if importer else "",
        tirx=", tirx" if "tirx." in module else "",
        parsed=f"{PARSED_ONLY}\n\n" if "TypeVar(" in module else "",
        variables="from typing import TypeVar\n" if "TypeVar(" in module else "",
        seconds=limits.seconds,
        memory=limits.memory,
        limit=LIMIT,
        module=f"{helpers}\n\n{module}" if helpers else module,
        constants=f"CONSTANTS = {{\n{constants}}}\n" if constants else "",
        made='relax.transform.BindParams("main", CONSTANTS)(Module)' if constants else "Module",
        inputs=inputs_source(model, case, run_number),
        target=target_options(case.target),
        level=case.config.opt_level,
        options=dict(case.config.options),
        disabled=list(case.config.disabled_passes),
    ).replace("\n\n\nimport numpy", "\n\nimport numpy")
    if finding.kind == "invalid-ir":
        return head + _breach(finding)
    passes = completed(case.passes, model)
    build = _BUILD.format(
        steps=textwrap.indent("".join(step_source(spec, "module") for spec in passes), "    ").rstrip(),
        build=build_source(case.passes, "module"),
    ).lstrip("\n")
    found = None if results is None else results.optimised.difference
    if refused:
        return head + build + _OFFERED.format(arch=arch_of_target(case.target))
    if finding.kind != "wrong-code":
        return head + build + _BUILD_END
    call = _CALL.format(result=result_source(case, output, "INPUTS"))
    if wrong is None or found is None:
        others = (
            _OTHER_RUN.format(inputs=inputs_source(model, case, number)) + call
            for number in range(1, RUNS if model.variables else 1)
        )
        return head + build + call + "".join(others) + _CALL_END
    if found.nature == "dtype":
        return head + build + call + _OTHER_DTYPE.format(name=found.name, dtype=found.expected)
    run = _COMPARE.format(
        name=f"output{output}" if wrong.source is None else found.name,
        what="What the model computes in NumPy" if wrong.source is None else "Slopes of what NumPy computes",
        expected=values_source(wrong.values, f'"{wrong.values.dtype}"'),
        bound=values_source(np.broadcast_to(wrong.bound, wrong.values.shape).astype("float64"), '"float64"'),
    )
    return head + build + call + run


def _breach(finding: Finding) -> str:
    """Steps up to the one that does what it may not, and what that is."""
    (offence,) = finding.observation.offences
    names = [noted_as(spec) for spec in finding.case.passes]
    steps = [step_source(spec, "module") for spec in finding.case.passes[: names.index(offence.pass_name) + 1]]
    return _LAST.format(
        steps=textwrap.indent("".join(steps[:-1]), "    ").rstrip(),
        last=steps[-1].rstrip(),
        wrong=BREACHES[offence.check].format(after="module"),
        said=f"{offence.pass_name}: {offence.rule}: that does not hold",
    )
