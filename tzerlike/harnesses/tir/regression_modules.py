"""The regression tests of modules: the output of a pass, and round trips through TVMScript."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace
from functools import partial
from itertools import takewhile

from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.effort import Check
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Offence
from tzerlike.core.shrink import Task, search
from tzerlike.findings.issue.pytest_file import UNCHANGED, pytest_file, snake_case
from tzerlike.harnesses.proof import Regression
from tzerlike.harnesses.tir.invalid import watch_source
from tzerlike.harnesses.tir.regression import applied_statements, build_statements, pieces_of, stand_in
from tzerlike.passes.catalog import constructor_source, instantiate, own_name, steps_of
from tzerlike.passes.naming import short_name
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.processes.forked import in_child
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import tvm_ffi
from tzerlike.systems.tvm_build import target_of
from tzerlike.tir.reducers.plan import fewer_passes
from tzerlike.tir.roundtrip import UNEQUAL

_IMPORTS = {
    "contextlib": "import contextlib",
    "tvm_ffi": "import tvm_ffi",
    "s_tir": "from tvm import s_tir",
    "tirx": "from tvm import tirx",
}

_COMES_BACK = """\
again = tvm.script.from_source(Module.script())
tvm.ir.assert_structural_equal(again, Module)
"""

_IS_PARSED = """\
tvm.script.from_source(Module.script())
"""


_HASHED = "before = tvm_ffi.structural_hash(Module)\n"


def round_trip_test(finding: Finding, calls: str) -> Regression:
    """Return the test of a program that does not come back from its text: of `calls`, or of case.json without them.

    Of text that does not parse nothing more is asked: something else may be lost on the way. Cured is the test of
    another program.
    """
    check = _COMES_BACK if finding.observation.pass_name == UNEQUAL else _IS_PARSED
    texts = (
        pytest_file("script_round_trip", [program.inside, check], program.imports, [program.outside])
        for program in (pieces_of(calls), stand_in(finding.case.target))
    )
    return Regression(*texts)


def applied_test(finding: Finding, script: str) -> Regression:
    """Return the test of a pass that changes its input, here the program itself, outside of any pipeline; cured is to
    look at the input after the pass alone. It is none where the pass does so in a pipeline alone."""
    (offence,) = finding.observation.offences
    program, spec = pieces_of(script), _as_run(finding.case, offence.pass_name)
    if offence.check != Check.IMMUTABILITY or spec is None:
        return Regression()
    call = constructor_source(spec) + "(Module)\n"
    imports = [*(line for word, line in _IMPORTS.items() if f"{word}." in _HASHED + call), *program.imports]
    steps = (_HASHED + call, call + _HASHED)
    name, outside = _test_name(offence), [program.outside]
    return Regression(*(pytest_file(name, [program.inside, one + UNCHANGED], imports, outside) for one in steps))


def stepwise_test(finding: Finding, script: str) -> Regression:
    """Return the test of a pass that changes its input, called on what the passes of the case make of the program."""
    (offence,) = finding.observation.offences
    program, (head, made) = pieces_of(script), applied_statements(finding.case)
    spec = _as_run(finding.case, offence.pass_name)
    if spec is None:
        return Regression()
    call, hashed = f"{constructor_source(spec)}(mod)", _HASHED.strip().replace("Module", "mod")

    def written(*last: str) -> str:
        under = textwrap.indent("\n".join((*made, *last)), "    ")
        body = f"{head}with target:\n{under}\n{UNCHANGED.replace('Module', 'mod')}\n"
        imports = [line for word, line in _IMPORTS.items() if f"{word}." in body]
        return pytest_file(_test_name(offence), [program.inside, body], [*imports, *program.imports], [program.outside])

    return Regression(written(hashed, call), written(call, hashed))


def fewest_steps(finding: Finding) -> Case | None:
    """Return the case with the fewest passes of the default pipeline on whose output a later one of it changes its
    input; None where it does not do so called by itself."""
    (offence,), case = finding.observation.offences, finding.case
    if offence.check != Check.IMMUTABILITY or case.config != ContextConfig() or case.passes:
        return None
    name, lowering = offence.pass_name, default_pipeline(case.target).passes
    start = replace(case, passes=tuple(takewhile(lambda spec: spec.name != name, lowering)))
    suspect = _as_run(case, name)
    if start.passes == lowering or suspect is None:
        return None

    def work() -> str | None:
        shows = partial(_changes_input, suspect)
        task = Task([fewer_passes], lambda one: (len(one.passes), one.id), lambda one: one.id, shows)
        return json.dumps(search(start, task).value.to_json()) if shows(start) else None

    answer, _ = in_child(work)
    return None if answer is None else Case.from_json(json.loads(answer))


def _test_name(offence: Offence) -> str:
    return f"{snake_case(short_name(offence.pass_name))}_{snake_case(offence.check)}"


def _as_run(case: Case, name: str) -> PassSpec | None:
    """The pass of a name with the arguments that it has when a case is compiled; None where that cannot be said."""
    passes = (*case.passes, *default_pipeline(case.target, case.config).passes)
    spec = next((spec for spec in passes if spec.name == name), PassSpec(name))
    try:
        instantiate(spec)
    except UserError:
        return None
    return spec


def _changes_input(spec: PassSpec, case: Case) -> bool:
    """Whether a pass changes what the passes of a case make of its program."""
    ((_, suspect),) = steps_of([spec])
    try:
        made = Compilation(case.target, case.config, steps_of(case.passes)).lower(load(case.ir))
        hashed = tvm_ffi.structural_hash(made)
        with target_of(case.target):
            ask_compiler(lambda: suspect(made))
    except CompilerRefused:
        return False
    return bool(tvm_ffi.structural_hash(made) != hashed)


def invalid_ir_test(finding: Finding, script: str) -> Regression:
    """Return the test of a pass that leaves invalid IR, or changes its input; cured is a build without that pass."""
    (offence,) = finding.observation.offences
    program, watch = pieces_of(script), watch_source(offence)

    def written(case: Case, runs: str) -> str:
        build, imports = build_statements(case, "", False, instruments="watch")
        body = f"with contextlib.suppress(Exception):\n{textwrap.indent(build, '    ')}assert {runs}not watch.shown\n"
        return pytest_file(
            _test_name(offence),
            [program.inside, body],
            [*(line for name, line in _IMPORTS.items() if f"{name}." in body + watch), *program.imports, *imports],
            [watch, program.outside],
        )

    case, config = finding.case, finding.case.config
    passes = tuple(spec for spec in case.passes if spec.name != offence.pass_name)
    disabled = (*config.disabled_passes, offence.pass_name)
    cured = replace(case, passes=passes, config=replace(config, disabled_passes=disabled))
    runs = f'"{own_name(offence.pass_name)}" in watch.ran and ' if offence.check == Check.IMMUTABILITY else ""
    return Regression(written(case, runs), written(cured, ""))
