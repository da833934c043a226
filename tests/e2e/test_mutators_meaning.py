"""What a mutator in defined mode keeps: the numbers that come out."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np

from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.systems.tvm_api import module_of, parse_script, script_of, tvm

SCRIPT = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    S = T.alloc_buffer((8, 4), "float32")
    for i, j in T.grid(8, 4):
        S[i, j] = A[i, j] * T.float32(3)
    for i in range(8):
        for j in range(4):
            B[i, j] = S[i, 3 - j] + S[i, j]
"""


def outcome(func: Any) -> np.ndarray:
    a = np.arange(32, dtype="float32").reshape(8, 4)
    given, result = tvm.runtime.tensor(a), tvm.runtime.tensor(np.zeros_like(a))
    tvm.compile(module_of(func), "llvm")["main"](given, result)
    return result.numpy()


def test_a_buffer_kept_in_vectors_holds_the_same() -> None:
    parent = parse_script(SCRIPT)
    (mutator,) = make_mutators(["buffer-dtype"])
    children = [mutator(parent, Random(seed), MutationEnv(defined_weight=1.0)) for seed in range(80)]
    inside = [c for c in children if c is not None and re.search(r'S = .*"float32x[24]"', script_of(c))]
    assert len(inside) >= 2
    for child in inside:
        assert (outcome(child) == outcome(parent)).all()
