"""TVM's passes: the existing ones, the context that they run in, and instruments that watch them.

Everything here acts on live TVM objects.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from tzerlike.core.case import ContextConfig
from tzerlike.systems.tvm_api import ENTRY, SYSTEM, structural_equal, tvm, tvm_ffi


@tvm.ir.instrument.pass_instrument
class PassWatch:
    """Tells `note(name)` each pass before it runs, those inside the default pipeline included, and what goes on after.

    The name is empty once no pass is under way: what follows the last one is code generation.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note
        self.under_way: list[str] = []

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.under_way.append(str(info.name))
        self.note(self.under_way[-1])

    def run_after_pass(self, module: Any, info: Any) -> None:
        self.under_way.pop()
        self.note(self.under_way[-1] if self.under_way else "")


@tvm.ir.instrument.pass_instrument
class ModuleWatch:
    """Keeps the module that the latest pass was given, or made once it was done."""

    def __init__(self) -> None:
        self.module: Any = None

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.module = module

    def run_after_pass(self, module: Any, info: Any) -> None:
        self.module = module


@tvm.ir.instrument.pass_instrument
class ModuleBefore:
    """Keeps the module that the pass `wanted` was given when it last ran."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.module: Any = None

    def run_before_pass(self, module: Any, info: Any) -> None:
        if str(info.name) == self.wanted:
            self.module = module


@dataclass(frozen=True, slots=True)
class Turn:
    """One change of a module: `index` is the place of the pass that made it among those that had begun."""

    index: int
    name: str
    before: Any
    after: Any


class TrailEnds(Exception):
    """Raised in place of a pass that a PassTrail is not to let run."""


class PassNames:
    """What the passes under way are called, the innermost last.

    TVM's ForceNarrowIndexToInt32 calls itself NarrowDataType: the passes of a case, `own`, which come behind
    BindTarget, go by the names that the case has for them, all others by their own.
    """

    def __init__(self, own: Sequence[str] = ()) -> None:
        self._outer = iter(("tirx.BindTarget", *own) if own else ())
        self._under_way: list[str] = []

    def begin(self, info: Any) -> str:
        """The name of the pass that begins."""
        name = str(info.name)
        self._under_way.append(name if self._under_way else next(self._outer, name))
        return self._under_way[-1]

    def end(self) -> str:
        """The name of the pass that ends."""
        return self._under_way.pop()


@tvm.ir.instrument.pass_instrument
class PassTrail:
    """Keeps each change of the module that holds `main`, with the innermost pass that was under way; and the `names` of
    all passes that have begun.

    `note(index, name)` is called with what goes on from now on: a pass, or None and "" between passes. In the place of
    the pass `stop`, TrailEnds is raised. `own` are the passes of a case (PassNames).
    """

    def __init__(
        self, note: Callable[[int | None, str], None], stop: int | None = None, own: Sequence[str] = ()
    ) -> None:
        self.turns: list[Turn] = []
        self.names: list[str] = []
        self.under_way: list[tuple[int, str]] = []
        self._note = note
        self._stop = stop
        self._module: Any = None
        self._naming = PassNames(own)

    @property
    def begun(self) -> int:
        """How many passes have begun."""
        return len(self.names)

    def run_before_pass(self, module: Any, info: Any) -> None:
        self._look(module)
        self.under_way.append((self.begun, self._naming.begin(info)))
        self.names.append(self.under_way[-1][1])
        self._note(*self.under_way[-1])
        if self.begun - 1 == self._stop:
            raise TrailEnds

    def run_after_pass(self, module: Any, info: Any) -> None:
        self._look(module)
        self._naming.end()
        self.under_way.pop()
        self._note(*(self.under_way[-1] if self.under_way else (None, "")))

    def _look(self, module: Any) -> None:
        if not any(name.name_hint == ENTRY for name in module.functions):
            return
        if self._module is not None and not structural_equal(module, self._module):
            index, name = self.under_way[-1] if self.under_way else (self.begun - 1, "")
            self.turns.append(Turn(index, name, self._module, module))
        self._module = module


def pass_context(config: ContextConfig, instruments: Sequence[Any] = ()) -> Any:
    """Return the PassContext that `config` describes; TVM's exceptions on an option it does not know."""
    return tvm.transform.PassContext(
        opt_level=config.opt_level,
        config=grouped_options(config),
        disabled_pass=list(config.disabled_passes),
        instruments=list(instruments),
    )


def grouped_options(config: ContextConfig) -> dict[str, Any]:
    """Return PassContext's `config`: the option `a.B.c` sets field `c` of the option `a.B` where that is an object."""
    options: dict[str, Any] = {}
    for key, value in config.options:
        owner, _, leaf = key.rpartition(".")
        if key not in _known_options() and owner in _known_options():
            options.setdefault(owner, {})[leaf] = value
        else:
            options[key] = value
    return options


def takes_option(key: str, value: Any) -> bool:
    """Whether this TVM has an option of PassContext, and the field of it that `key` names."""
    try:
        pass_context(ContextConfig(options=((key, value),)))
    except (AttributeError, TypeError, ValueError):
        return False
    return True


@cache
def _known_options() -> frozenset[str]:
    return frozenset(str(key) for key in tvm.transform.PassContext.list_configs())


@cache
def pass_constructors() -> Mapping[str, tuple[str, ...]]:
    """Return each registered global function that returns a pass, with the type names of its arguments."""
    found: dict[str, tuple[str, ...]] = {}
    for name in tvm_ffi.registry.list_global_func_names():
        try:
            schema = json.loads(tvm_ffi.get_global_func_metadata(name).get("type_schema", "{}"))
        except (ValueError, RuntimeError):
            continue
        types = [part.get("type", "") for part in schema.get("args", ())]
        if types and (types[0] == "transform.Pass" or name.endswith(".CreatePrimFuncPass")):
            found[name] = tuple(types[1:])
    return found


@cache
def pass_modules() -> Mapping[str, ModuleType]:
    """Return the Python modules that expose pass constructors, by the FFI namespace they wrap."""
    own = (namespace for namespace in SYSTEM.namespaces if importlib.util.find_spec(f"tvm.{namespace}"))
    return {f"{name}.transform": importlib.import_module(f"tvm.{name}.transform") for name in own}
