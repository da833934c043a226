"""Models as Relax: built through BlockBuilder, which infers the type of each call."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tzerlike.core.untrusted import one_line
from tzerlike.graph.bodies import Body, BodyItem, Branches, LocalFunction, SingleCall, body_of, content_of
from tzerlike.graph.calls import OF_VARIABLES, relax_call
from tzerlike.graph.kernel_call import kernel_call, known_shape
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import CLOSURES, Model, TensorType, Vertex
from tzerlike.graph.symbols import SYMBOLIC_ATTRIBUTE, variable_name
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

_relax = tvm_api.part("relax")

_OBJECTION = 300
"""Characters of what a verifier says."""


def relax_module(model: Model, values: Sequence[Array] | None, *, alone: bool = False) -> Any:
    """Return the module whose `main` is the model; constants hold those of the `values` of all sources that are theirs,
    or are parameters, whose extents do not vary, where there are none.

    Outputs come out in a tuple, but for the only one where that is to come out `alone`.

    TVM's own exceptions where it refuses a call.
    """
    return _Writing(model).module(values, together=not alone)


def relax_accepts(module: Any) -> bool:
    """Whether the verifier of Relax accepts a module."""
    return bool(_relax.analysis.check_well_formed(module))


def relax_objection(module: Any) -> str:
    """Return what the verifier of Relax says against a module, in a line; "" where it accepts it, or gives no reason.

    Older ones give none.
    """
    try:
        ask_compiler(lambda: _relax.analysis.well_formed(module))
    except CompilerRefused as refused:
        return one_line(str(refused.cause).strip(), _OBJECTION)
    return ""


def change_of_type(old: Any, new: Any) -> str:
    """Return how a type differs from what it was: "" where they are alike, but for the names of variables or where
    2 * n is written as n * 2, "wider" or "narrower" where one takes the values of the other, and "other"."""
    if tvm_api.structural_equal(old, new):
        return ""
    check = getattr(_relax.analysis, "type_base_check", None) or _relax.analysis.struct_info_base_check
    passed = _relax.analysis.BaseCheckResult.PASS
    fits = check(new, old) == passed, check(old, new) == passed
    return {(True, True): "", (True, False): "wider", (False, True): "narrower"}.get(fits, "other")


class _Writing:
    """A module under construction. Functions that are alike are one, which is called twice."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._builder = _relax.BlockBuilder()
        self._variables = [_variable(variable_name(place)) for place in range(len(model.variables))]
        self._functions: dict[str, tuple[Any, list[Any]]] = {}

    def module(self, values: Sequence[Array] | None, *, together: bool) -> Any:
        known, inputs = {}, []
        for number, one in enumerate(self._model.sources):
            if one.kind == "constant" and values is not None:
                known[number] = _relax.const(values[number], one.type.dtype)
                continue
            fixed = _relax.TensorType(one.type.shape, one.type.dtype)
            known[number] = _relax.Var(f"x{number}", fixed if one.kind == "constant" else self._symbolic(one.type))
            inputs.append(known[number])
        with self._builder.function(tvm_api.ENTRY, inputs):
            found = self._written(self._builder, body_of(self._model), known, together)
            self._builder.emit_func_output(found)
        return self._builder.finalize()

    def _written(self, builder: Any, body: Body, known: dict[int, Any], together: bool) -> Any:
        """Write a body into the function that is open, and return its result: a tuple if `together` or of several."""
        builder._end_block()
        blocks, result = self._blocks(builder, body, known, together)
        builder._func._blocks += blocks
        builder._begin_binding_block()
        return result

    def _blocks(self, builder: Any, body: Body, known: dict[int, Any], together: bool = False) -> tuple[list[Any], Any]:
        """Blocks of a body, and its result; each choice stands between two dataflow blocks."""
        blocks: list[Any] = []
        items = list(body.items)
        while True:
            count = next((n for n, item in enumerate(items) if isinstance(item, Branches)), len(items))
            builder._begin_dataflow_block()
            for item in items[:count]:
                known.update(zip(item.gives, self._item(builder, item, known), strict=True))
            if count == len(items):
                found = [known[number] for number in body.results]
                result = builder.emit_output(_relax.Tuple(found) if together or len(found) > 1 else found[0])
                return [*blocks, builder._end_block()], result
            later = {*body.results, *(number for item in items[count:] for number in item.takes)}
            for number in (one for item in items[:count] for one in item.gives if one in later):
                known[number] = builder.emit_output(known[number])
            blocks += [block for block in (builder._end_block(),) if block.bindings]
            chosen = items[count]
            assert isinstance(chosen, Branches)
            blocks.append(self._choice(builder, chosen, known))
            del items[: count + 1]

    def _choice(self, builder: Any, chosen: Branches, known: dict[int, Any]) -> Any:
        sides = []
        for side in (chosen.then, chosen.other):
            blocks, result = self._blocks(builder, side, known.copy())
            sides.append(_relax.SeqExpr(blocks, result))
        builder._begin_binding_block()
        condition = known[chosen.call.takes[0]]
        condition = condition if isinstance(condition, _relax.Var) else builder.emit(condition)
        found = builder.emit(_relax.If(condition, *sides))
        known.update(zip(chosen.gives, _parts(builder, found, len(chosen.gives)), strict=True))
        return builder._end_block()

    def _item(self, builder: Any, item: BodyItem, known: dict[int, Any]) -> Sequence[Any]:
        inputs = [known[number] for number in item.takes]
        if isinstance(item, LocalFunction) and item.mark.startswith(CLOSURES) and inputs and not self._variables:
            made, given = self._closure(builder, item, inputs)
            return _parts(builder, builder.emit(_relax.Call(made, given)), len(item.gives))
        if isinstance(item, LocalFunction):
            function, more = self._function(item, inputs)
            given = [_relax.Tuple(inputs)] if item.mark.startswith("packed") else inputs
            return _parts(builder, builder.emit(function(*given, *more)), len(item.gives))
        assert isinstance(item, SingleCall)
        vertex = item.vertex
        if vertex.row == "tuple":
            nested = bool(vertex.attributes["nested"])
            return _parts(builder, builder.emit(_tuple(inputs, nested)), len(vertex.outputs), nested)
        if vertex.row == "match_cast":
            return [_cast(builder, inputs[0], to_variables=vertex.attributes["to"] == "variables")]
        if vertex.is_kernel:
            inputs = [one if known_shape(one) is not None else _cast_to_variables(builder, one) for one in inputs]
            shape = (vertex.attributes | self._attributes(vertex)).get(SYMBOLIC_ATTRIBUTE, ())
            made = kernel_call(vertex, inputs, shape, self._builder.add_func)
            return _parts(builder, builder.emit(made), len(vertex.outputs))
        if vertex.row in OF_VARIABLES:
            inputs = [one if isinstance(one, _relax.Var) else builder.emit(one) for one in inputs]
        call = builder.emit(relax_call(vertex, inputs, **self._attributes(vertex)))
        return _parts(builder, call, len(vertex.outputs))

    def _function(self, region: LocalFunction, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The function of a region, and the extents that it takes beside tensors."""
        kinds = [tvm_api.type_of(one) for one in inputs]
        word = region.mark.rstrip("0123456789")
        variables = [hash(one) for kind in kinds for one in _relax.analysis.tir_vars_in_type(kind)]
        key = f"{word} {kinds} {variables} {content_of(region.body)}"
        if key not in self._functions:
            together = [_relax.Var("packed", tvm_api.tvm.ir.TupleType(kinds))]
            made = self._local(region, together if word == "packed" else _parameters(inputs))
            free = list(_relax.analysis.free_symbolic_vars(made))
            if free:
                extents = _relax.Var("extents", _relax.ShapeType(free))
                made = _relax.Function([*made.params, extents], made.body, made.ret_ty, made.is_pure, made.attrs)
            made = _relax.utils.copy_with_new_vars(made)
            name = self._builder.add_func(made, f"{word}{len(self._functions)}")
            self._functions[key] = name, [_relax.ShapeExpr(free)] if free else []
        return self._functions[key]

    def _closure(self, builder: Any, region: LocalFunction, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """A function that has the first half of what a region takes, and what it is called on."""
        half = len(inputs) // 2
        held, given = inputs[:half], inputs[half:]
        params = _parameters(given)
        if region.mark.startswith("closure"):
            return builder.emit(self._local(region, params, held)), given
        captured, outer = _parameters(held, "c"), _relax.BlockBuilder()
        with outer.function("maker", captured, private=True):
            outer.emit_func_output(outer.emit(self._local(region, params, captured)))
        maker = self._builder.add_func(_relax.utils.copy_with_new_vars(outer.get()["maker"]), region.mark)
        return builder.emit(_relax.Call(maker, held)), given

    def _local(self, region: LocalFunction, params: Sequence[Any], captured: Sequence[Any] = ()) -> Any:
        builder = _relax.BlockBuilder()
        with builder.function("local", params, private=True):
            taken = [*captured, *params]
            if region.mark.startswith("packed"):
                taken = [builder.emit(_relax.TupleGetItem(*params, place)) for place in range(len(region.takes))]
                builder._func._blocks.append(builder._end_block())
                builder._begin_binding_block()
            known = dict(zip(region.takes, taken, strict=True))
            builder.emit_func_output(self._written(builder, region.body, known, together=False))
        return builder.get()["local"]

    def _attributes(self, vertex: Vertex) -> dict[str, Any]:
        """The attributes in which extents vary."""
        extents = vertex.attributes.get(SYMBOLIC_ATTRIBUTE)
        if not self._variables or not isinstance(extents, tuple):
            return {}
        return {SYMBOLIC_ATTRIBUTE: [self._extent(int(extent)) for extent in extents]}

    def _symbolic(self, kind: TensorType) -> Any:
        return _relax.TensorType([self._extent(extent) for extent in kind.shape], kind.dtype)

    def _extent(self, extent: int) -> Any:
        for one in self._model.written:
            if one.extent == extent:
                return prod((self._variables[place] for place in one.variables), start=one.factor) + one.plus
        return extent


def _parameters(tensors: Sequence[Any], letter: str = "p") -> list[Any]:
    return [_relax.Var(f"{letter}{number}", tvm_api.type_of(one)) for number, one in enumerate(tensors)]


def _variable(name: str) -> Any:
    return tvm_api.part("tirx").Var(name, "int64")


def _cast(builder: Any, tensor: Any, *, to_variables: bool) -> Any:
    """The same tensor, its type checked at run time, if so by way of one whose extents are variables."""
    kind = tvm_api.type_of(tensor)
    if to_variables and kind.ndim:
        tensor = _cast_to_variables(builder, tensor)
    return builder.match_cast(tensor, kind)


def _cast_to_variables(builder: Any, tensor: Any) -> Any:
    kind = tvm_api.type_of(tensor)
    extents = [_variable(f"k{axis}") for axis in range(kind.ndim)]
    return builder.match_cast(tensor, _relax.TensorType(extents, kind.dtype))


def _tuple(inputs: Sequence[Any], nested: bool) -> Any:
    """A tuple; a nested one has itself for its last item."""
    inside = _relax.Tuple(inputs)
    return _relax.Tuple([*inputs, inside]) if nested else inside


def _parts(builder: Any, found: Any, count: int, nested: bool = False) -> list[Any]:
    """The tensors of what was emitted: itself, or the items of a tuple; of a nested one every other from inside."""
    if isinstance(tvm_api.type_of(found), _relax.TensorType):
        return [found]
    inside = builder.emit(_relax.TupleGetItem(found, count)) if nested else found
    return [builder.emit(_relax.TupleGetItem((found, inside)[index % 2], index)) for index in range(count)]
