"""The regression test of a model, in the style of TVM's own: pytest, tvm and numpy, the model as TVMScript.

It fails as long as the bug is there. One of a build that does not end well is cured by another model, one of wrong
code by the right results, and one of what a pass leaves by a sequence without that pass.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import numpy as np

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.observation import ILL_FORMED, Offence, Stage
from tzerlike.core.results import Difference
from tzerlike.core.targets import arch_of_target, target_options
from tzerlike.findings.issue.listing import PARSED_ONLY
from tzerlike.findings.issue.literal import array_source, number_source, python_source
from tzerlike.findings.issue.pytest_file import PROBLEMS, pytest_file, snake_case
from tzerlike.findings.repro import without_idle_imports
from tzerlike.graph.importers import importer_in
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin, TensorType, Vertex, model_text
from tzerlike.graph.reference import ExpectedOutput
from tzerlike.graph.steps import GRADIENT, noted_as
from tzerlike.graph.symbols import RUNS
from tzerlike.harnesses.graph.imported_program import imported_program
from tzerlike.harnesses.graph.offences import BREACHES
from tzerlike.harnesses.graph.passes import LIFTED, ZERO, build_source, completed, step_source
from tzerlike.harnesses.graph.program import normalizing_source
from tzerlike.harnesses.graph.sources import (
    constants_source,
    inputs_source,
    result_source,
    run_of,
    sources_source,
    target_source,
)
from tzerlike.harnesses.proof import Regression
from tzerlike.harnesses.tir.script import nvrtc_source
from tzerlike.passes.naming import short_name

_TYPE_VARIABLE = re.compile(r'^\w+ = TypeVar\("\w+"\)\n', re.MULTILINE)
_AS_IT_IS = "mod = Module\n"
"""What there is to do with a model that has no constants, before its passes run."""

_NAMED_FOR_ONCE = re.compile(r"^mod = Module\n((?:resource\..*\n)?(?:mod|built) = .*)\bmod\b")
"""What is made of the module at once, which needs no other name for it."""

_INLINE = 64
"""Elements that a test lists; of a larger output it looks at the first one that is wrong."""

_RUN = """\
inputs = [
{inputs}]
got = {result}
"""

_OFFERED = """\
for device in built.mod.imports[0].imports:
    log = nvrtc_log(device.inspect_source(), {arch})
    if log is None:
        pytest.skip("there is no NVRTC here")
    assert not log, log
"""

_LIMITED = "resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
"""What models are built in takes a part of such a limit, and what fuzzing limits memory to is less."""

_OTHER_MODEL = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            z = (y,)
            R.output(z)
        return z
"""


_PLAIN = Model(
    (Origin(TensorType((3,), "float32")),), (Vertex("negative", (0,), {}, (TensorType((3,), "float32"),)),), (1,)
)

_OTHER_LOSS = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.sum(x)
            R.output(y)
        return y
"""


def regression_test(finding: Finding, model: Model, script: str, expected: ExpectedOutput | None) -> Regression:
    """Return the test of a finding, an empty one where there is none: one that takes all of the time.

    `script` is source that defines `Module`, `expected` the output that is wrong, where one is.
    """
    case = finding.case
    run_number, output = run_of(finding, model)
    values = sources_source(model, case, run_number)
    start = _AS_IT_IS if importer_in(case.passes) else _module(model, values)

    def written(*statements: str, program: str = script) -> str:
        return _file(finding, program, "".join(statements))

    if finding.kind == "invalid-ir":
        count, ways = _breach(case, finding.observation.offences[0])
        programs = script, _right_program(case, count, script), script
        return Regression(
            *(
                written(start, _under(case, case.passes[:count], way), program=program)
                for way, program in zip(ways, programs, strict=True)
            )
        )
    if finding.observation.stage is Stage.LOAD and len(model.vertices) == 1:
        made = (normalizing_source(one) for one in (model, _PLAIN))
        return Regression(*(_file(finding, "", source) for source in made))
    passes = completed(case.passes, model)
    build = _plain_build(case, passes) or _under(case, passes, f"built = {build_source(case.passes, 'mod')}\n")
    others = _other_program(case)
    if finding.kind == "oom":
        build = _LIMITED + build
    if finding.observation.stage is Stage.COMPILE_DEVICE:
        offered = _OFFERED.format(arch=python_source(arch_of_target(case.target)))
        return Regression(written(start, build, offered), written(_AS_IT_IS, build, offered, program=others))
    if finding.kind in ("crash", "ice-on-valid", "oom"):
        return Regression(written(start, build), written(_AS_IT_IS, build, program=others))
    results = finding.observation.results
    if finding.kind != "wrong-code" or results is None:
        return Regression()
    difference = results.optimised.difference

    def ran(inputs: str, number: int) -> str:
        return _RUN.format(inputs=inputs, result=result_source(case, number, "inputs"))

    run = ran(inputs_source(model, case, run_number), output)
    if difference is None or expected is None:
        runs = range(RUNS if model.variables else 1)
        run = "".join(ran(inputs_source(model, case, number), 0) for number in runs)
        other = ran('    np.zeros(3, "float32"),\n', 0)
        return Regression(written(start, build, run), written(_AS_IT_IS, build, other, program=others))
    wanted, cure, check = _comparison(expected, difference)
    return Regression(written(start, build, run, wanted, check), written(start, build, run, wanted, cure, check))


def bare_test(finding: Finding, model: Model, script: str, expected: ExpectedOutput | None) -> Regression:
    """Return the test of wrong results of a model whose only output is not in a tuple, an empty one of others."""
    if finding.kind != "wrong-code" or GRADIENT in finding.case.passes:
        return Regression()
    test = regression_test(finding, model, script, expected)
    return Regression(*map(of_bare_output, (test.text, test.cured)))


def of_bare_output(script: str) -> str:
    """Return a script for a model whose only output is not in a tuple."""
    return script.replace(")[0].numpy()", ").numpy()")


def applied_test(finding: Finding, model: Model, script: str) -> Regression:
    """Return the test of passes by themselves, an empty one where more than that may be at work in a failure."""
    case = finding.case
    if not _by_passes_alone(finding):
        return Regression()
    if finding.kind == "invalid-ir":
        count, ways = _breach(case, finding.observation.offences[0])
        steps, programs = _steps(case.passes[:count]), (script, _right_program(case, count, script), script)
        tests = (_applied(finding, model, script, steps + way, one) for way, one in zip(ways, programs, strict=True))
        return Regression(*tests)
    steps = _steps(case.passes)
    return Regression(*(_applied(finding, model, script, steps, one) for one in (script, _other_program(case))))


def step_test(finding: Finding, model: Model, script: str) -> Regression:
    """Return the test of passes by themselves of which one fails on any program, an empty one of others: it is cured by
    doing without that one, and what follows it."""
    passes, failed = finding.case.passes, short_name(finding.observation.pass_name)
    names = [short_name(noted_as(spec)) for spec in passes]
    if not _by_passes_alone(finding) or failed not in names:
        return Regression()
    before = passes[: names.index(failed)]
    return Regression(*(_applied(finding, model, script, _steps(steps), script) for steps in (passes, before)))


def _by_passes_alone(finding: Finding) -> bool:
    """Whether a finding takes no more than passes with default options."""
    config = finding.case.config
    fails = finding.kind in ("crash", "ice-on-valid") and finding.observation.stage is Stage.PASSES
    return (fails or finding.kind == "invalid-ir") and not config.options and not config.disabled_passes


def _applied(finding: Finding, model: Model, script: str, steps: str, program: str) -> str:
    """A test that takes steps on a program: `script`, with the model's constants, or another one."""
    number, _ = run_of(finding, model)
    plain = program != script or importer_in(finding.case.passes)
    start = _AS_IT_IS if plain else _module(model, sources_source(model, finding.case, number))
    return _file(finding, program, start + steps)


def _other_program(case: Case) -> str:
    """Source of a program with which nothing is wrong, made in the same way."""
    if importer := importer_in(case.passes):
        plainest = importer.plainest(importer.steps[0])
        return imported_program(_PLAIN, Case(model_text(_PLAIN), (plainest,))).source
    return _OTHER_LOSS if GRADIENT in case.passes else _OTHER_MODEL


def _right_program(case: Case, count: int, script: str) -> str:
    """Source of a program for which the step at a place, left out, is not missed: another one where it is an import."""
    return _other_program(case) if importer_in(case.passes[count : count + 1]) else script


def _breach(case: Case, offence: Offence) -> tuple[int, tuple[str, str, str]]:
    """The place of the pass that does what it may not, and statements that show it; then those without the pass, and
    those without a look at what it does."""
    count = [noted_as(spec) for spec in case.passes].index(offence.pass_name)
    last, wrong = step_source(case.passes[count], "mod"), BREACHES[offence.check].format(after="mod")
    held = "before = mod\n" * ("before" in wrong) + "hashed = tvm_ffi.structural_hash(mod)\n" * ("hashed" in wrong)
    asked = "relax.analysis.well_formed(mod)" if offence.check == ILL_FORMED else f"assert {_denied(wrong)}"
    return count, (f"{held}{last}{asked}\n", f"{held}{asked}\n", f"{held}{last}")


def _steps(passes: Sequence[PassSpec]) -> str:
    """Statements that apply passes to `mod`."""
    own = tuple(passes)
    zero = own[-len(ZERO) :] == ZERO
    steps = "".join(step_source(spec, "mod") for spec in (own[: -len(ZERO)] if zero else own))
    return steps + 'mod = relax.get_pipeline("zero")(mod)\n' * zero


def _denied(wrong: str) -> str:
    """Source that is true where `wrong` is not, as people write it."""
    return wrong.removeprefix("not ") if wrong.startswith("not ") else wrong.replace(" != ", " == ")


def _module(model: Model, values: Sequence[str]) -> str:
    """Statements that make `mod`, with its constants bound."""
    constants = constants_source(model, values)
    if not constants:
        return _AS_IT_IS
    return f'constants = {{\n{constants}}}\nmod = relax.transform.BindParams("main", constants)(Module)\n'


def _plain_build(case: Case, passes: Sequence[PassSpec]) -> str:
    """The build of `mod` in a line, or two, where it takes no more than a target; "" where it does."""
    steps = _steps(passes)
    if case.config.options or case.config.disabled_passes or (steps and tuple(passes) != (LIFTED,)):
        return ""
    build = build_source(case.passes, "mod").replace("target", f"target={target_source(case.target)}", 1)
    return f"{steps}built = {build}\n"


def _under(case: Case, passes: Sequence[PassSpec], last: str) -> str:
    """Statements that apply passes to `mod` as a case says, and what comes last."""
    steps = _steps(passes) + last
    contexts = ["target"]
    if case.config.options:
        contexts.append(f"tvm.transform.PassContext(config={python_source(dict(case.config.options))})")
    if case.config.disabled_passes:
        contexts.append(f"tvm.transform.PassContext(disabled_pass={python_source(case.config.disabled_passes)})")
    target = f"target = tvm.target.Target({python_source(target_options(case.target))})\n"
    return f"{target}with {', '.join(contexts)}:\n{textwrap.indent(steps or 'pass', '    ')}"


def _comparison(expected: ExpectedOutput, difference: Difference) -> tuple[str, str, str]:
    """Statements that make what is expected, that put it in the place of what was computed, and that compare."""
    what, here = expected.values, difference.index
    bound = np.broadcast_to(np.asarray(expected.bound, np.float64), what.shape)
    if difference.nature == "shape":
        return "", f"got = np.zeros({what.shape})\n", f"assert got.shape == {what.shape}\n"
    if difference.nature == "dtype":
        return "", f'got = got.astype("{difference.expected}")\n', f'assert got.dtype == "{difference.expected}"\n'
    if difference.only_finite:
        return "", f"got = np.zeros({what.shape})\n", "assert np.isfinite(got).all()\n"
    if what.size > _INLINE:
        place, value = f"got[{', '.join(map(str, here))}]", number_source(what[here])
        return "", f"{place} = {value}\n", f"assert abs(float({place}) - {value}) <= {number_source(bound[here])}\n"
    wanted = f"expected = {array_source(what, _dtype(what))}\n"
    if what.dtype.kind != "f":
        return wanted, "got = expected\n", "np.testing.assert_array_equal(got, expected)\n"
    off = np.vectorize(lambda one: float(f"{one * 1.001:.3g}"))(bound)
    wanted += f"bound = {array_source(off, _dtype(off))}\n"
    return wanted, "got = expected\n", 'assert (abs(got.astype("float64") - expected) <= bound).all()\n'


def _dtype(values: Array) -> str:
    return f'"{values.dtype}"'


def _file(finding: Finding, script: str, body: str) -> str:
    seen = finding.observation
    guilty = seen.culprit or (seen.results.guilty if seen.results is not None else "")
    if finding.kind == "invalid-ir":
        guilty = seen.offences[0].pass_name
    name = snake_case(short_name(guilty)) or ("block_builder" if seen.stage is Stage.LOAD else "build")
    program = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
    body = _NAMED_FOR_ONCE.sub(r"\1Module", body) if body != _AS_IT_IS else ""
    used = {
        "np": "import numpy as np",
        "base64": "import base64",
        "zlib": "import zlib",
        "tvm_ffi": "import tvm_ffi",
        "ml_dtypes": "import ml_dtypes",
        "resource": "import resource",
        "T": "from tvm.script import tirx as T",
        "tirx": "from tvm import tirx",
        "relax": "from tvm import relax",
        "I": "from tvm.script import ir as I",
        "R": "from tvm.script import relax as R",
    }
    taken = [line for module, line in used.items() if re.search(rf"\b{module}[.(]", program + body)]
    if importer := importer_in(finding.case.passes):
        taken += importer.imports
    # The parser of TVMScript finds them among the names of the file, not among those of the test.
    variables = _TYPE_VARIABLE.findall(program)
    if variables:
        taken += [PARSED_ONLY, "from typing import TypeVar"]
    parts = [_TYPE_VARIABLE.sub("", program), body]
    helpers = ""
    if "nvrtc_log(" in body:
        more, helpers = nvrtc_source()
        taken += [*more, "import pytest"]
    text = pytest_file(f"{name}_{PROBLEMS[finding.kind]}", parts, taken, [helpers, "".join(variables)])
    return without_idle_imports(text)
