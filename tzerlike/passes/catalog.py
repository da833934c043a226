"""The passes of the installed TVM, found by reflection, and the way from a PassSpec to a TVM pass."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from tzerlike.core.case import PassSpec, Scalar
from tzerlike.core.errors import UserError
from tzerlike.passes import dlight
from tzerlike.passes.arguments import ARGUMENTS, EXCLUDED, MAP_ARGUMENT, OPTIONS_READ, TARGET_ARGUMENTS
from tzerlike.passes.info import Catalog, PassInfo, PassParameter, by_name
from tzerlike.passes.tilelang import LISTS, TILE_ARGUMENTS
from tzerlike.systems.tvm_api import SYSTEM, part, tirx, tvm
from tzerlike.systems.tvm_passes import pass_constructors, pass_modules


@cache
def discover() -> Catalog:
    """Return the passes of the installed TVM that take scalar arguments, sorted by name.

    A pass is a registered global function of the system's namespaces that
    returns `transform.Pass`, or dlight. Its argument names are those of the Python constructor
    where there is one. Passes that the tables do not know come with the defaults of their
    constructor; what needs an argument that the tables do not give is left out.
    """
    found = [info for ffi_name in registered_passes() if (info := _describe(ffi_name)) is not None]
    return tuple(sorted((*found, *dlight.found_here()), key=lambda info: info.name))


def registered_passes() -> tuple[str, ...]:
    """Return the sorted FFI names of everything that constructs a tensor-level pass, excluded ones too."""
    return tuple(sorted(n for n in pass_constructors() if n.partition(".")[0] in SYSTEM.namespaces))


def instantiate(spec: PassSpec, catalog: Catalog | None = None) -> Any:
    """Return the TVM pass that `spec` names, ready to be called on an IRModule.

    Raises UserError for an unknown pass or argument, for a missing required one, and for a
    value that the constructor refuses.
    """
    known = _known() if catalog is None else by_name(catalog)
    info = known.get(spec.name)
    if info is None:
        raise UserError(f"no pass {spec.name!r} in this TVM{_nearest(spec.name, known)}")
    names = [p.name for p in info.parameters]
    given = dict(spec.args)
    for name in given:
        if name not in names:
            hint = _nearest(name, names) if names else "; it takes none"
            raise UserError(f"pass {spec.name} has no argument {name!r}{hint}")
    missing = [p.name for p in info.parameters if p.required and p.name not in given]
    if missing:
        raise UserError(f"pass {spec.name} needs the argument {missing[0]!r}")
    try:
        if spec.name == dlight.DLIGHT:
            return _default_schedule(given["rules"])
        if SYSTEM.name_in_tvm(spec.name) in MAP_ARGUMENT:
            return tvm.get_global_func(info.ffi_name)(_map_argument(spec.name, given))
        values = {name: _value(name, value) for name, value in given.items()}
        constructor = _python_constructor(info.ffi_name)
        if constructor is not None:
            return constructor(**values)
        return tvm.get_global_func(info.ffi_name)(*(values[name] for name in names))
    except (TypeError, ValueError, RuntimeError) as error:
        text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise UserError(f"pass {spec}: the constructor refuses these arguments: {text}") from error


def steps_of(passes: Iterable[PassSpec]) -> list[tuple[str, Any]]:
    """Return the TVM passes that `passes` name, each with its name; UserError as `instantiate` raises it."""
    return [(spec.name, instantiate(spec)) for spec in passes]


def own_name(name: str) -> str:
    """Return what a pass calls itself, as instruments hear of it; `name` for one that this TVM does not have."""
    info = _known().get(name)
    return name if info is None else info.internal_name


def constructor_source(spec: PassSpec) -> str:
    """Return a Python expression that constructs the pass with `tvm`, `tirx` and `s_tir` in scope alone.

    UserError where `instantiate` raises it for an unknown pass.
    """
    info = _known().get(spec.name)
    if info is None:
        raise UserError(f"no pass {spec.name!r} in this TVM")
    given = dict(spec.args)
    if spec.name == dlight.DLIGHT:
        return dlight.schedule_source(given["rules"])
    if spec.name == "tirx.RemapThreadAxis":
        axes = (
            f"{key!r}: tirx.IterVar(None, tirx.Var({tag!r}, 'int32'), tirx.IterVar.ThreadIndex, {tag!r})"
            for key, tag in given.items()
        )
        return f"tvm.get_global_func({info.ffi_name!r})({{{', '.join(axes)}}})"
    if SYSTEM.name_in_tvm(spec.name) in MAP_ARGUMENT:
        entries = (f"{key!r}: tirx.IntImm('int32', {value!r})" for key, value in given.items())
        return f"tvm.get_global_func({info.ffi_name!r})({{{', '.join(entries)}}})"
    values = {name: _value_source(name, value) for name, value in given.items()}
    if _python_constructor(info.ffi_name) is not None:
        return f"{info.ffi_name}({', '.join(f'{name}={value}' for name, value in values.items())})"
    positional = ", ".join(values[parameter.name] for parameter in info.parameters)
    return f"tvm.get_global_func({info.ffi_name!r})({positional})"


@cache
def _known() -> dict[str, PassInfo]:
    return by_name(discover())


def _value_source(name: str, value: Scalar) -> str:
    if name in TARGET_ARGUMENTS and isinstance(value, str):
        return f"tvm.target.Target({json.loads(value) if value.startswith('{') else value!r})"
    return repr(_value(name, value))


def _describe(ffi_name: str) -> PassInfo | None:
    name = SYSTEM.pass_name(ffi_name)
    in_tvm = SYSTEM.name_in_tvm(name)
    if in_tvm in EXCLUDED:
        return None
    table = ARGUMENTS.get(in_tvm) or TILE_ARGUMENTS.get(in_tvm, {})
    parameters: list[PassParameter] = []
    constructor = _python_constructor(ffi_name)
    if constructor is None or in_tvm in MAP_ARGUMENT:
        parameters = [PassParameter(key, domain, in_tvm not in MAP_ARGUMENT) for key, domain in table.items()]
        if len(pass_constructors()[ffi_name]) > len(parameters):
            return None
    else:
        for parameter in inspect.signature(constructor).parameters.values():
            required = parameter.default is inspect.Parameter.empty
            if parameter.name in table:
                parameters.append(PassParameter(parameter.name, table[parameter.name], required))
            elif required:
                return None
            else:
                parameters.append(PassParameter(parameter.name, (parameter.default,), required))
    info = PassInfo(name, ffi_name, tuple(parameters))
    first = PassSpec(name, tuple((p.name, p.domain[0]) for p in parameters))
    internal = instantiate(first, (info,)).info.name
    return PassInfo(name, ffi_name, tuple(parameters), str(internal), OPTIONS_READ.get(in_tvm, ()))


def _python_constructor(ffi_name: str) -> Any:
    namespace, _, function = ffi_name.rpartition(".")
    module = pass_modules().get(namespace)
    return None if module is None else getattr(module, function, None)


def _default_schedule(rules: Scalar) -> Any:
    gpu, schedule = (getattr(part("s_tir.dlight"), name) for name in ("gpu", "ApplyDefaultSchedule"))
    own = schedule(*(getattr(gpu, name)() for name in dlight.named_rules(rules)))

    def scheduled(module: Any, context: Any) -> Any:
        # It changes the module that it is given, which instruments have seen, and is one pass to them.
        with tvm.transform.PassContext():
            return own(module.clone())

    return tvm.transform.module_pass(scheduled, opt_level=0, name=dlight.NAME)


def _map_argument(name: str, given: dict[str, Scalar]) -> dict[str, Any]:
    if name == "tirx.RemapThreadAxis":
        var = tirx.Var
        return {
            key: tirx.IterVar(None, var(str(tag), "int32"), tirx.IterVar.ThreadIndex, str(tag))
            for key, tag in given.items()
        }
    return {key: tirx.IntImm("int32", value) for key, value in given.items()}


def _value(name: str, value: Scalar) -> Any:
    if name in LISTS and value is not None:
        return LISTS[name](value)
    if name not in TARGET_ARGUMENTS or not isinstance(value, str):
        return value
    return tvm.target.Target(json.loads(value) if value.startswith("{") else value)


def _nearest(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if not close:
        close = [n for n in names if n.rpartition(".")[2].lower() == name.rpartition(".")[2].lower()][:3]
    return "; nearest: " + ", ".join(close) if close else ""
