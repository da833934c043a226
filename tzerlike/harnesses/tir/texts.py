"""The texts in the bundles of tensor IR, to read and to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.evidence import Evidence, evidence_for
from tzerlike.execution.compare.inputs import Parameter, parameters_of
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.rendering import Rendering, rendered
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.bundles.compilation import confirming_limits
from tzerlike.findings.issue.calls import with_lambdas
from tzerlike.findings.programs import JudgeCase
from tzerlike.findings.repro import ALWAYS_ZERO, quotable, replaying
from tzerlike.harnesses.proof import Regression, proved, shown_by
from tzerlike.harnesses.tir.parts import build_source, head_source, program_source
from tzerlike.harnesses.tir.regression import regression_test
from tzerlike.harnesses.tir.regression_modules import (
    applied_test,
    fewest_steps,
    invalid_ir_test,
    round_trip_test,
    stepwise_test,
)
from tzerlike.harnesses.tir.regression_schedule import crash_test, primitive_test, schedule_tests
from tzerlike.harnesses.tir.regression_speed import speed_tests
from tzerlike.harnesses.tir.running import RUN_IMPORTS, run_source, wrong_end
from tzerlike.harnesses.tir.script import repro_script
from tzerlike.oracles.examiner import Look, Pieces
from tzerlike.oracles.metamorphic import HELD
from tzerlike.oracles.primitives import CALLS
from tzerlike.systems.tvm_api import entry_of, load_ir


def texts(executor: ForkExecutor, finding: Finding, limits: Limits, evidence: Evidence, judge: JudgeCase) -> Texts:
    """Return the texts of a finding that occurred in a compilation."""
    rendering = rendered(executor, finding.case)
    readable = readable_script(rendering, finding, evidence, judge)
    parameters, baseline = evidence.parameters, executor.effort.baseline
    if finding.kind == "invalid-ir":
        text = _text_of_module(executor, finding, limits, readable)
    else:
        confirming = confirming_limits(finding, limits)
        test = regression_test(finding, confirming, readable, parameters, evidence.archive, baseline)
        text = test.text if _unproved(finding) else proved(executor, test, finding, evidence.archive)
    repro = repro_script(finding, limits, readable, parameters, baseline, emulated=bool(text))
    if ALWAYS_ZERO in repro:
        return Texts(rendering.script, repro, text, bool(text))
    return _shown(executor, finding, rendering.script, repro, text, evidence.archive)


def _text_of_module(executor: ForkExecutor, finding: Finding, limits: Limits, script: str) -> str:
    """The test of a pass that leaves invalid IR or changes its input: a build where that raises of it, or the pass
    called by itself where that shows it."""

    def tried(test: Regression) -> str:
        return proved(executor, test, finding)

    (offence,), seen = finding.observation.offences, finding.observation
    raises = offence.check == Check.TYPES and seen.exit is Exit.REJECTED and seen.stage is Stage.BUILD
    built = regression_test(finding, limits, script, baseline=executor.effort.baseline) if raises else Regression()
    if text := tried(built) or tried(applied_test(finding, script)):
        return text
    lowered = fewest_steps(finding)
    stepwise = Regression() if lowered is None else stepwise_test(replace(finding, case=lowered), script)
    return tried(stepwise) or tried(invalid_ir_test(finding, script))


def _unproved(finding: Finding) -> bool:
    """Whether a test is written down without being tried: it takes all of the time or memory, or another compiler."""
    return finding.kind in ("hang", "oom") or finding.observation.stage is Stage.COMPILE_DEVICE


def texts_of_look(executor: ForkExecutor, finding: Finding, look: Look) -> Texts:
    """Return the texts of what a probe found."""
    if finding.kind == "crash":
        return texts_of_calls(executor, finding, finding.parts[1], look.held[CALLS])
    printed = rendered(executor, finding.case)
    program = program_source(finding.case, printed.source)

    def run(behaviour: str, steps: str, parameters: Sequence[Parameter], modules: str) -> str:
        head = head_source(finding.title, quotable(behaviour), program, Limits(), RUN_IMPORTS)
        return head + steps + run_source(parameters) + build_source("build", finding.case) + wrong_end(modules)

    if finding.kind == "slow-code":
        evidence = evidence_for(finding.case, finding.observation.results)
        # A text that gives a program much like it will do, where that is as slow.
        for source in dict.fromkeys((printed.script, printed.source)):
            for timed in speed_tests(finding, source, evidence.parameters):
                if test := proved(executor, timed, finding, evidence.archive):
                    return Texts(printed.script, repro_script(finding, Limits(), source, evidence.parameters), test)
        return Texts(printed.script, repro_script(finding, Limits(), printed.source, evidence.parameters))
    archive = look.archive or b""
    tests = (proved(executor, test, finding, archive) for test in _tests_of_look(finding, look, printed.source))
    pieces = Pieces(quotable(finding.title), program, run, next(filter(None, tests), ""))
    if look.repro is None:
        return Texts(printed.script, replaying(finding.title), pieces.test, bool(pieces.test))
    return _shown(executor, finding, printed.script, look.repro(pieces), pieces.test, archive)


def _shown(
    executor: ForkExecutor, finding: Finding, program: str, repro: str, test: str, archive: bytes = b""
) -> Texts:
    """The texts with this script, which a test that is proved vouches for; else it is tried."""
    repro, alone = (repro, True) if test else shown_by(executor, finding, [repro], archive)
    return Texts(program, repro, test, alone)


def _tests_of_look(finding: Finding, look: Look, script: str) -> Iterator[Regression]:
    """The tests of what a probe found, the best to read first; none of what takes tzerlike to see."""
    if finding.observation.stage is Stage.TEXT:
        yield round_trip_test(finding, script)
    elif CALLS in look.held and look.repro is not None:
        calls = look.held[CALLS]
        yield from (primitive_test(finding, script, each) for each in (list(map(with_lambdas, calls)), calls))
    elif HELD in look.held and look.repro is not None and look.archive is not None:
        parameters = parameters_of(entry_of(load_ir(finding.case.ir)), rng_for(finding.case.input_seed, "inputs"))
        yield from schedule_tests(finding, script, look.held[HELD], parameters or (), look.archive)


_SCHEDULE_REPRO = '''\
"""{title}

Exits non-zero when the bug shows: the process dies in the last of these calls.
"""

import tvm
from tvm import s_tir

{program}

sch = s_tir.Schedule(module, seed=1, debug_mask=0)
{calls}
print("every call returned or was refused: the bug does not show")
'''


def texts_of_calls(executor: ForkExecutor, finding: Finding, place: str, calls: Sequence[str]) -> Texts:
    """Return the texts of a schedule primitive that dies: in the last of `calls`, where a script can make them."""
    printed = rendered(executor, finding.case)
    if not calls or any(call.startswith("raise") for call in calls):
        return Texts(printed.script, replaying(finding.title), alone=False)
    script = printed.source
    last = f"try:\n    {calls[-1]}\nexcept s_tir.ScheduleError as error:\n    print('refused:', error)"
    repro = _SCHEDULE_REPRO.format(
        title=finding.title, program=program_source(finding.case, script), calls="\n".join((*calls[:-1], last))
    )
    test = proved(executor, crash_test(place, script, calls), finding)
    return _shown(executor, finding, printed.script, repro, test)


def readable_script(rendering: Rendering, finding: Finding, evidence: Evidence, judge: JudgeCase) -> str:
    """Return the source that may stand for a program in what people read and run; "" where its JSON has to.

    Not every program comes back from its own text: TVMScript's operators simplify, and some attributes have no syntax.
    A text that gives another program stands for the first one where that shows the very same `finding`, on the same
    inputs with the same results, which are its `evidence`. `judge` runs a case once and returns what is found.
    """
    if rendering.faithful or not rendering.again:
        return rendering.source
    twin = replace(finding.case, ir=rendering.again)
    found = next((other for other in judge(twin) if other.signature == finding.signature), None)
    if found is None or (evidence.parameters and evidence_for(twin, found.observation.results) != evidence):
        return rendering.calls
    return rendering.script
