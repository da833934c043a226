"""Programs as TVMScript, printed in a child: a program that breaks a pass may also break the printer."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.observation import Stage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import load
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.tir.constructed import constructed


@dataclass(frozen=True, slots=True)
class Rendering:
    """A module as TVMScript, "" where TVM cannot print it; `faithful` when parsing it gives the module back.

    `again` is the JSON of the module that it gives, where that is another one; "" where it does not parse. `calls` is
    source that makes a module whose text does not (tzerlike.tir.constructed).
    """

    script: str = ""
    faithful: bool = False
    again: str = ""
    calls: str = ""

    @property
    def source(self) -> str:
        """What gives the module back, as TVMScript or calls; "" where only its JSON does."""
        return self.script if self.faithful else self.calls


def render_module(ir: str) -> Rendering:
    """Return the TVMScript of a module, and what parsing it gives."""
    try:
        module = load(ir)
    except CompilerRefused:
        return Rendering()
    script = again = ""
    with suppress(CompilerRefused):
        script = ask_compiler(lambda: tvm_api.script_of(module))
        for text in _with_indices(script, module):
            with suppress(CompilerRefused):
                if ask_compiler(partial(_is_text_of, text, module)):
                    return Rendering(text, True)
        parsed = ask_compiler(lambda: tvm_api.parse_script(script))
        again = ask_compiler(lambda: tvm_api.dump_ir(parsed))
    return Rendering(script, False, again, constructed(module))


def _is_text_of(text: str, module: Any) -> bool:
    parsed = tvm_api.parse_script(text)
    return bool(tvm_api.structural_equal(parsed, module)) and _blocks(parsed) == _blocks(module)


def _blocks(module: Any) -> list[str]:
    """The names of the blocks: passes look for them, and TVM does not compare them."""
    names: list[str] = []
    tvm_api.structural_walk(
        tvm_api.entry_of(module), (tvm_api.s_tir.SBlock, lambda block: names.append(block.name_hint))
    )
    return names


def _with_indices(script: str, module: Any) -> Iterator[str]:
    """The script with an index for each access of a buffer of one element, with one for each store, and as it is.

    TVM prints `A = 1` for `A[0] = 1`, which reads as if the name were bound anew, and may not read back.
    """
    names: dict[str, None] = {}

    def note(var: Any) -> None:
        if tvm_api.is_buffer(var) and list(map(str, tvm_api.type_of(var).shape)) == ["1"]:
            names[str(var.name)] = None

    tvm_api.structural_walk(tvm_api.entry_of(module), (tvm_api.tirx.Var, note))
    scalars = set(re.findall(r"^ *(\w+): T\.", script, re.MULTILINE))
    if either := "|".join(re.escape(name) for name in names if name not in scalars):
        stored = re.sub(rf"^( *)({either}) = ", r"\1\2[0] = ", script, flags=re.MULTILINE)
        loads = rf"(?<![\w\".])({either})(?![\w\[\"(:.]| = )"
        yield "\n".join(
            line if _NO_ACCESS.match(line) else re.sub(loads, r"\1[0]", line) for line in stored.splitlines()
        )
        yield stored
    yield script


_NO_ACCESS = re.compile(r" *(?:def |class |@|#|with )")


def rendered(executor: ForkExecutor, case: Case) -> Rendering:
    """Return the case's module as TVMScript, an empty one if printing fails; Fault on one of ours."""
    records = executor.recall("render", {"ir": case.ir}, executor.limits.relaxed(3))
    return Rendering(**records[0]) if records else Rendering()


def _render(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    channel.enter_stage(Stage.TEXT)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    rendering = render_module(item["ir"])
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result(asdict(rendering))


JOBS: Mapping[str, Job] = {"render": _render}
