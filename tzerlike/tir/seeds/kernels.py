"""Seeds for cuda from TOPI: operators under the default GPU schedules of dlight.

One operator in three, since each costs some hundredths of a second to schedule and most schedules look alike. Half
of them get blocks of 32 threads instead of 1,024: small enough for the interpreter to follow every thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tzerlike.systems.tvm_api import entry_of, module_of, part, raised_by_tvm
from tzerlike.systems.tvm_build import target_of
from tzerlike.tir.seeds import topi
from tzerlike.tir.seeds.check import count_nodes
from tzerlike.tir.seeds.generate import MAX_NODES, Recipe
from tzerlike.tir.seeds.operators import Operator, prim_func_of

_SHARE = 3
_TARGETS = (
    '{"kind": "cuda", "arch": "sm_80", "max_num_threads": 32}',
    '{"kind": "cuda", "arch": "sm_80"}',
)


def recipes() -> Iterator[Recipe]:
    """Yield the recipe of every operator in the share; one that dlight has no schedule for gives no function."""
    for place, operator in enumerate(list(topi.topi_operators())[::_SHARE]):
        name = f"kernels.{operator.name.removeprefix('topi.')}"
        yield Recipe(name, partial(_kernel, operator, _TARGETS[place % len(_TARGETS)]), "cuda")


def dlight_scheduled(operator: Operator, target: str) -> Any:
    """Return `operator` under the first rule of dlight's that applies; TVM's exceptions where none does."""
    gpu = part("s_tir.dlight").gpu
    rules = (gpu.Matmul(), gpu.GEMV(), gpu.Reduction(), gpu.GeneralReduction(), gpu.Transpose(), gpu.Fallback())
    with target_of(target):
        module = part("s_tir.dlight").ApplyDefaultSchedule(*rules)(module_of(prim_func_of(operator)))
    # The pass marks what it did; the mark means nothing to a compiler pass.
    return entry_of(module).without_attr("tirx.is_scheduled")


def _kernel(operator: Operator, target: str) -> dict[str, Any]:
    try:
        function = dlight_scheduled(operator, target)
    except Exception as error:
        if not raised_by_tvm(error):
            raise
        return {}
    return {"": function} if count_nodes(function) <= MAX_NODES else {}
