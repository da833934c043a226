"""The builds of a model in a child, their results, and how these differ from NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Offence, Stage
from tzerlike.core.results import ARBITRARY, GRADIENT_BY, Difference, Ending, Ran
from tzerlike.graph.gradients import expected_gradients
from tzerlike.graph.importers import importer_in
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model
from tzerlike.graph.reference import ExpectedOutput, beyond, expected_outputs
from tzerlike.graph.relax import relax_module
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import COMPILED, GRADIENT, IMPORT_STEPS, noted_as
from tzerlike.graph.stored import model_of
from tzerlike.harnesses.graph.importing import written
from tzerlike.harnesses.graph.offences import PassJudge
from tzerlike.harnesses.graph.passes import ADJOINT, completed, least_unit, made_pass
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import other_fresh_memory
from tzerlike.processes.job import RunContext
from tzerlike.systems import tvm_api, tvm_build, tvm_passes
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

_relax = tvm_api.part("relax")

DEFAULT_BUILD, LOWERED_ONLY = "default", "default_build"
"""The pipelines of `relax.build`; the second one legalises and lowers, and that is all."""

_LITTLE = 1e-2
"""The relative error of what is inaccurate and not wrong altogether."""


@dataclass(frozen=True)
class Run:
    """One run of what is built: the model with the extents that it has there, what comes in, and what comes out."""

    model: Model
    sources: Sequence[Array]
    expected: Sequence[ExpectedOutput]


class Building:
    """The builds of a case; each step is noted before it is taken."""

    def __init__(self, case: Case, channel: Channel, effort: Effort) -> None:
        self.case, self.channel, self.effort = case, channel, effort
        self.offences: list[Offence] = []
        self._gradients, self._model = GRADIENT in case.passes, model_of(case.ir)
        self.imports = importer_in(case.passes) is not None
        self._runs: list[tuple[Model, list[Array]]] = []

    def runs(self, model: Model) -> list[tuple[Model, list[Array]]]:
        """The runs with the values of what comes in, which do not depend on what comes out."""
        if not self._runs:
            self._runs = values_of_runs(model, ROWS, self.case.input_seed)
        return self._runs

    def module(self, model: Model, sources: Sequence[Array] | None = None) -> Any:
        """The model with its constants; `sources` are values that are not drawn."""
        values = self.runs(model)[0][1] if sources is None else sources
        return ask_compiler(lambda: relax_module(model, values, alone=self._gradients))

    def step(self, spec: PassSpec) -> Callable[[Any], Any]:
        """Return what takes a step of the sequence; an import takes the model, whatever it is given.

        Unimportable where there is nothing to import.
        """
        if spec not in IMPORT_STEPS:
            return made_pass(spec)  # type: ignore[no-any-return]
        take = written(self._model, self.runs(self._model)[0][1], spec).importer()
        return lambda module: take()

    def build(
        self,
        module: Any,
        passes: Sequence[PassSpec],
        around: RunContext | None = None,
        pipeline: str = DEFAULT_BUILD,
        instruments: Sequence[Any] = (),
    ) -> tuple[Any, list[int]]:
        """Return what the module becomes behind `passes`, and the blocks that each was the first to reach."""
        channel, reached = self.channel, [0 if around is None else around.blocks()]
        target = ask_compiler(lambda: tvm_build.target_of(self.case.target))
        watch = tvm_passes.PassWatch(channel.note_pass)
        with target, tvm_passes.pass_context(self.case.config, [watch, *instruments]):
            for spec in passes:
                channel.note_pass(noted_as(spec))
                step = self.step(spec)
                judge = None if around is None or self.offences else PassJudge(spec, module, self.effort)
                module = ask_compiler(lambda step=step, module=module: step(module))  # type: ignore[misc]
                if around is not None:
                    reached.append(around.blocks())
                if judge is not None:
                    self.offences += ask_compiler(lambda judge=judge, module=module: [*judge.offences(module)])  # type: ignore[misc]
            for spec in completed(passes, self._model)[len(passes) :]:
                channel.note_pass(spec.name)
                module = ask_compiler(lambda spec=spec, module=module: made_pass(spec)(module))  # type: ignore[misc]
            channel.note_pass("")
            if around is not None:
                channel.enter_stage(Stage.BUILD)
            mode = "compiled" if COMPILED in passes else "bytecode"
            built = ask_compiler(lambda: _relax.build(module, target, relax_pipeline=pipeline, exec_mode=mode))
        channel.note_pass("")
        return built, [after - before for before, after in pairwise(reached)]

    def built(
        self,
        model: Model,
        passes: Sequence[PassSpec],
        pipeline: str = DEFAULT_BUILD,
        sources: Sequence[Array] | None = None,
    ) -> Any:
        """Return the build of a model behind `passes`; `sources` are values that are not drawn."""
        return self.build(self.module(model, sources), passes, pipeline=pipeline)[0]

    def outputs(self, model: Model, built: Any, sources: Sequence[Array], allocator: str = "pooled") -> list[Array]:
        """Run what was built; behind the outputs are gradients, where the case has them.

        The "naive" allocator takes fresh memory for all, where that of the last run may come back.
        """

        def run() -> list[Array]:
            inputs = [value for value, one in zip(sources, model.sources, strict=True) if one.kind == "input"]
            # Of the executable, it would have a model without code of its own compiled as C, by a compiler for that.
            machine = _relax.VirtualMachine(built.mod, tvm_api.tvm.cpu(), memory_cfg=allocator)
            taken = [*map(tvm_api.tvm.runtime.tensor, inputs)]
            if self._gradients:
                output, found = machine[ADJOINT](*taken)
                return [one.numpy().copy() for one in (output, *found)]
            given = machine[tvm_api.ENTRY](*taken)
            # What is imported has its only output bare.
            return [one.numpy().copy() for one in ([given] if hasattr(given, "numpy") else given)]

        return ask_compiler(run)


def expected_runs(building: Building, model: Model) -> list[Run]:
    """Return the runs of a model, each with what it is expected to give."""
    return [
        Run(one, values, expected_results(building.case.passes, one, values)) for one, values in building.runs(model)
    ]


def expected_results(passes: Sequence[PassSpec], model: Model, sources: Sequence[Array]) -> list[ExpectedOutput]:
    """Return what comes out of a run behind some passes."""
    outputs = expected_outputs(model, ROWS, sources, least_unit(passes))
    return [*outputs, *expected_gradients(model, ROWS, sources)] if GRADIENT in passes else outputs


def ran(building: Building, built: Any, runs: Sequence[Run]) -> Ran:
    """What comes of the runs; outputs are counted through all of them."""
    before = 0
    for run in runs:
        try:
            outputs = building.outputs(run.model, built, run.sources)
        except CompilerRefused as refusal:
            return Ran(Ending.RAISED, refusal.message)
        if len(outputs) != len(run.expected):
            return Ran(Ending.RAISED, f"ValueError: {len(outputs)} outputs in place of {len(run.expected)}")
        dtypes = [run.model.types()[place].dtype for place in run.model.outputs]
        for number, (want, got) in enumerate(zip(run.expected, outputs, strict=True), before):
            if building.imports and str(got.dtype) != (dtype := dtypes[number - before]):
                return Ran(Ending.DIFFERS, "", _other_dtype(number, number - before, dtype, got))
            if want.counts and (found := _difference(number, number - before, want, got)):
                said = ARBITRARY if _varies(building, built, run, number - before, got) else ""
                return Ran(Ending.DIFFERS, said, found)
        before += len(outputs)
    return Ran(Ending.AGREES)


def _varies(building: Building, built: Any, run: Run, place: int, got: Array) -> bool:
    """Whether an output is another one where fresh memory holds something else."""
    with suppress(CompilerRefused), other_fresh_memory(building.effort.layout):
        return building.outputs(run.model, built, run.sources, "naive")[place].tobytes() != got.tobytes()
    return False


def _difference(number: int, place: int, want: ExpectedOutput, got: Array) -> Difference | None:
    """The first element that is wrong; `number` counts the outputs of all runs, `place` those of this one."""
    bad = beyond(want.values, want.bound, got)
    if not bad.any():
        return None
    index = tuple(int(one) for one in np.argwhere(bad)[0])
    same = got.shape == want.values.shape
    value, expected = (got[index], want.values[index]) if same else (got.shape, want.values.shape)
    return Difference(
        number,
        f"output{place}" if want.source is None else f"{GRADIENT_BY}x{want.source}",
        str(got.dtype),
        index,
        str(expected),
        str(want.bound[index]) if same else "0",
        str(value),
        int(bad.sum()),
        int(bad.size),
        _nature(float(value), float(expected), want.values) if same else "shape",
    )


def _other_dtype(number: int, place: int, dtype: str, got: Array) -> Difference:
    size = int(got.size)
    return Difference(number, f"output{place}", dtype, (), dtype, "0", str(got.dtype), size, size, "dtype")


def _nature(value: float, expected: float, values: Array) -> str:
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "infinity"
    return "inaccurate" if values.dtype.kind == "f" and abs(value - expected) < _LITTLE * abs(expected) else "value"
