"""The Relax passes that take no arguments, and sequences of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any

from tzerlike.core.bandit import Yields, shares
from tzerlike.core.case import PassSpec
from tzerlike.core.errors import UserError
from tzerlike.graph.answer import HALF
from tzerlike.graph.importers import IMPORTERS
from tzerlike.graph.loss import differentiable
from tzerlike.graph.model import Model
from tzerlike.graph.spec import OPERATOR_ROWS
from tzerlike.graph.steps import COMPILED, GRADIENT, IMPORT_STEPS
from tzerlike.harnesses.graph.importing import suits
from tzerlike.systems import tvm_api, tvm_passes

_MOST_PASSES = 10

NOT_DRAWN = MappingProxyType(
    {
        "AttachGlobalSymbol": "the last but code generation",
        "CallTIRRewrite": "what is in a dataflow block is not to be rewritten: after ToNonDataflow",
        "ComputePrimValue": "of lowered code",
        "DecomposeOpsForInference": "takes every batch_norm to be in inference",
        "DecomposeOpsForTraining": "takes every batch_norm to be in training",
        "ExpandTupleArguments": "changes how main is called",
        "KillAfterLastUse": "of lowered code",
        "LazyGetInput": "changes how main is called",
        "LazySetOutput": "changes how main is called",
        "LiftTransformParams": "changes how main is called",
        "LowerAllocTensor": "of lowered code",
        "LowerRuntimeBuiltin": "of lowered code",
        "MetaScheduleApplyDatabase": "needs a database",
        "RealizeVDevice": "needs virtual devices",
        "RemovePurityChecking": "the purity of what comes after it is not checked: after ToNonDataflow",
        "RewriteCUDAGraph": "of lowered code",
        "RunCodegen": "needs code generators that this build has not got",
        "StaticPlanBlockMemory": "of lowered code",
        "ToNonDataflow": "what comes after it may want dataflow blocks",
        "VMShapeLower": "of lowered code",
        "BundleModelParams": "changes how main is called",
        "DataflowUseInplaceCalls": "what it makes is for CallTIRRewrite",
    }
)
"""Passes that are not drawn, and why: what they want of a program no model has by itself."""

MIXED = PassSpec("relax.ToMixedPrecision")
"""It takes floats to be float32, and computes with float16."""


def least_unit(passes: Sequence[PassSpec]) -> float:
    """Return how coarse roundings are behind some passes, whatever dtype results have; 0.0 for no more than that."""
    return HALF if MIXED in passes else 0.0


ADJOINT = f"{tvm_api.ENTRY}_adjoint"
"""What GRADIENT makes: it takes what `main` does, and gives what that gives, and the gradients by all of that."""


@cache
def rules_for_gradients() -> frozenset[str]:
    """Return the operators that TVM has a rule for gradients for."""
    operators = {one.operator for one in OPERATOR_ROWS.values()}
    return frozenset(name for name in operators if tvm_api.has_attribute(f"relax.{name}", "FPrimalGradient"))


LIFTED = PassSpec("relax.LambdaLift")
"""It makes functions of closures, for which the virtual machine has no code."""


def completed(passes: Sequence[PassSpec], model: Model) -> tuple[PassSpec, ...]:
    """Return a sequence with what a build of the model takes beside it."""
    return (*passes, LIFTED) if model.has_closures and LIFTED not in passes else tuple(passes)


def suited(passes: Sequence[PassSpec], model: Model) -> tuple[PassSpec, ...]:
    """Leave out what is not for a model; gradients are taken of the model as it stands, in its own dtypes, and a model
    that is imported is so first."""
    if GRADIENT in passes and differentiable(model, rules_for_gradients()):
        return (GRADIENT, *(one for one in passes if one not in (GRADIENT, MIXED, *IMPORT_STEPS)))
    first = tuple(one for one in passes[:1] if one in IMPORT_STEPS and suits(model, one))
    unsuited = {GRADIENT, *IMPORT_STEPS} if _single(model) else {GRADIENT, MIXED, *IMPORT_STEPS}
    return (*first, *(one for one in passes if one not in unsuited))


def _single(model: Model) -> bool:
    """Whether all floats are float32, and so is what the pass takes for a product of floats."""
    kinds = model.types()
    floats = all(kind.dtype == "float32" for kind in kinds if "float" in kind.dtype)
    products = (one for one in model.vertices if one.row.startswith(("matmul", "nn.conv", "einsum")))
    return floats and all(kinds[number].dtype == "float32" for one in products for number in one.inputs)


_PREFIX = "relax.transform."

ZERO = tuple(
    map(
        PassSpec,
        ("relax.LegalizeOps", "relax.AnnotateTIROpPattern", "relax.FoldConstant", "relax.FuseOps", "relax.FuseTIR"),
    )
)
"""The passes of `relax.get_pipeline("zero")`."""


def shipped_sequences(model: Model) -> tuple[tuple[PassSpec, ...], ...]:
    """Return what TVM has ready to put before `relax.build`, which brings passes of its own: nothing, and `zero`.

    Closures are lifted first: people will say that FuseOps need not take them.
    """
    return ((), (LIFTED, *ZERO) if model.has_closures else ZERO)


_SHIPPED_SHARE = 1 / 8
"""How many of the sequences drawn are a pipeline of TVM's that has passes, before it is mutated."""


@cache
def known_passes() -> Mapping[str, Any]:
    """Return what constructs each pass of Relax that can be had without arguments, by name."""
    module = tvm_api.part("relax").transform
    found = {}
    for ffi_name in sorted(tvm_passes.pass_constructors()):
        short = ffi_name.removeprefix(_PREFIX)
        constructor = getattr(module, short, None)
        if ffi_name.startswith(_PREFIX) and constructor is not None and not _takes_arguments(constructor):
            found[f"relax.{short}"] = constructor
    return found


def _through_text(module: Any) -> Any:
    return tvm_api.parse_script(str(module.script(show_meta=True)))


def _through_json(module: Any) -> Any:
    return tvm_api.load_ir(tvm_api.dump_ir(module))


ROUND_TRIPS = MappingProxyType({"relax.ThroughText": _through_text, "relax.ThroughJson": _through_json})
"""Steps of a sequence that write a module down and read it again; it has to be the same."""


def _channels_last() -> Any:
    return tvm_api.part("relax").transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})


def _no_layouts() -> Any:
    return tvm_api.part("relax").transform.ConvertLayout({})


def _fused_by_pattern() -> Any:
    dpl = tvm_api.part("relax.dpl")
    any_ = dpl.wildcard
    bias = dpl.is_op("relax.add")(dpl.is_op("relax.matmul")(any_(), any_()), any_())
    product = dpl.is_op("relax.multiply")(any_(), any_())
    return tvm_api.part("relax").transform.FuseOpsByPattern([("bias", bias), ("product", product)])


def _convolutions_last() -> Any:
    layouts = {"relax.nn.conv1d": ["NWC", "OWI"], "relax.nn.conv2d": ["NHWC", "HWIO"]}
    return tvm_api.part("relax").transform.ConvertLayout({**layouts, "relax.nn.conv3d": ["NDHWC", "ODHWI"]})


def _fused_by_chain() -> Any:
    dpl = tvm_api.part("relax.dpl")
    any_ = dpl.wildcard
    convolution = dpl.is_op("relax.nn.relu")(dpl.is_op("relax.nn.conv2d")(any_(), any_()))
    transposed = dpl.is_op("relax.matmul")(any_(), dpl.is_op("relax.permute_dims")(any_()))
    scaled = dpl.is_op("relax.add")(dpl.is_op("relax.multiply")(any_(), any_()), any_())
    patterns = [("convolution", convolution), ("transposed", transposed), ("scaled", scaled)]
    return tvm_api.part("relax").transform.FuseOpsByPattern(patterns, bind_constants=False)


def _scheduled() -> Any:
    """Schedules what is lowered already, by the rules that TVM has for processors."""
    dlight = tvm_api.part("s_tir.dlight")
    return dlight.ApplyDefaultSchedule(dlight.cpu.GEMV(), dlight.cpu.Reduction())


_CONVOLUTIONS_LAST = """\
relax.transform.ConvertLayout({
    "relax.nn.conv1d": ["NWC", "OWI"], "relax.nn.conv2d": ["NHWC", "HWIO"], "relax.nn.conv3d": ["NDHWC", "ODHWI"]
})"""

_FUSED_BY_CHAIN = """\
relax.transform.FuseOpsByPattern([
    ("convolution", relax.dpl.is_op("relax.nn.relu")(
        relax.dpl.is_op("relax.nn.conv2d")(relax.dpl.wildcard(), relax.dpl.wildcard())
    )),
    ("transposed", relax.dpl.is_op("relax.matmul")(
        relax.dpl.wildcard(), relax.dpl.is_op("relax.permute_dims")(relax.dpl.wildcard())
    )),
    ("scaled", relax.dpl.is_op("relax.add")(
        relax.dpl.is_op("relax.multiply")(relax.dpl.wildcard(), relax.dpl.wildcard()), relax.dpl.wildcard()
    )),
], bind_constants=False)"""

_CHANNELS_LAST = 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})'

_SCHEDULED = """\
tvm.s_tir.dlight.ApplyDefaultSchedule(tvm.s_tir.dlight.cpu.GEMV(), tvm.s_tir.dlight.cpu.Reduction())"""

_FUSED_BY_PATTERN = """\
relax.transform.FuseOpsByPattern([
    ("bias", relax.dpl.is_op("relax.add")(
        relax.dpl.is_op("relax.matmul")(relax.dpl.wildcard(), relax.dpl.wildcard()), relax.dpl.wildcard()
    )),
    ("product", relax.dpl.is_op("relax.multiply")(relax.dpl.wildcard(), relax.dpl.wildcard())),
])"""

WITH_ARGUMENTS: Mapping[str, tuple[Callable[[], Any], str]] = MappingProxyType(
    {
        "relax.ConvertLayoutOfNothing": (_no_layouts, "relax.transform.ConvertLayout({})"),
        "relax.ConvertLayoutToChannelsLast": (_channels_last, _CHANNELS_LAST),
        "relax.FuseOpsByPatterns": (_fused_by_pattern, _FUSED_BY_PATTERN),
        "relax.ConvertLayoutOfConvolutions": (_convolutions_last, _CONVOLUTIONS_LAST),
        "relax.FuseOpsByChains": (_fused_by_chain, _FUSED_BY_CHAIN),
        "relax.ApplyDefaultSchedule": (_scheduled, _SCHEDULED),
    }
)
"""Passes with arguments, by names of our own: what makes them, and the source of that."""

PLAINER = MappingProxyType(
    {
        **{step.name: one.plainest(step).name for one in IMPORTERS for step in one.steps if step != one.plainest(step)},
        "relax.ConvertLayoutOfConvolutions": "relax.ConvertLayoutToChannelsLast",
        "relax.ConvertLayoutOfNothing": "relax.ConvertLayoutToChannelsLast",
    }
)
"""For passes with arguments, the same as TVM's documentation has it; for an import, its plainest way."""


def made_pass(spec: PassSpec) -> Any:
    """Return a pass, or another step; UserError for one that this TVM has not got."""
    if spec == COMPILED:
        return lambda module: module
    if spec.name in ROUND_TRIPS and not spec.args:
        return ROUND_TRIPS[spec.name]
    if spec == GRADIENT:
        return tvm_api.part("relax").transform.Gradient(tvm_api.ENTRY)
    if spec.name in WITH_ARGUMENTS and not spec.args:
        return WITH_ARGUMENTS[spec.name][0]()
    constructor = known_passes().get(spec.name)
    if constructor is None or spec.args:
        raise UserError(f"no pass {str(spec)!r} of Relax in this TVM")
    return constructor()


def step_source(spec: PassSpec, module: str) -> str:
    """Return a line that takes a step with what is called `module`, "" for one that is none by itself, and for an
    import, which is how the module is made."""
    given = {
        GRADIENT.name: f'relax.transform.Gradient("{tvm_api.ENTRY}")({module})',
        "relax.ThroughText": f"tvm.script.from_source({module}.script(show_meta=True))",
        "relax.ThroughJson": f"tvm.ir.load_json(tvm.ir.save_json({module}))",
    }
    plain = f"relax.transform.{spec.name.removeprefix('relax.')}()"
    made = given.get(spec.name, f"{WITH_ARGUMENTS.get(spec.name, (None, plain))[1]}({module})")
    return "" if spec in (COMPILED, *IMPORT_STEPS) else f"{module} = {made}\n"


def build_source(passes: Sequence[PassSpec], module: str) -> str:
    """Return source that builds what is called `module`, as `target` says."""
    mode = ', exec_mode="compiled"' if COMPILED in passes else ""
    return f"relax.build({module}, target{mode})"


def _takes_arguments(constructor: Any) -> bool:
    return any(one.default is inspect.Parameter.empty for one in inspect.signature(constructor).parameters.values())


class Sequences:
    """Draws sequences of passes, those more often that have paid; `others` are steps that are none."""

    def __init__(self, others: Sequence[str] = ()) -> None:
        passes = (name for name in known_passes() if name.removeprefix("relax.") not in NOT_DRAWN)
        self._names = [*passes, *WITH_ARGUMENTS, *others]
        self._shares = shares(self._names, {})

    def learn(self, yields: Yields) -> None:
        self._shares = shares(self._names, yields)

    def fresh(self, rng: Random) -> tuple[PassSpec, ...]:
        """Draw a sequence; every fourth is empty, the default pipeline alone."""
        if rng.random() < _SHIPPED_SHARE:
            return ZERO
        count = 0 if rng.random() < 1 / 4 else rng.randint(1, 6)
        return tuple(map(PassSpec, rng.choices(self._names, self._shares, k=count)))

    def changed(self, passes: Sequence[PassSpec], donor: Sequence[PassSpec], rng: Random) -> tuple[PassSpec, ...]:
        """Insert, drop or replace a pass, or go on as another sequence does."""
        at = rng.randrange(len(passes) + 1)
        new = PassSpec(rng.choices(self._names, self._shares)[0])
        changes = (
            (*passes[:at], new, *passes[at:]),
            (*passes[:at], *passes[at + 1 :]),
            (*passes[:at], new, *passes[at + 1 :]),
            (*passes[:at], *donor[rng.randrange(len(donor) + 1) :]),
        )
        return rng.choice(changes)[:_MOST_PASSES]
