"""The scripts of a call that TVM should refuse, and does not, or not in words."""

from __future__ import annotations

import textwrap

from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.targets import target_options
from tzerlike.findings.issue.pytest_file import pytest_file, snake_case
from tzerlike.findings.repro import quotable
from tzerlike.graph.model import Model
from tzerlike.harnesses.graph.program import call_of, inputs_of, normalizing_source
from tzerlike.harnesses.graph.sources import target_source
from tzerlike.harnesses.proof import Regression
from tzerlike.oracles.model_refusals import NEGATIVE_EXTENT

_SCRIPT = '''\
"""{title}

Exits non-zero where the call, wrong in one place ({what}), is not refused by an error that says why.
"""

import sys

import tvm
from tvm import relax

{inputs}
builder = relax.BlockBuilder()
try:
    with builder.function("main", [{taken}]):
        builder.emit_func_output(builder.emit({call}))
    module = builder.finalize()
    print(module.script())
    relax.build(module, tvm.target.Target({target!r}))
except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
    print(f"refused: {{error}}")
    sys.exit(0)
print("TVM takes a call that is wrong")
sys.exit(1)
'''

_REFUSING = 'raise TypeError("as it should")\n'

_ANY_EXTENT = """\
try:
    {first}made = {call}
except (TypeError, ValueError):
    return
assert all(int(extent) >= 0 for extent in made.ty.shape.values)
"""

_BUILT = """\
with builder.function("main", [{taken}]):
    builder.emit_func_output(builder.emit({call}))
relax.build(builder.finalize(), target={target})
"""


def refusal_script(finding: Finding, model: Model) -> str:
    """Return a script of a call that is to be refused."""
    (vertex,) = model.vertices
    return _SCRIPT.format(
        title=quotable(finding.title),
        what=quotable(vertex.broken),
        inputs="".join(f"{line}\n" for line in inputs_of(model)),
        call=call_of(model),
        taken=_taken(model),
        target=target_options(finding.case.target),
    )


def refusal_test(finding: Finding, model: Model) -> Regression:
    """Return the test that a call is refused: where its type is inferred, or at the latest where it is built. What
    gives a result of negative extent may give another one as well."""
    (vertex,) = model.vertices
    seen = finding.observation
    name = f"{snake_case(vertex.operator)}_invalid_call"
    *inputs, call = normalizing_source(model).splitlines()
    if seen.offences[0].where.startswith(NEGATIVE_EXTENT) and len(vertex.outputs) == 1:
        tests = ("\n".join([*inputs, _ANY_EXTENT.format(first=first, call=call)]) for first in ("", f"{_REFUSING}    "))
        return Regression(*(pytest_file(name, [body], ["from tvm import relax"]) for body in tests))
    if seen.exit is Exit.REJECTED and seen.stage is not Stage.LOAD:
        inputs.append("builder = relax.BlockBuilder()")
        call = _BUILT.format(taken=_taken(model), call=call_of(model), target=target_source(finding.case.target))

    def written(*statements: str) -> str:
        raising = "with pytest.raises((TypeError, ValueError)):\n" + textwrap.indent("".join(statements), "    ")
        body = "\n".join([*inputs, raising])
        return pytest_file(name, [body], ["import pytest", "from tvm import relax"])

    return Regression(written(call), written(_REFUSING, call))


def _taken(model: Model) -> str:
    return ", ".join(f"x{number}" for number in model.vertices[0].inputs)
