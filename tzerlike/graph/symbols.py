"""Models with varying extents: the extent in each run, and variables for a model that has none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import prod

from msgspec.structs import replace

from tzerlike.graph.dice import Dice
from tzerlike.graph.model import Attribute, Model, Origin, TensorType, VaryingExtent
from tzerlike.graph.solve import output_types, recognise
from tzerlike.graph.sound import in_place, unsound
from tzerlike.graph.spec.language import Specification

SYMBOLIC_ATTRIBUTE = "shape"
"""The attribute in which extents may vary."""

RUNS = 3
"""How many extents each variable stands for, one after the other."""

_LEAST, _MOST = 2, 13
_SQUEEZED = "squeeze:all"


def variable_name(place: int) -> str:
    return "nmlk"[place] if place < 4 else f"n{place}"


def runs_of(model: Model, rows: Mapping[str, Specification]) -> list[Model]:
    """Return the model as each run has it, without variables: one where it has none.

    Where a row does not allow what a run has, the list ends before it.
    """
    plain = replace(model, variables=(), written=())
    if not model.variables:
        return [plain]
    found = [plain]
    for run in range(1, RUNS):
        one = _run(plain, rows, extents_in(model, run))
        if one is None:
            break
        found.append(one)
    return found


def extents_in(model: Model, run: int) -> dict[int, int]:
    """What each extent that varies is in a run."""
    return {one.extent: _value(one, model.variables, run) for one in model.written}


def wrong_symbols(model: Model, rows: Mapping[str, Specification]) -> str:
    """Say in a line what is wrong with how extents of a model vary; "" for nothing."""
    if not model.variables:
        return "extents that vary by nothing" if model.written else ""
    if any(place >= len(model.variables) for one in model.written for place in one.variables):
        return "an extent that varies by what there is not"
    if any(value < _LEAST for values in model.variables for value in values):
        return "a variable that may be an extent of 1"
    if any(_value(one, model.variables, 0) != one.extent for one in model.written):
        return "an extent that is another one"
    bare = {one.extent: one.variables[0] for one in model.written if _is_bare(one)}
    shown = {bare.get(extent) for one in model.sources if one.kind == "input" for extent in one.type.shape}
    if not set(range(len(model.variables))) <= shown:
        return "a variable that is the extent of no input"
    runs = runs_of(model, rows)
    if len(runs) < RUNS:
        return "extents that cannot vary like that"
    return next((problem for one in runs[1:] if (problem := unsound(one, rows))), "")


def has_inferred_shapes(model: Model, rows: Mapping[str, Specification]) -> bool:
    """Whether TVM infers how many axes each tensor has: not where all axes of extent 1 go, and extents vary that may
    be 1 for all it knows."""
    runs = [one.types() for one in runs_of(model, rows)]
    squeezed = [number for vertex in model.vertices if vertex.row == _SQUEEZED for number in vertex.inputs]
    return all(kinds[number] == runs[0][number] for number in squeezed for kinds in runs)


def with_variables(model: Model, rows: Mapping[str, Specification], dice: Dice) -> Model | None:
    """Let extents of a model vary, as many as can; None where none can.

    A constant of such an extent comes in instead.
    """
    plain = replace(model, variables=(), written=())
    extents = sorted({extent for one in plain.sources for extent in one.type.shape if extent >= _LEAST})
    found = plain
    while extents and len(found.variables) < 3:
        extent = extents.pop(dice.below(len(extents)))
        if any(one.extent == extent for one in found.written) or extent > 64:
            continue
        values = (extent, *(_LEAST + dice.below(_MOST - _LEAST) for _ in range(RUNS - 1)))
        if len(set(values)) < RUNS or values in found.variables:
            continue
        bare = VaryingExtent(extent, (len(found.variables),))
        coming = _coming_in(found, extent)
        more = replace(coming, variables=(*found.variables, values), written=(*found.written, bare))
        candidates = (_with_relations(more, dice), more)
        found = next((one for one in candidates if _may_vary(one, rows)), found)
    return found if found.variables else None


def with_those_of(model: Model, before: Model, rows: Mapping[str, Specification]) -> Model:
    """Return a model with the variables of another one that it can have, all or none of those that it shows."""
    if not before.variables:
        return model
    bare = {one.extent: one.variables[0] for one in before.written if _is_bare(one)}
    shown = {bare.get(extent, -1) for one in model.sources if one.kind == "input" for extent in one.type.shape}
    kept = [place for place in range(len(before.variables)) if place in shown]
    found = replace(
        model,
        variables=tuple(before.variables[place] for place in kept),
        written=tuple(
            replace(one, variables=tuple(kept.index(place) for place in one.variables))
            for one in before.written
            if set(one.variables) <= set(kept)
        ),
    )
    return found if _may_vary(found, rows) else model


def fewer_variables(model: Model) -> Iterator[Model]:
    """The model without variables, with one less, and with one extent less that varies by them."""
    if model.variables:
        yield replace(model, variables=(), written=())
    for place in range(len(model.variables) if len(model.variables) > 1 else 0):
        yield replace(
            model,
            variables=(*model.variables[:place], *model.variables[place + 1 :]),
            written=tuple(
                replace(one, variables=tuple(other - (other > place) for other in one.variables))
                for one in model.written
                if place not in one.variables
            ),
        )
    for one in model.written:
        if not _is_bare(one):
            yield replace(model, written=tuple(other for other in model.written if other != one))


def with_extent(model: Model, extent: int, less: int) -> Model:
    """The same variables where an extent is another one."""
    variables = list(model.variables)
    for one in model.written:
        if one.extent == extent and _is_bare(one):
            variables[one.variables[0]] = (less, *variables[one.variables[0]][1:])
    written = (replace(one, extent=less) if one.extent == extent else one for one in model.written)
    return replace(model, variables=tuple(variables), written=tuple(written))


def _is_bare(one: VaryingExtent) -> bool:
    return one.factor == 1 and one.plus == 0 and len(one.variables) == 1


def _may_vary(model: Model, rows: Mapping[str, Specification]) -> bool:
    return not wrong_symbols(model, rows) and _varies_freely(model, rows) and has_inferred_shapes(model, rows)


def _varies_freely(model: Model, rows: Mapping[str, Specification]) -> bool:
    """Whether the variables may each be one more than in the first run as well: those of its runs may all happen to be
    multiples of what an extent has to be a multiple of."""
    more = [(values[0] + 1,) for values in model.variables]
    extents = {one.extent: _value(one, more, 0) for one in model.written}
    return _run(replace(model, variables=(), written=()), rows, extents) is not None


def _with_relations(model: Model, dice: Dice) -> Model:
    """Write other extents that stand in shapes by the variables: 2 * n, n + 1, n * m."""
    taken = {one.extent for one in model.written}
    written = list(model.written)
    for extent in sorted(_extents(model) - taken):
        choices = list(_ways(model.variables, extent))
        if choices and extent >= _LEAST:
            written.append(choices[dice.below(len(choices))])
    return replace(model, written=tuple(written))


def _ways(variables: Sequence[Sequence[int]], extent: int) -> Iterator[VaryingExtent]:
    for count in (1, 2):
        for places in combinations_with_replacement(range(len(variables)), count):
            product = prod(variables[place][0] for place in places)
            if (extent % product == 0 and 1 < extent // product <= 4) or (extent == product and count == 2):
                yield VaryingExtent(extent, places, extent // product)
            if 0 < extent - product <= 2:
                yield VaryingExtent(extent, places, 1, extent - product)


def _extents(model: Model) -> set[int]:
    found = {extent for one in model.sources if one.kind == "input" for extent in one.type.shape}
    for vertex in model.vertices:
        shape = vertex.attributes.get(SYMBOLIC_ATTRIBUTE)
        found.update(int(extent) for extent in shape if extent) if isinstance(shape, tuple) else None
    return found


def _coming_in(model: Model, extent: int) -> Model:
    return replace(
        model,
        sources=tuple(replace(one, kind="input") if extent in one.type.shape else one for one in model.sources),
    )


def _value(one: VaryingExtent, variables: Sequence[Sequence[int]], run: int) -> int:
    return one.factor * prod(variables[place][run] for place in one.variables) + one.plus


def _run(model: Model, rows: Mapping[str, Specification], extents: Mapping[int, int]) -> Model | None:
    """The model with other extents; None where a row does not allow that."""
    sources = tuple(_other(one, extents) for one in model.sources)
    kinds: list[TensorType] = [one.type for one in sources]
    origins: list[Origin | None] = list(sources)
    vertices = []
    for vertex in model.vertices:
        attributes: dict[str, Attribute] = dict(vertex.attributes)
        shape = attributes.get(SYMBOLIC_ATTRIBUTE)
        if isinstance(shape, tuple):
            attributes[SYMBOLIC_ATTRIBUTE] = tuple(extents.get(int(one), one) for one in shape)
        row, taken = rows[vertex.row], [kinds[one] for one in vertex.inputs]
        known = recognise(row, taken, attributes)
        if known is None or not in_place(row, known, taken, [origins[one] for one in vertex.inputs]):
            return None
        outputs = output_types(row, known)
        if len(outputs) != len(vertex.outputs):
            return None
        vertices.append(replace(vertex, attributes=attributes, outputs=outputs))
        kinds += outputs
        origins += [None] * len(outputs)
    return Model(sources, tuple(vertices), model.outputs)


def _other(origin: Origin, extents: Mapping[int, int]) -> Origin:
    if origin.kind != "input":
        return origin
    shape = tuple(extents.get(extent, extent) for extent in origin.type.shape)
    return replace(origin, type=TensorType(shape, origin.type.dtype))
