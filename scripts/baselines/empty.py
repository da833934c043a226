"""The lower bound: what importing TVM and building one empty function cover, again and again."""

from __future__ import annotations

from random import Random

from baselines.driver import Undirected, main
from tzerlike.core.case import Case
from tzerlike.systems import tvm_api


class Empty(Undirected):
    def __init__(self) -> None:
        func = tvm_api.PrimFunc([], tvm_api.tirx.Evaluate(tvm_api.tirx.const(0, "int32")))
        self._case = Case(tvm_api.dump_ir(tvm_api.module_of(func)))

    def propose(self, rng: Random) -> Case:
        return self._case


if __name__ == "__main__":
    main(Empty)
