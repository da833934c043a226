"""From text to a module, and from a module to an executable: the one place that takes a program through the compiler.

Each step is one that the compiler is asked for: CompilerRefused with what TVM raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from tzerlike.core.case import ContextConfig
from tzerlike.core.observation import Stage
from tzerlike.core.results import Results
from tzerlike.systems import tvm_api, tvm_build, tvm_passes
from tzerlike.systems.refusal import ask_compiler
from tzerlike.systems.tvm_build import Built

Pass = tuple[str, Callable[[Any], Any]]
"""A pass that can be called on a module, and the name that a case has it under."""


class StepNotes(Protocol):
    """Hears of each step before it is taken, so that a death can be attributed; `tzerlike.processes.channel.Channel` is
    one."""

    def enter_stage(self, stage: Stage) -> None: ...

    def note_pass(self, name: str) -> None: ...

    def note_results(self, results: Results) -> None: ...


class _Silent:
    """For callers that do not watch."""

    def enter_stage(self, stage: Stage) -> None:
        return None

    def note_pass(self, name: str) -> None:
        return None

    def note_results(self, results: Results) -> None:
        return None


SILENT = _Silent()


def load(ir: str) -> Any:
    """Return the module that `dump_ir` wrote."""
    return ask_compiler(lambda: tvm_api.load_ir(ir))


@dataclass(frozen=True, slots=True)
class Compilation:
    """How a module is compiled: for a target and under a context, after passes of its own.

    `instruments` are PassContext's. `between` is called before the first of the passes and after each.
    """

    target: str
    config: ContextConfig
    passes: Sequence[Pass] = ()
    instruments: Sequence[Any] = ()
    notes: StepNotes = SILENT
    between: Callable[[], object] = lambda: None

    def lower(self, module: Any) -> Any:
        """Return what the passes make of `module`, whose functions have the target by then."""
        with self._under_way() as target:
            return self._applied(module, target)

    def build(self, module: Any) -> Built:
        """Return the executable that `module` becomes; there is no machine code for the host yet."""
        with self._under_way() as target:
            module = self._applied(module, target)
            self.notes.enter_stage(Stage.BUILD)
            built = ask_compiler(lambda: tvm_build.build(module, target, self.config.pipeline))
        self.notes.note_pass("")
        return built

    @contextmanager
    def _under_way(self) -> Iterator[Any]:
        target = ask_compiler(lambda: tvm_build.target_of(self.target))
        context = ask_compiler(lambda: tvm_passes.pass_context(self.config, self.instruments))
        with target, context:
            yield target

    def _applied(self, module: Any, target: Any) -> Any:
        self.notes.enter_stage(Stage.PASSES)
        self.between()
        module = ask_compiler(lambda: tvm_build.bind_target(module, target))
        for name, step in self.passes:
            self.notes.note_pass(name)
            module = ask_compiler(lambda step=step, module=module: step(module))  # type: ignore[misc]
            self.between()
        self.notes.note_pass("")
        return module
