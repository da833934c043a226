"""The schedule calls that a bundle holds, repeated: parsed one by one, since a bundle's text must not be run as Python.

A line is what `schedule_trace` writes: `v3 = sch.compute_at(v1, v2[0], preserve_unit_loops=True)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import one_line
from tzerlike.oracles.fewer_steps import HeldStep, fewer_steps
from tzerlike.oracles.primitives import CALLS
from tzerlike.oracles.schedule_defaults import DEFAULTS
from tzerlike.oracles.schedule_lookups import lookup_of
from tzerlike.oracles.schedule_trace import MAPS, SCHEDULE
from tzerlike.systems.refusal import ask_compiler
from tzerlike.systems.tvm_api import ENTRY, tvm, tvm_ffi
from tzerlike.tir.allowlist.stored import require_graph

_LONGEST = 1 << 20

_DEEPEST = 6
"""Loops around a block that are looked at from inside."""

_METHODS = frozenset(
    {
        "add_unit_loop", "annotate", "bind", "blockize", "cache_index", "cache_inplace", "cache_read", "cache_write",
        "compute_at", "compute_inline", "decompose_padding", "decompose_reduction", "fuse", "get", "get_child_blocks",
        "get_consumers", "get_loops", "get_output_blocks", "get_producers", "get_sblock", "loop_partition",
        "pad_einsum", "parallel", "reindex", "reorder", "reorder_block_iter_var", "reverse_compute_at",
        "reverse_compute_inline", "rfactor", "rolling_buffer", "set_axis_separator", "set_scope", "split",
        "storage_align", "tensorize", "transform_block_layout", "transform_layout", "unannotate", "unroll", "vectorize",
    }
)  # fmt: skip

_LOAD, _MAP = "tvm.ir.load_json", "tirx.IndexMap"

SEED = 1
"""That of the schedule on which recorded calls are made again."""

LOOKS = "get"
"""What the names of the methods begin with that leave a schedule as it is."""


@dataclass(frozen=True, slots=True)
class ScheduleCall:
    """A call of `method`, whose result is `name`; the arguments are syntax."""

    name: str
    method: str
    args: tuple[ast.expr, ...]
    kwargs: tuple[tuple[str, ast.expr], ...]


def read_calls(lines: Sequence[str]) -> list[ScheduleCall]:
    """Return the calls; UserError where a line is none that schedules know."""
    return [_read(line) for line in lines]


def calls_in(held: Mapping[str, Any]) -> list[str]:
    """The calls that the environment of a bundle holds, none where one of them cannot be made again."""
    lines = held.get(CALLS)
    calls = [str(line) for line in lines] if isinstance(lines, list) else []
    try:
        read_calls(calls)
    except UserError:
        return []
    return calls


def make_calls(schedule: Any, calls: Sequence[ScheduleCall]) -> dict[str, Any]:
    """Make the calls and return what each gave, by name; UserError where an argument is none, CompilerRefused where it
    does not load, else what a call raises."""
    results: dict[str, Any] = {}
    for call in calls:
        args = [_value(arg, results) for arg in call.args]
        kwargs = {key: _value(arg, results) for key, arg in call.kwargs}
        results[call.name] = getattr(schedule, call.method)(*args, **kwargs)
    return results


def last_call_alone(schedule: Any, line: str, results: Mapping[str, Any]) -> list[str]:
    """Return look-ups and a call on a `schedule`, one that takes `results` of earlier calls, in place of all of these;
    NoLookup where none leads to what it takes."""
    looks = _Looks(schedule, results)
    call = ast.unparse(ast.fix_missing_locations(looks.visit(ast.parse(line))))
    return [*looks.lines, call]


class _Looks(ast.NodeTransformer):
    """Puts look-ups in place of what earlier calls gave; the names are those of no call that is recorded."""

    def __init__(self, schedule: Any, results: Mapping[str, Any]) -> None:
        self._schedule = schedule
        self._results = results
        self._names: dict[str, str] = {}
        self.lines: list[str] = []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._found(self._results[node.id]) if node.id in self._results else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._found(_value(node, dict(self._results)))

    def _found(self, value: Any) -> ast.expr:
        if isinstance(value, Sequence | tvm_ffi.Array):
            return ast.List([self._found(item) for item in value], ast.Load())
        if isinstance(value, tvm.ir.Expr):
            return ast.Constant(int(self._schedule.get(value)))
        lookup = lookup_of(self._schedule, value)
        block = self._look(f"get_sblock({lookup.block!r}, {ENTRY!r})")
        if lookup.loop is None:
            return ast.Name(block, ast.Load())
        loops = self._look(f"get_loops({block})")
        return ast.Subscript(ast.Name(loops, ast.Load()), ast.Constant(lookup.loop), ast.Load())

    def _look(self, call: str) -> str:
        if call not in self._names:
            self._names[call] = f"u{len(self._names) + 1}"
            self.lines.append(f"{self._names[call]} = {SCHEDULE}.{call}")
        return self._names[call]


def fewer_calls(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the calls without some of them, but with the last, which is the one that goes wrong; with what a call is
    given in place of what it gives; with an earlier look at the same in place of a later one; with maps that only turn
    the indices around; and without a keyword argument."""
    calls = read_calls(lines)
    made: dict[str, int] = {}
    steps = []
    for place, call in enumerate(calls):
        takes = frozenset(made[name] for name in _names_in(call) if name in made)
        steps.append(HeldStep(takes, call.method.startswith(LOOKS)))
        made[call.name] = place
    for kept in fewer_steps(steps):
        yield [lines[place] for place in kept]
    for place, call in enumerate(calls[:-1]):
        if not steps[place].only_looks and (given := [*call.args, *(value for _, value in call.kwargs)]):
            taken = re.compile(rf"\b{call.name}\b(\[\d+\])?")
            yield [*lines[:place], *(taken.sub(ast.unparse(given[0]), line) for line in lines[place + 1 :])]
    seen: dict[str, str] = {}
    for place, (line, call) in enumerate(zip(lines, calls, strict=True)):
        asked = line.partition(" = ")[2]
        if steps[place].only_looks and asked in seen and place < len(lines) - 1:
            yield [*lines[:place], *_renamed(lines[place + 1 :], call.name, seen[asked])]
        seen.setdefault(asked, call.name)
    for place, line in enumerate(lines):
        for plainer in _with_plainer_maps(line):
            yield [*lines[:place], plainer, *lines[place + 1 :]]
    yield from _with_fewer_arguments(lines)


def counted_from_inside(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the calls with a loop by its place from inside, which stays as it is when loops around it go.

    How many loops there are is not known: that place may be none.
    """
    for number, line in enumerate(lines):
        tree = ast.parse(line)
        for taken in [node for node in ast.walk(tree) if isinstance(node, ast.Subscript)]:
            if isinstance(taken.slice, ast.Constant):
                place = taken.slice
                for back in range(1, _DEEPEST + 1):
                    taken.slice = ast.UnaryOp(ast.USub(), ast.Constant(back))
                    yield [*lines[:number], ast.unparse(tree), *lines[number + 1 :]]
                taken.slice = place


def with_smaller_numbers(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the calls with a smaller number in place of one that is an argument, or a part of one."""
    for place, line in enumerate(lines):
        tree = ast.parse(line)
        places = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
        for constant in [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in places]:
            given = constant.value
            for smaller in range(min(given, 3)) if type(given) is int else ():
                constant.value = smaller
                yield [*lines[:place], ast.unparse(tree), *lines[place + 1 :]]
            constant.value = given


def _with_fewer_arguments(lines: Sequence[str]) -> Iterator[list[str]]:
    """The calls without one of the keyword arguments that have a default."""
    for place, line in enumerate(lines):
        tree = ast.parse(line)
        for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
            given = call.keywords
            for keyword in [keyword for keyword in given if keyword.arg in DEFAULTS]:
                call.keywords = [other for other in given if other is not keyword]
                yield [*lines[:place], ast.unparse(tree), *lines[place + 1 :]]
            call.keywords = given


def _with_plainer_maps(line: str) -> Iterator[str]:
    """A call with a map of any number of indices, to the same in the opposite order or as they are, in place of one
    that is given as JSON, and with the latter in place of the former."""
    tree = ast.parse(line)
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        for place, given in enumerate(call.args):
            written, maps = ast.unparse(given), list(MAPS)
            if written in MAPS:
                plainer = maps[maps.index(written) + 1 :]
            else:
                plainer = maps if written.startswith(f"{_LOAD}(") and _MAP in written else []
            for text in plainer:
                call.args[place] = ast.parse(text, mode="eval").body
                yield ast.unparse(tree)
            call.args[place] = given


def _renamed(lines: Sequence[str], old: str, new: str) -> list[str]:
    """The lines with another name where the old one is."""
    trees = [ast.parse(line) for line in lines]
    found = [[n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == old] for tree in trees]
    for name in (name for names in found for name in names):
        name.id = new
    return [ast.unparse(tree) if names else line for line, tree, names in zip(lines, trees, found, strict=True)]


def _names_in(call: ScheduleCall) -> set[str]:
    """The names that the arguments of a call have in them."""
    syntax = (*call.args, *(value for _, value in call.kwargs))
    return {node.id for arg in syntax for node in ast.walk(arg) if isinstance(node, ast.Name)}


def _read(line: str) -> ScheduleCall:
    try:
        if len(line) > _LONGEST:
            raise ValueError
        (statement,) = ast.parse(line).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refused(line) from None
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=method), args=args, keywords=keywords),
        ) if of == SCHEDULE and method in _METHODS and all(keyword.arg for keyword in keywords):
            kwargs = tuple((keyword.arg or "", keyword.value) for keyword in keywords)
            return ScheduleCall(name, method, tuple(args), kwargs)
    raise _refused(line)


def _value(syntax: ast.expr, results: dict[str, Any]) -> Any:
    match syntax:
        case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Name(id=name) if name in results:
            return results[name]
        case ast.Subscript(value=of, slice=ast.Constant(value=int() as place)):
            items = _value(of, results)
            if isinstance(items, Sequence | tvm_ffi.Array) and 0 <= place < len(items):
                return items[place]
        case ast.Subscript(value=of, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as place))):
            items = _value(of, results)
            if isinstance(items, Sequence | tvm_ffi.Array) and 0 < place <= len(items):
                return items[len(items) - place]
        case ast.List(elts=items):
            return [_value(item, results) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item, results) for item in items)
        case ast.Call(func=func, args=[ast.Constant(value=str() as text)], keywords=[]) if ast.unparse(func) == _LOAD:
            require_graph(text, "environment.calls")
            return ask_compiler(lambda: tvm.ir.load_json(text))
        case ast.Lambda() if ast.unparse(syntax) in MAPS:
            return MAPS[ast.unparse(syntax)]
    raise _refused(ast.unparse(syntax))


def _refused(text: str) -> UserError:
    return UserError(f"environment.calls: {one_line(text, 80)} is not a schedule call that can be repeated")
