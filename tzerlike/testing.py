"""The conformance kit for authors of mutators.

def test_mine():
    check_mutator(MyMutator())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from tzerlike.mutators import Guarded, MutationEnv, Mutator
from tzerlike.processes.forked import each_in_child
from tzerlike.systems import tvm_api
from tzerlike.tir.seeds.seed import Seed
from tzerlike.tir.typecheck import is_well_typed

MATMUL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    D = T.sblock_alloc_buffer((8, 8), "float32")
    for i, j, k in T.grid(8, 8, 8):
        with T.sblock("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 8):
        with T.sblock("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))
"""

LOOPS = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "int32"), n: T.int32):
    C = T.alloc_buffer((16,), "float32")
    for i in T.serial(16):
        x: T.let = i * 2 + 1
        C[i] = T.Cast("float32", x)
        for j in T.vectorized(16):
            if j < 7:
                A[i, j] = T.exp(A[i, j]) + T.Cast("float32", x)
            else:
                A[i, j] = T.Select(i < 3, A[i, 0], T.float32(2))
        for j in T.unroll(4):
            B[i, j] = B[i, j * 2] // 3 + T.max(i, j)
        B[i, i % 4] = T.if_then_else(n > i, B[i, 0] % 5, 1)
    for i in T.parallel(4):
        A[i, 0] = C[i] * C[i + 1]
"""

THREADS = """
@T.prim_func
def main(a: T.handle, b: T.handle, m: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, m), "float16")
    B = T.match_buffer(b, (32,), "float16")
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 8)
    S = T.alloc_buffer((8,), "float16", scope="shared")
    L = T.alloc_buffer((1,), "float32", scope="local")
    if bx < n:
        L[0] = T.Cast("float32", A[bx, 0])
        while L[0] < T.float32(3):
            L[0] = L[0] + T.float32(1)
        S[tx] = T.Cast("float16", L[0])
    B[bx * 8 + tx] = S[tx]
"""

VECTORS = """
@T.prim_func
def main(A: T.Buffer((16,), "int8"), B: T.Buffer((16,), "int64"), C: T.Buffer((4,), "float32x4"), p: T.int64):
    assert p > T.int64(0), "p"
    A[T.ramp(0, 1, 16)] = A[T.ramp(0, 1, 16)] + T.Broadcast(T.int8(3), 16)
    for i in T.serial(T.int64(0), T.int64(16)):
        if p == i:
            continue
        B[i] = T.Cast("int64", A[i]) << T.int64(2)
        B[i] = T.bitwise_xor(B[i], p)
    for i in range(4):
        C[i] = C[i] * T.Broadcast(T.float32(0.5), 4)
"""

SAMPLES = (MATMUL, LOOPS, THREADS, VECTORS)
"""Small functions that together use loops of all kinds, blocks, threads, vectors and symbolic shapes."""


@dataclass(frozen=True, slots=True)
class MutatorReport:
    """Results of a mutator: the children of `tried` calls, and how many of them TVM's verifiers accept."""

    tried: int
    children: int
    well_formed: int


def sample_functions() -> tuple[Any, ...]:
    """Parse `SAMPLES`."""
    return tuple(tvm_api.parse_script(text) for text in SAMPLES)


def mutate_twice(mutator: Mutator, parent: Any, seed: int, env: MutationEnv, before: str) -> Any | None:
    """Return the child that `mutator`, guarded, makes of `parent`, after checking the contract.

    `before` is the `dump_ir` of `parent`'s module, which must not change. The same seed must give structurally the
    same child, and the child must be a PrimFunc within `env.max_nodes`. AssertionError says what was violated.
    """
    guarded = Guarded(mutator, mutator.name)
    child = guarded(parent, Random(seed), env)
    again = guarded(parent, Random(seed), env)
    if tvm_api.dump_ir(tvm_api.module_of(parent)) != before:
        raise AssertionError("the parent was changed")
    if (child is None) != (again is None) or (
        child is not None and not tvm_api.structural_equal(child, again, map_free_vars=True)
    ):
        raise AssertionError("the same seed gave two different children")
    if child is not None and not isinstance(child, tvm_api.PrimFunc):
        raise AssertionError(f"the child is a {type(child).__name__}, not a PrimFunc")
    return child


def check_mutator(
    mutator: Mutator,
    functions: Sequence[Any] = (),
    seeds: Sequence[int] = range(20),
    env: MutationEnv | None = None,
    least_well_formed: float = 0.9,
) -> MutatorReport:
    """Call `mutator` on every function with every seed and check its contract.

    Every call must pass the checks of `mutate_twice`, at least one must give a child, and the share of well-formed
    children must be at least `least_well_formed`. AssertionError names the number of the function and the seed.
    """
    parents = tuple(functions) or sample_functions()
    tried = children = accepted = 0
    for number, parent in enumerate(parents):
        before = tvm_api.dump_ir(tvm_api.module_of(parent))
        around = env or MutationEnv(donor=partial(lambda n: parents[n % len(parents)], number + 1))
        for seed in seeds:
            tried += 1
            try:
                child = mutate_twice(mutator, parent, seed, around, before)
            except AssertionError as error:
                raise AssertionError(f"{mutator.name}, function {number}, seed {seed}: {error}") from None
            if child is not None:
                children += 1
                accepted += is_well_typed(child) and tvm_api.well_formed(tvm_api.module_of(child))
    if children == 0:
        raise AssertionError(f"{mutator.name}: no child in {tried} calls")
    if accepted < least_well_formed * children:
        raise AssertionError(f"{mutator.name}: only {accepted} of {children} children are well-formed")
    return MutatorReport(tried, children, accepted)


@dataclass(frozen=True, slots=True)
class GridRow:
    """Results of a mutator on many seeds: a text for each breach of the contract and each death of the process."""

    calls: int
    children: int
    breaches: tuple[str, ...]
    deaths: tuple[str, ...]


class Grid:
    """Seeds to try mutators on, one call each. Calls run in forked children: schedule primitives may kill TVM."""

    def __init__(self, seeds: Sequence[Seed]) -> None:
        self._seeds = tuple(seeds)
        self._functions = [tvm_api.entry_of(tvm_api.load_ir(seed.ir)) for seed in self._seeds]

    def row(self, mutator: Mutator, number: int = 0, part: slice = slice(None)) -> GridRow:
        """Call `mutator` once on each seed of `part`, with random numbers named by `number`.

        Every child must be well-formed and pass the checks of `mutate_twice`.
        """
        places = range(len(self._seeds))[part]
        children = 0
        breaches: list[str] = []
        deaths: list[str] = []
        answers = each_in_child(places, partial(self._call, mutator, number))
        for place, (text, signal) in zip(places, answers, strict=True):
            where = f"{mutator.name} on {self._seeds[place].name}, number {number}"
            if signal:
                deaths.append(f"{where}: signal {signal}")
            elif text:
                breaches.append(f"{where}: {text}")
            children += text == ""
        return GridRow(len(places), children, tuple(breaches), tuple(deaths))

    def _call(self, mutator: Mutator, number: int, place: int) -> str | None:
        """Return what is wrong, "" if nothing is, and None if the mutator does not apply."""
        seed = self._seeds[place]
        env = MutationEnv(target=seed.target, donor=lambda: self._functions[(place + 1) % len(self._functions)])
        try:
            child = mutate_twice(mutator, self._functions[place], 1000 * number + place, env, seed.ir)
        except AssertionError as error:
            return str(error)
        except Exception as error:
            if not tvm_api.raised_by_tvm(error):
                raise
            return None
        if child is None:
            return None
        if not is_well_typed(child):
            return "the child is not well-typed"
        return "" if tvm_api.well_formed(tvm_api.module_of(child)) else "the child is not well-formed"
