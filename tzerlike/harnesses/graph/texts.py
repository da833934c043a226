"""The texts of a bundle of a model: TVMScript, and a script that takes tvm and numpy alone."""

from __future__ import annotations

import base64
import json
import zlib
from random import Random

import numpy as np
from msgspec.structs import replace

from tzerlike.core.case import Case
from tzerlike.core.dtypes import parse
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.targets import target_options
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.bundles.compilation import confirming_limits
from tzerlike.findings.repro import LIMIT, quotable, replaying
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin
from tzerlike.graph.reference import expected_outputs, source_values
from tzerlike.graph.relax import relax_module
from tzerlike.graph.spec import ROWS
from tzerlike.graph.stored import model_of
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

_HEAD = '''\
"""{title}

Exits non-zero when the bug shows, and 0 when it does not.
"""

import base64
import resource
import signal
import sys
import zlib

{imports}
import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

SECONDS, MEMORY = {seconds!r}, {memory!r}


{limit}

{module}


def drawn(seed, low, high, shape, dtype):
    """The values of what comes in."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return rng.integers(low, high, shape, endpoint=True).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype({bfloat16}dtype)


CONSTANTS = {{
{constants}}}
INPUTS = [
{inputs}]
PASSES = [{passes}]

limit()
target = tvm.target.Target({target!r})
module = Module
if CONSTANTS:
    module = relax.transform.BindParams("main", {{name: drawn(*one) for name, one in CONSTANTS.items()}})(module)
with target, tvm.transform.PassContext(opt_level={level}, config={options!r}):
'''

_BUILD = """\
    for step in PASSES:
        module = step(module)
    built = relax.build(module, target)
"""

_BUILD_END = """\
print("TVM compiles the model: the bug does not show")
"""

_FORM = """\
    for step in PASSES:
        module = step(module)
        if not relax.analysis.check_well_formed(module):
            print(f"{step.info.name} leaves what the verifier refuses")
            sys.exit(1)
print("the bug does not show")
"""

_RUN = """\
outputs = relax.VirtualMachine(built, tvm.cpu())["main"](*(tvm.runtime.tensor(drawn(*one)) for one in INPUTS))
got = outputs[{number}].numpy()


def array(text, dtype):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype).reshape({shape!r})


# What the model computes in NumPy, and how far off a correct build may be.
expected = array({expected!r}, {dtype!r})
bound = array({bound!r}, "float64")
with np.errstate(invalid="ignore"):
    bad = ~(abs(got.astype("float64") - expected) <= bound) if expected.dtype.kind == "f" else got != expected
for index in np.argwhere(bad)[:5]:
    place = tuple(index)
    print(f"output{number}{{list(map(int, place))}} is {{got[place]}}, not {{expected[place]}} ± {{bound[place]}}")
print("the bug shows" if bad.any() else "every result is right: the bug does not show")
sys.exit(int(bad.any()))
"""


def texts(finding: Finding, limits: Limits) -> Texts:
    """Return the texts of a finding; without TVMScript that reads back, it takes tzerlike to show it."""
    model = model_of(finding.case.ir)
    lines = "\n".join(f"# {line}" for line in str(model).splitlines())
    module = script_of_model(model)
    if not module:
        return Texts(f"{lines}\n", replaying(finding.title))
    return Texts(f"{lines}\n\n{module}\n", _repro(finding, model, module, confirming_limits(finding.kind, limits)))


def script_of_model(model: Model) -> str:
    """Return TVMScript of a model whose constants are parameters, "" where it does not read back."""
    bare = replace(model, sources=tuple(replace(one, kind="input") for one in model.sources))

    def printed() -> str:
        text = tvm_api.script_of(relax_module(bare, lambda origin: None))
        return text if tvm_api.script_of(tvm_api.parse_script(text)) == text else ""

    try:
        found = in_child(printed)[0] or ""
    except Exception:  # noqa: BLE001 - the compiler may raise anything while it prints and parses
        return ""
    return "\n".join(line for line in found.splitlines() if not line.startswith("# from ")).strip()


def _repro(finding: Finding, model: Model, module: str, limits: Limits) -> str:
    case, results = finding.case, finding.observation.results
    named = {f"x{number}": origin for number, origin in enumerate(model.sources)}
    constants = {name: _drawn(one, case) for name, one in named.items() if one.kind == "constant"}
    bfloat16 = any(one.type.dtype == "bfloat16" for one in model.sources)
    head = _HEAD.format(
        title=quotable(finding.title),
        imports="import ml_dtypes" if bfloat16 else "",
        bfloat16='ml_dtypes.bfloat16 if dtype == "bfloat16" else ' if bfloat16 else "",
        seconds=limits.seconds,
        memory=limits.memory,
        limit=LIMIT,
        module=module,
        constants="".join(f"    {name!r}: {one},\n" for name, one in constants.items()),
        inputs="".join(f"    {_drawn(one, case)},\n" for name, one in named.items() if name not in constants),
        passes=", ".join(f"relax.transform.{spec.name.removeprefix('relax.')}()" for spec in case.passes),
        target=target_options(case.target),
        level=case.config.opt_level,
        options=dict(case.config.options),
    ).replace("\n\n\nimport numpy", "\n\nimport numpy")
    if finding.kind == "invalid-ir":
        return head + _FORM
    found = None if results is None else results.optimised.difference
    if finding.kind != "wrong-code" or found is None:
        return head + _BUILD + _BUILD_END
    want = expected_outputs(model, ROWS, source_values(model, case.input_seed))[found.parameter]
    run = _RUN.format(
        number=found.parameter,
        shape=want.values.shape,
        expected=_packed(want.values),
        dtype=str(want.values.dtype),
        bound=_packed(np.broadcast_to(want.bound, want.values.shape).astype("float64")),
    )
    return head + _BUILD + run


def _drawn(origin: Origin, case: Case) -> str:
    """The arguments of `drawn`, which does as tzerlike.graph.values does."""
    seed = Random(f"{origin.seed} {case.input_seed}").getrandbits(64)
    low, high, kind = origin.low, origin.high, parse(origin.type.dtype)
    if kind is not None and kind.is_int and origin.type.dtype != "bool":
        low, high = max(int(np.ceil(low)), kind.low), min(int(np.floor(high)), kind.high)
    return f"({seed}, {low}, {high}, {json.dumps(origin.type.shape)}, {origin.type.dtype!r})"


def _packed(values: Array) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 9)).decode()
