"""Whole models as a harness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from tzerlike.campaign.cases import CaseHarness
from tzerlike.campaign.loop import Import
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Effort
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.rng import rng_for
from tzerlike.core.shrink import Attempt, Reducer
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.programs import JudgeCase
from tzerlike.graph import smaller, smaller_values
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.loss import GRADIENT_DTYPES, with_loss
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, model_text, read_model
from tzerlike.graph.sound import oversized
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT, leading
from tzerlike.graph.stored import model_of
from tzerlike.graph.valid import prepared
from tzerlike.harnesses import proof
from tzerlike.harnesses.graph import running
from tzerlike.harnesses.graph.blame import BLAME, blame_model
from tzerlike.harnesses.graph.importing import IMPORTS_ORACLE, require_any_importer, require_importer
from tzerlike.harnesses.graph.pairs import GraphPairs
from tzerlike.harnesses.graph.passes import PLAINER, shipped_sequences
from tzerlike.harnesses.graph.program import script_of_model
from tzerlike.harnesses.graph.texts import texts
from tzerlike.harnesses.graph.walking import WALK, walk_model
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.tir.reducers.plan import fewer_passes

_LLVM = "llvm"

_SEEDS = 64
_LARGEST_SEED = 8


@dataclass(frozen=True, order=True)
class ModelSize:
    calls: int
    passes: int
    options: int
    operators: int
    sources: int
    inputs: int
    outputs: int
    elements: int
    ranks: int
    dtypes: int
    attributes: float
    roughness: int
    structure: int
    constants: int
    searched: bool
    text: str

    @property
    def numbers(self) -> dict[str, int]:
        return {"calls": self.calls, "passes": self.passes, "elements": self.elements}


def _usual_target(case: Case) -> str:
    """The target of a case without options; that of a GPU needs one, its architecture."""
    return _LLVM if kind_of_target(case.target) == _LLVM else case.target


def _unusual(case: Case) -> int:
    """How much of a case's options is not the default, and how many of its passes have arguments that may go."""
    config, usual = case.config, ContextConfig()
    chosen = (
        config.opt_level != usual.opt_level,
        config.pipeline != usual.pipeline,
        case.target != _usual_target(case),
    )
    argued = sum(one.name in PLAINER for one in case.passes)
    return len(config.options) + len(config.disabled_passes) + sum(chosen) + argued


def _plainer_passes(case: Case) -> Iterator[Attempt[Case]]:
    for at, one in enumerate(case.passes):
        if one.name in PLAINER:
            plainer = PassSpec(PLAINER[one.name])
            yield partial(replace, case, passes=(*case.passes[:at], plainer, *case.passes[at + 1 :]))


def _usual_checks(case: Case) -> Iterator[Attempt[Case]]:
    if case.config != ContextConfig():
        yield partial(replace, case, config=ContextConfig())
    if case.target != (usual := _usual_target(case)):
        yield partial(replace, case, target=usual)


def _of_models(propose: Callable[[Model], Iterator[Model]]) -> Reducer[Case]:
    return lambda case: _with_models(case, propose(read_model(case.ir)))


def _with_models(case: Case, models: Iterator[Model]) -> Iterator[Attempt[Case]]:
    searched = read_model(case.ir).searched
    for model in models:
        yield partial(replace, case, ir=model_text(msgspec.structs.replace(model, searched=searched)))


def _losses(case: Case) -> Iterator[Attempt[Case]]:
    """The sum of one tensor comes out, first of those that take few calls, where gradients are taken of what does."""
    if GRADIENT in case.passes:
        model = read_model(case.ir)
        made = enumerate(model.types()[len(model.sources) :], len(model.sources))
        numbers = (number for number, kind in made if kind.dtype in GRADIENT_DTYPES)
        yield from _with_models(case, (with_loss(model, [number]) for number in numbers))


def _calls_alone(case: Case) -> Iterator[Attempt[Case]]:
    return _with_models(case, smaller_values.calls_alone(read_model(case.ir), case.input_seed))


def _drawn_values(case: Case) -> Iterator[Attempt[Case]]:
    model = read_model(case.ir)
    if model.searched:
        yield partial(replace, case, ir=model_text(msgspec.structs.replace(model, searched=False)))


class GraphHarness(CaseHarness):
    """The harness of models."""

    jobs = MappingProxyType({**proof.JOBS, BLAME: blame_model, WALK: walk_model})

    entry_choice = "adaptive"
    reducing_share = 0.5
    """Most findings of models are of the first tier, which is reduced to the end."""

    reducers = {  # noqa: RUF012
        "fewer-passes": fewer_passes,
        "plainer-passes": _plainer_passes,
        "usual-checks": _usual_checks,
        "plainer-forms": _of_models(smaller.plainer_forms),
        "single-outputs": _of_models(smaller.single_outputs),
        "losses": _losses,
        "without-calls": _of_models(smaller.without_calls),
        "calls-alone": _calls_alone,
        "plainer-calls": _of_models(smaller.plainer_calls),
        "fewer-outputs": _of_models(smaller.fewer_outputs),
        "smaller-extents": _of_models(smaller.smaller_extents),
        "fewer-dimensions": _of_models(smaller.fewer_dimensions),
        "plainer-relations": _of_models(smaller.plainer_relations),
        "redrawn-calls": _of_models(smaller.redrawn_calls),
        "eased-calls": _of_models(smaller.eased_calls),
        "fewer-inputs": _of_models(smaller.fewer_inputs),
        "simpler-attributes": _of_models(smaller.simpler_attributes),
        "plainer-dtypes": _of_models(smaller.plainer_dtypes),
        "plainer-sources": _of_models(smaller.plainer_sources),
        "on-other-values": _of_models(smaller_values.on_other_values),
        "rounder-values": _of_models(smaller_values.rounder_values),
        "drawn-values": _drawn_values,
    }

    def prepare(self, params: Mapping[str, Any]) -> tuple[int, list[str]]:
        if IMPORTS_ORACLE in params["oracles"]:
            require_any_importer(f"--oracles: {IMPORTS_ORACLE}")
        return super().prepare(params)

    def pairs(self, config: CampaignConfig, executor: ForkExecutor) -> GraphPairs:
        return GraphPairs(config.mutators, config.oracles)

    def seeds(self, source: str, target: str, cache: Path) -> tuple[list[Import], list[str]]:
        if source == "none":
            return [], []
        if source != "builtin":
            raise UserError(f"--seeds {source}: models are generated; --harness graph works only with builtin")
        menu = Menu(list(ROWS.values()))
        drawn = (random_model(rng_for(0, "model", n), 1 + n % _LARGEST_SEED, menu, MODEL_LIMITS) for n in range(_SEEDS))
        named = ((f"model{n}", prepared(model, ROWS, 0)) for n, model in enumerate(drawn) if not oversized(model))
        return [Import(name, model_text(model)) for name, model in named], []

    def require_fit(self, executor: ForkExecutor, case: Case, inputs: str = "") -> None:
        require_importer(case.passes)

    def run_case(
        self, case: Case, channel: Channel, around: RunContext, effort: Effort, baseline_known: bool, /
    ) -> dict[str, Any]:
        return running.run_case(case, channel, around, effort, baseline_known)

    def size(self, case: Case) -> ModelSize:
        model = read_model(case.ir)
        kinds = model.types()
        elements = sum(prod(kind.shape) for kind in kinds)
        ranks = sum(len(kind.shape) for kind in kinds)
        return ModelSize(
            len(model.vertices),
            len(case.passes),
            _unusual(case),
            sum(smaller.unusualness(one.row) for one in model.vertices),
            len(model.sources),
            sum(len(one.inputs) for one in model.vertices),
            len(model.outputs),
            elements,
            ranks,
            sum(one.type.dtype != smaller.usual_dtype(one.type.dtype) for one in model.sources),
            sum(smaller.weight_of(value) for one in model.vertices for value in one.attributes.values()),
            sum(map(smaller_values.roughness, model.sources)),
            sum(len(one.within) for one in model.vertices) + sum(map(smaller.weight_of_relation, model.written)),
            sum(one.kind == "constant" for one in model.sources),
            model.searched,
            case.ir,
        )

    def plain(self, executor: ForkExecutor, case: Case, *, printed: bool) -> bool:
        """Whether a model comes back from its TVMScript: it keeps to its rows, or it would not run."""
        return not printed or bool(script_of_model(model_of(case.ir)))

    def shipped(self, case: Case) -> bool:
        own = case.passes[len(leading(case.passes)) :]
        return own in shipped_sequences(model_of(case.ir)) and case.config == ContextConfig()

    def usual(self, case: Case) -> Case:
        return replace(case, passes=leading(case.passes), config=ContextConfig())

    def carried(self, executor: ForkExecutor, finding: Finding) -> Iterator[Case]:
        """The same model in each pipeline that TVM ships, with default options; with its gradients, or imported, where
        the case has that."""
        model = model_of(finding.case.ir)
        if not model.disrupted and self.plain(executor, finding.case, printed=True):
            first = leading(finding.case.passes)
            for passes in shipped_sequences(model):
                yield replace(
                    finding.case, passes=(*first, *passes), config=ContextConfig(), target=_usual_target(finding.case)
                )

    def texts(
        self, executor: ForkExecutor, finding: Finding, limits: Limits, evidence: Evidence, judge: JudgeCase
    ) -> Texts:
        return texts(executor, finding, limits, judge)


HARNESS = GraphHarness()
