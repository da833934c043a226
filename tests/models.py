"""Cases of models, and what a child sees in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.effort import Check, Effort
from tzerlike.core.observation import Exit, Observation, Offence, Stage
from tzerlike.core.results import Rejection, Results
from tzerlike.graph.model import Attribute, Model, Origin, TensorType, Vertex, model_text
from tzerlike.graph.relax import relax_module
from tzerlike.graph.solve import output_types, recognise
from tzerlike.graph.spec import ROWS
from tzerlike.graph.valid import prepared
from tzerlike.graph.values import drawn_values
from tzerlike.harnesses.graph import running
from tzerlike.harnesses.graph.blame import with_blame
from tzerlike.harnesses.graph.building import Building
from tzerlike.oracles.models import judge_results
from tzerlike.processes.forked import each_in_child
from tzerlike.processes.job import ALONE

ALL = Effort(frozenset({Check.RESULTS, Check.REJECTIONS, Check.TYPES, Check.SIGNATURES, Check.IMMUTABILITY}))
LEVEL_ZERO = '{"kind": "llvm", "opt-level": 0}'


class Notes:
    """Stands for the channel of a child."""

    def __init__(self) -> None:
        self._stage, self._pass = Stage.LOAD, ""

    def enter_stage(self, stage: Stage) -> None:
        self._stage = stage

    def note_pass(self, name: str) -> None:
        self._pass = name

    def add_result(self, record: dict[str, Any]) -> None:
        return None

    def note_results(self, results: Results) -> None:
        return None

    def stage(self) -> Stage:
        return self._stage

    def pass_name(self) -> str:
        return self._pass


def observed(case: Case, effort: Effort = ALL) -> Observation:
    """What a child sees in a case, with nearly all that it looks at for some oracle."""
    channel: Any = Notes()
    record = running.run_case(case, channel, ALONE, effort, False)
    results = Results.from_json(record["results"]) if "results" in record else None
    if results is not None and results.blame:
        results = with_blame(Building(case, channel, effort), results, {})
    return Observation(
        Exit(record["exit"]),
        Stage(record.get("stage", channel.stage())),
        record.get("message", ""),
        record.get("pass", ""),
        results=results,
        rejection=Rejection.from_json(record["rejection"]) if "rejection" in record else None,
        offences=tuple(Offence(**one) for one in record.get("offences", ())),
        origin=Offence(**record["origin"]) if "origin" in record else None,
    )


def disagreements(models: Iterable[Model]) -> list[str]:
    """What builds of models compute that NumPy does not, or what a child died of: kernels run in one."""
    answers = each_in_child([case_of(model) for model in models], _disagreement)
    return [f"signal {died}" if died else text or "" for text, died in answers if died or text]


def _disagreement(case: Case) -> str:
    seen = observed(case)
    return "" if judge_results(case, seen) is None else f"{case.ir}: {seen.results}"


def case_of(model: Model, *passes: str) -> Case:
    return Case(model_text(model), tuple(map(PassSpec, passes)), target=LEVEL_ZERO, harness="graph")


class Drafted:
    """A model under construction: its sources first, then calls; tensors are their numbers."""

    def __init__(self, *sources: Origin) -> None:
        self._sources = sources
        self._vertices: list[Vertex] = []
        self._types = [one.type for one in sources]

    def call(self, row: str, *inputs: int, **attributes: Attribute) -> int:
        """Add a call; return the number of its first output."""
        kinds = [self._types[number] for number in inputs]
        known = recognise(ROWS[row], kinds, attributes)
        assert known is not None, f"{row} does not take {kinds} {attributes}"
        outputs = output_types(ROWS[row], known)
        first = len(self._types)
        self._vertices.append(Vertex(row, inputs, attributes, outputs))
        self._types += outputs
        return first

    def model(self, *outputs: int) -> Model:
        return Model(self._sources, tuple(self._vertices), outputs)


def floats(*shape: int, low: float = -4.0, high: float = 4.0, kind: Any = "input", seed: int = 0) -> Origin:
    return Origin(TensorType(shape, "float32"), kind, low, high, seed)


def called(row: str, *sources: Origin, outputs: Sequence[int] = (0,), **attributes: Attribute) -> Model:
    """A model of one call, behind another one where it takes floats."""
    seeded = [Origin(one.type, one.kind, one.low, one.high, number) for number, one in enumerate(sources)]
    draft = Drafted(*seeded)
    first = draft.call("negative", 0) if sources and sources[0].type.dtype == "float32" else 0
    made = draft.call(row, first, *range(1, len(sources)), **attributes)
    return draft.model(*(made + number for number in outputs))


def one_call(row: str, dtype: str, inputs: tuple[tuple[int, ...], ...], **attributes: Any) -> Model:
    """A model of one call; its result is of the type of its first input."""
    kinds = [TensorType(shape, dtype) for shape in inputs]
    vertex = Vertex(row, tuple(range(len(inputs))), attributes, (kinds[0],))
    return Model(tuple(Origin(kind, seed=n) for n, kind in enumerate(kinds)), (vertex,), (len(inputs),))


INACCURATE = one_call("nn.rms_norm", "float64", ((4, 6), (6,)), axes=(-1,), epsilon=1e-05)
REFUSED = one_call("atan", "float16", ((3,),))
RIGHT = one_call("add", "float32", ((3,), (3,)))
CONSTANT = Model(
    (msgspec.structs.replace(RIGHT.sources[0], kind="constant"), RIGHT.sources[1]), RIGHT.vertices, RIGHT.outputs
)
SQUEEZED = Model(
    (Origin(TensorType((1, 1), "float16")),),
    (Vertex("squeeze", (0,), {"axis": (-2, -1)}, (TensorType((), "float16"),)),),
    (1,),
)
OTHER = one_call("exp", "float64", ((3,),))


def behind_log(*shape: int) -> Model:
    """What is inaccurate, of values that have to be searched for."""
    kinds = [TensorType(shape, "float64"), TensorType(shape[-1:], "float64")]
    vertices = (
        Vertex("log", (0,), {}, (kinds[0],)),
        msgspec.structs.replace(INACCURATE.vertices[0], inputs=(2, 1), outputs=(kinds[0],)),
    )
    return prepared(Model(tuple(map(Origin, kinds)), vertices, (3,)), ROWS, 0)


def drawn_module(model: Model) -> Any:
    """A model as Relax, its constants as drawn."""
    return relax_module(model, [drawn_values(origin, 0) for origin in model.sources])
