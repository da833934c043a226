"""Models that TVM imports: which steps of a sequence suit them, how they are written, and each call by itself."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

import msgspec

from tzerlike.core.case import PassSpec
from tzerlike.core.errors import UserError
from tzerlike.graph.exchange.onnx.rows import ONNX_FORMS
from tzerlike.graph.exchange.torch.rows import TORCH_FORMS
from tzerlike.graph.importers import IMPORTERS, ONNX, TORCH, Importer, Manner, importer_in
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin
from tzerlike.graph.reference import tried
from tzerlike.graph.spec import ROWS
from tzerlike.graph.values import numpy_dtype
from tzerlike.harnesses.graph.through_onnx import through_onnx
from tzerlike.harnesses.graph.through_torch import through_torch
from tzerlike.harnesses.graph.written import Unimportable, WrittenModel

IMPORTS_ORACLE = "model-imports"

_WRITERS: Mapping[str, Callable[[Model, Mapping[int, Array], Manner], WrittenModel | None]] = {
    ONNX.name: through_onnx,
    TORCH.name: through_torch,
}

_FORMS = {ONNX.name: ONNX_FORMS, TORCH.name: TORCH_FORMS}

_UNSAID = "bfloat16"
"""NumPy has no such dtype, so neither have the arrays that constants are made from."""


def installed() -> tuple[Importer, ...]:
    """Return the importers whose package is there."""
    return tuple(one for one in IMPORTERS if _is_there(one))


def _is_there(importer: Importer) -> bool:
    return importlib.util.find_spec(importer.package) is not None


def require_any_importer(what: str) -> None:
    """UserError that says what needs a package that models are written with, where none is installed."""
    if not installed():
        names = " or ".join(one.package for one in IMPORTERS)
        ways = " or ".join(f"pip install 'tzerlike[{one.package}]'" for one in IMPORTERS)
        raise UserError(f"{what} needs {names}; install it with: {ways}")


def require_importer(passes: Sequence[PassSpec]) -> None:
    """UserError where a sequence begins with an import, and what models are written with for that is not installed."""
    importer = importer_in(passes)
    if importer is not None and not _is_there(importer):
        package = importer.package
        raise UserError(f"case.passes: {passes[0]} needs {package}; install it with: pip install 'tzerlike[{package}]'")


def menus() -> tuple[Menu, ...]:
    """Return for each importer that is there the rows of which it can be given calls."""
    return tuple(Menu([ROWS[name] for name in sorted(_FORMS[one.name])]) for one in installed())


def suits(model: Model, step: PassSpec) -> bool:
    """Whether a model can be written for an import, its constants being inputs."""
    inputs = msgspec.structs.replace(
        model, sources=tuple(msgspec.structs.replace(one, kind="input") for one in model.sources)
    )
    try:
        written(inputs, (), step).check()
    except Unimportable:
        return False
    return True


def suitable_import(model: Model, rng: Random) -> PassSpec | None:
    """Draw an importer, and a step of it that suits a model; None where none does."""
    there = installed()
    for importer in rng.sample(there, len(there)) if len(there) > 1 else there:
        for step in rng.sample(importer.steps, len(importer.steps)):
            if suits(model, step):
                return step
    return None


def written(model: Model, sources: Sequence[Array], step: PassSpec) -> WrittenModel:
    """Return a model as an import takes it; it holds the values of the constants. Unimportable without words for it.

    Extents that vary, functions and bfloat16 are not written.
    """
    importer = importer_in([step])
    assert importer is not None, f"{step} is no import"
    plain = not model.disrupted and not model.variables and not any(vertex.within for vertex in model.vertices)
    constants = {n: sources[n] for n, one in enumerate(model.sources) if one.kind == "constant"}
    said = plain and all(kind.dtype != _UNSAID for kind in model.types())
    found = _WRITERS[importer.name](model, constants, importer.manners[step]) if said else None
    if found is None:
        raise Unimportable(f"{importer.package} has no words for the model")
    return found


def calls_by_themselves(model: Model, sources: Sequence[Array]) -> Iterator[tuple[Model, list[Array]]]:
    """Yield each call as a model of its own, with the values that come in; what is constant is so there too."""
    tensors, kinds = [value for value, _, _ in tried(model, ROWS, sources)[0]], model.types()
    for vertex in model.vertices:
        taken = list(dict.fromkeys(vertex.inputs))
        origins = tuple(model.sources[n] if n < len(model.sources) else Origin(kinds[n]) for n in taken)
        call = msgspec.structs.replace(vertex, inputs=tuple(map(taken.index, vertex.inputs)))
        made = tuple(range(len(taken), len(taken) + len(vertex.outputs)))
        yield Model(origins, (call,), made), [tensors[n].astype(numpy_dtype(kinds[n].dtype)) for n in taken]
