"""dlight, TVM's default schedules for GPUs, as a pass: it gives loops that nobody bound their threads.

TVM's pipelines for models on GPUs run it on each function that a model is lowered to (`tvm/relax/backend/cuda/
pipeline.py`, `tvm/relax/backend/gpu_generic/pipeline.py`). It is written in Python, and no registered function
constructs it.
"""

from __future__ import annotations

from importlib.util import find_spec
from random import Random
from typing import Final

from tzerlike.core.case import PassSpec, Scalar
from tzerlike.passes.facts import Fact, Facts
from tzerlike.passes.info import PassInfo, PassParameter

DLIGHT: Final = "s_tir.dlight.ApplyDefaultSchedule"

SCHEDULING: Final = frozenset({DLIGHT, "s_tir.DefaultGPUSchedule"})
"""Passes that schedule blocks, by what these say of themselves."""

_SHIPPED: Final = "Matmul, GEMV, Reduction, GeneralReduction, Fallback"
"""The rules of TVM's pipelines in their order: the first that applies to a function schedules it."""

_RULES: Final = (*_SHIPPED.split(", "), "Transpose")

RULE_LISTS: Final = (_SHIPPED, *(f"{rule}, Fallback" for rule in _RULES if rule != "Fallback"), "Fallback")
"""Fallback schedules what no other rule applies to."""

NAME: Final = "ApplyDefaultSchedule"
"""What the pass calls itself."""

_UNFIT: Final = frozenset({Fact.THREAD_LOOPS, Fact.DEVICE_CODE, Fact.HOST_CODE})

SHIPPED_SCHEDULE: Final = PassSpec(DLIGHT, (("rules", _SHIPPED),))


def found_here() -> tuple[PassInfo, ...]:
    """Return the pass if this TVM has it."""
    if find_spec("tvm.s_tir") is None or find_spec("tvm.s_tir.dlight") is None:
        return ()
    return (PassInfo(DLIGHT, f"tvm.{DLIGHT}", (PassParameter("rules", RULE_LISTS, True),), NAME),)


def schedule_source(rules: Scalar) -> str:
    """Return a Python expression that constructs it, with `tvm` in scope; ValueError where there is no such rule."""
    return f"tvm.{DLIGHT}({', '.join(f'tvm.s_tir.dlight.gpu.{name}()' for name in named_rules(rules))})"


def named_rules(rules: Scalar) -> list[str]:
    """Return the names of `dlight.gpu` in the argument of the pass; ValueError for what is none."""
    names = str(rules).split(", ")
    for name in names:
        if name not in _RULES:
            raise ValueError(f"dlight has no rule {name!r} for GPUs")
    return names


def lacks_threads(facts: Facts) -> bool:
    """Whether a program with these facts may be given threads: no loop has any, and nothing takes a host."""
    return Fact.S_TIR in facts and facts.isdisjoint(_UNFIT)


def drawn_schedule(rng: Random) -> PassSpec:
    """Return the pass with the rules of TVM's pipelines, or one time in four with others."""
    if rng.randrange(4):
        return SHIPPED_SCHEDULE
    return PassSpec(DLIGHT, (("rules", rng.choice(RULE_LISTS)),))
