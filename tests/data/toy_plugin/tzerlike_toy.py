"""A plug-in with an oracle, and a mutator that runs code of the compiler: a schedule, which dies of thirteens."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random
from typing import Any

from tzerlike_toy_oracle import ORACLE

from tzerlike.mutators import MutationEnv
from tzerlike.plugins import Plugin
from tzerlike.systems.tvm_api import entry_of, module_of, s_tir, script_of


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Unroll the loop of a block."""

    name: str = "unrolled"
    runs_compiler: bool = True

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        schedule = s_tir.Schedule(module_of(func), error_render_level="none")
        loops = schedule.get_loops(schedule.get_sblock("b"))
        schedule.unroll(loops[-1])
        if "13" in script_of(schedule.mod):
            os.abort()
        return entry_of(schedule.mod)


plugin = Plugin(mutators={"unrolled": Unrolled}, oracles={"length": ORACLE})
