"""The meaning of smaller: the total order on cases.

Statements count first, since a reader has to understand each of them; then passes, then options, then the nodes of
expressions and declarations, of which an index that leaves its buffer is two, then how unusual the dtypes are, then the
magnitude of constants, then the letters of names. Where all that is equal the shorter text is smaller, and at last the
text that comes first. Only equal cases have equal sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from tzerlike.core.case import Case, ContextConfig, Scalar, canonical_json
from tzerlike.core.dtypes import parse
from tzerlike.passes.catalog import discover
from tzerlike.passes.info import PassParameter
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import array_items, is_buffer, params_of, s_tir, tirx, type_of
from tzerlike.tir.buffers import has_usual_offset
from tzerlike.tir.node import accessed_by, is_nop, key
from tzerlike.tir.reducers.program import buffers_of, program_of, unusually_laid_out
from tzerlike.tir.scope import SERIAL, constant_int, shape_variables
from tzerlike.tir.tree import Kind, Tree

DEFAULT = ContextConfig()
DEFAULT_TARGET = "llvm"

_USUAL_DTYPES = ("int32", "float32", "bool", "int64", "float64", "int8", "uint8", "float16")
USUAL_ALIGNMENT = 64
"""TVM's own default."""

_MAGNITUDE_LIMIT = 1 << 80


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """The size of a case; sizes compare field by field, in this order."""

    statements: int
    passes: int
    options: int
    nodes: int
    kinds: int
    magnitude: int
    names: int
    length: int
    text: str

    @property
    def numbers(self) -> dict[str, int]:
        """What people count of a case."""
        return {name: getattr(self, name) for name in ("statements", "passes", "options", "nodes")}


def size_of(case: Case) -> Size:
    """Return the size of a case whose program this TVM reads."""
    statements, nodes, kinds, numbers, names = _program_size(case.ir)
    text, passes = canonical_json(case.to_json()), len(case.passes)
    magnitude = min(sum(numbers), _MAGNITUDE_LIMIT)
    return Size(statements, passes, _options(case), nodes, kinds, magnitude, names, len(text), text)


def rough_size_of(case: Case) -> Size:
    """Return the size of a case where a number only counts with its length, and the text not at all: nobody asks for
    the very smallest numbers with which a program takes long."""
    _, _, _, numbers, _ = _program_size(case.ir)
    return replace(size_of(case), magnitude=sum(map(int.bit_length, numbers)), length=0, text="")


def _options(case: Case) -> int:
    """How many things about the build are not as usual, the arguments of passes included."""
    config = case.config
    unusual = (
        config.opt_level != DEFAULT.opt_level,
        config.pipeline != DEFAULT.pipeline,
        case.target != DEFAULT_TARGET,
    )
    arguments = sum(1 + (usual_argument(spec.name, name) != value) for spec in case.passes for name, value in spec.args)
    return len(config.options) + len(config.disabled_passes) + arguments + sum(unusual)


def usual_argument(pass_name: str, argument: str) -> Scalar:
    """Return what TVM's own pipelines give for an argument; None where that is not known."""
    parameters = _parameters().get(pass_name, {})
    return parameters[argument].domain[0] if argument in parameters else None


def may_be_left_out(pass_name: str, argument: str) -> bool:
    parameters = _parameters().get(pass_name, {})
    return argument in parameters and not parameters[argument].required


@cache
def _parameters() -> Mapping[str, Mapping[str, PassParameter]]:
    return {info.name: {parameter.name: parameter for parameter in info.parameters} for info in discover()}


@lru_cache(maxsize=64)
def _program_size(ir: str) -> tuple[int, int, int, tuple[int, ...], int]:
    """The statements, nodes, kinds, weights of numbers and names of a program; see Size."""
    tree = Tree(program_of(ir))
    statements = nodes = 0
    dtypes: set[str] = set()
    for site in tree.sites:
        node = site.node
        if site.kind is Kind.STMT:
            statements += not (type(node) is tirx.SeqStmt or is_nop(node))
            nodes += type(node) is tirx.For and int(node.kind) != SERIAL
        elif site.kind is Kind.EXPR:
            nodes += 1
            dtypes.add(site.dtype)
        else:
            declared = len(array_items(node.alloc_buffers)) + len(array_items(node.match_buffers))
            statements += declared
            nodes += len(array_items(node.iter_vars))
        nodes += len(getattr(node, "annotations", None) or ())
    func = tree.func
    buffers = buffers_of(tree)
    params = params_of(func)
    nodes += len(
        {key(one) for param in params for one in (param, *(shape_variables(param) if is_buffer(param) else ()))}
    )
    nodes += len(func.attrs or ()) + sum(map(_trimmings, buffers))
    nodes += len(unusually_laid_out(tree)) + _beyond(tree)
    dtypes.update(str(type_of(buffer).dtype.dtype) for buffer in buffers)
    numbers: list[int] = []
    tvm_api.structural_walk(
        func,
        (
            (
                tirx.IntImm,
                lambda node: numbers.append(_weight(int(node.value), truth=str(type_of(node).dtype) == "bool")),
            ),
            (tirx.FloatImm, lambda node: numbers.append(_weight_of_float(float(node.value)))),
        ),
    )
    return statements, nodes, sum(map(_unusual, dtypes)), tuple(numbers), _letters(func)


def _beyond(tree: Tree) -> int:
    """How many indices are variables of loops that go round more often than the buffer has elements there."""
    rounds = {key(site.node.loop_var): constant_int(site.node.extent) for site in tree.of_type(tirx.For)}
    found = 0
    for node in (site.node for site in tree.sites):
        if (buffer := accessed_by(node)) is None:
            continue
        shape = map(constant_int, array_items(type_of(buffer).shape))
        for index, extent in zip(array_items(node.indices), shape, strict=False):
            most = rounds.get(key(index)) if type(index) is tirx.Var else None
            found += most is not None and extent is not None and most > extent
    return found


def _letters(func: Any) -> int:
    """The letters in the names of variables, each counted once, and of blocks.

    The text of a case does not tell: where a buffer and its block have one name, it may have that once.
    """
    names: dict[int, str] = {}
    blocks: list[str] = []

    def note(var: Any) -> None:
        names[key(var)] = str(var.name)

    tvm_api.structural_walk(
        func,
        (
            (tirx.Var, note),
            (s_tir.SBlock, lambda block: blocks.append(str(block.name_hint))),
        ),
    )
    return sum(map(len, (*names.values(), *blocks)))


def _trimmings(buffer: Any) -> int:
    """What there is to a buffer besides its name: dimensions, strides, offset, memory, alignment."""
    ty = type_of(buffer)
    odd = (
        not has_usual_offset(buffer),
        str(ty.storage_scope) != "global",
        int(ty.data_alignment) != USUAL_ALIGNMENT,
        int(ty.offset_factor) != 1,
    )
    return len(array_items(ty.shape)) + len(array_items(ty.strides)) + sum(odd)


def _weight(value: int, *, truth: bool = False) -> int:
    """0 is simplest, then 1, -1, 2, -2, ...; of truth values, the true one: what is always done is simple."""
    return 1 - value if truth else 2 * abs(value) - (value > 0)


def simpler_numbers(value: int) -> Iterator[int]:
    """Yield simpler numbers: small ones, the half, then less and less towards zero, by powers of two.

    The steps do not depend on the number, so that a search that goes on where it was ends at the least number that
    will do after a few tries for each bit.
    """
    sign = 1 if value > 0 else -1
    steps = [sign << bit for bit in reversed(range(abs(value).bit_length()))]
    for other in dict.fromkeys((0, 1, 2, 4, abs(value), sign * (abs(value) // 2), *(value - step for step in steps))):
        if _weight(other) < _weight(value):
            yield other


def extents_below(extent: Any) -> Iterator[int]:
    """Yield the numbers to try in place of an extent: 1 and 2 for one that is no constant."""
    value = constant_int(extent)
    yield from (1, 2) if value is None else (number for number in simpler_numbers(value) if number > 0)


def _weight_of_float(value: float) -> int:
    return 0 if value == 0 else 1 if value == 1 else 1 + len(repr(value))


def _unusual(dtype: str) -> int:
    parsed = parse(dtype)
    if parsed is None:
        return 0
    lanes = parsed.lanes + 1 if parsed.lanes > 1 or parsed.scalable else 0
    known = parsed.scalar in _USUAL_DTYPES
    return lanes + (_USUAL_DTYPES.index(parsed.scalar) if known else len(_USUAL_DTYPES))
