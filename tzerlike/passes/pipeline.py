"""TVM's default lowering pipelines as data: what a build runs, as a list of PassSpecs.

The pipelines are Python functions (`tvm/s_tir/pipeline.py`, `tvm/tirx/compilation_pipeline.py`) that build
a list and run it at once. Here their own code runs with recorders in place of TVM's modules, so every branch
that depends on a PassContext option is taken as TVM takes it, and no list is kept twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from tzerlike.core.case import ContextConfig, PassSpec
from tzerlike.core.errors import TzerlikeError
from tzerlike.passes.catalog import discover
from tzerlike.passes.info import by_name
from tzerlike.systems.tvm_api import SYSTEM
from tzerlike.systems.tvm_build import pipeline_factories, pipeline_parts, target_of


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What `tirx.build` runs on a module whose target is bound.

    `passes` run on the whole module, then `host` and `device` on the two halves that splitting makes.
    """

    passes: tuple[PassSpec, ...]
    host: tuple[PassSpec, ...]
    device: tuple[PassSpec, ...]


def default_pipeline(target: str = "llvm", config: ContextConfig | None = None) -> Pipeline:
    """Return the pipeline that a build for `target` under `config` runs, disabled passes included.

    Raises TzerlikeError when TVM's pipeline function does something that a recorder cannot follow.
    """
    options = () if config is None else config.options
    # The pipelines read flags only, and each is off by default.
    return _recorded(target, tuple(key for key, value in options if value is True))


@cache
def _recorded(target: str, flags: tuple[str, ...]) -> Pipeline:
    select, factories = pipeline_factories()
    name = _rebound(select, {"get_tir_pipeline": lambda name: name})(target_of(target))
    name = "s_tir" if name == "default" else name
    tape = _Tape(dict.fromkeys(flags, True))
    lowering, host, device = pipeline_parts(_play(factories[name], tape)())
    sequences = []
    for function, arguments in ((lowering, (None, None)), (host, ()), (device, ())):
        tape.passes = ()
        _play(function, tape)(*arguments)
        sequences.append(tape.passes)
    return Pipeline(*sequences)


@dataclass(slots=True)
class _Tape:
    """The options that recorders answer with, and the sequence that they heard last."""

    options: Mapping[str, Any]
    passes: tuple[PassSpec, ...] = ()


class _Recorder:
    """Stands for a module of TVM, or anything in it, while a pipeline function runs."""

    def __init__(self, path: str, tape: _Tape) -> None:
        self._path = path
        self._tape = tape
        self.config = tape.options

    def __getattr__(self, name: str) -> _Recorder:
        return _Recorder(f"{self._path}.{name}", self._tape)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self._path.rpartition(".")[2]
        if last == "module_pass":
            return lambda function: function
        if last == "current":
            return self
        if last == "Sequential":
            self._tape.passes = tuple(args[0])
            return lambda module: module
        return _spec(SYSTEM.pass_name(self._path.removeprefix("tvm.")), args, kwargs)


def _spec(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> PassSpec:
    known = by_name(discover())
    if name not in known:
        # The backends' Python modules leave out the namespace of the FFI name: backend.cuda.LowerIket.
        name = next((n for n in known if n.endswith(f".{name}")), name)
    if name not in known:
        raise TzerlikeError(f"TVM's pipeline runs {name!r}, which is not in the catalogue")
    given = dict(zip((p.name for p in known[name].parameters), args, strict=False)) | dict(kwargs)
    return PassSpec(name, tuple(given.items()))


def _play(function: Any, tape: _Tape) -> Any:
    """Return `function` with recorders for the modules among its globals."""
    recorders = {
        key: _Recorder(value.__name__, tape)
        for key, value in function.__globals__.items()
        if isinstance(value, ModuleType)
    }
    return _rebound(function, recorders)


def _rebound(function: Any, names: Mapping[str, Any]) -> Any:
    return FunctionType(function.__code__, {**function.__globals__, **names}, closure=function.__closure__)
