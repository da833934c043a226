"""The cost of reading and merging the edges of a case, at the number of edges of an instrumented TVM.

    python scripts/bench_sancov.py [EDGES] [REACHED]

Builds a library that has nothing but EDGES flags (default: 2717287), lets children reach REACHED of them (21500), and
prints medians in milliseconds: in a child that reaches new edges, and in one that reaches only known ones. Needs clang
and lld.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tzerlike.core.package import MEMCOV
from tzerlike.coverage import SancovCoverage
from tzerlike.systems.builds.tools import find_toolchain

_ROUNDS = 50
_SOURCE = r"""
#include <stdint.h>
asm(".section __sancov_bools,\"aw\",@progbits\n.zero EDGES\n"
    ".section __sancov_pcs,\"aw\",@progbits\n.zero EDGES * 16\n.text\n");
extern "C" {
#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN uint8_t __start___sancov_bools[], __stop___sancov_bools[];
extern HIDDEN uintptr_t __start___sancov_pcs[], __stop___sancov_pcs[];
HIDDEN void __sanitizer_cov_bool_flag_init(uint8_t *, uint8_t *);
HIDDEN void __sanitizer_cov_pcs_init(const uintptr_t *, const uintptr_t *);
__attribute__((constructor)) static void start() {
    __sanitizer_cov_bool_flag_init(__start___sancov_bools, __stop___sancov_bools);
    __sanitizer_cov_pcs_init(__start___sancov_pcs, __stop___sancov_pcs);
}
void reach(uint64_t first, uint64_t step, uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
        uint8_t *flag = &__start___sancov_bools[(first + i * step) % EDGES];
        if (!*flag) *flag = 1;
    }
}
}
"""


def build(directory: Path, edges: int) -> Path:
    source, library = directory / "flags.cc", directory / "libflags.so"
    source.write_text(_SOURCE.replace("EDGES", str(edges)))
    linked = [str(MEMCOV.parent / "sancov_hooks.o"), f"-Wl,-T,{MEMCOV.parent / 'sancov.ld'}"]
    command = [find_toolchain().clang, "-O1", "-fPIC", "-shared", "-fuse-ld=lld", *linked, str(source)]
    subprocess.run([*command, "-o", str(library)], check=True)
    return library


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def measure(cov: SancovCoverage, reach: Callable[[int], object]) -> dict[str, float]:
    """Run children that reach edges, and return the medians of what the worker does around each."""
    times: dict[str, list[float]] = {"begin": [], "new": [], "commit": []}
    for number in range(_ROUNDS):
        times["begin"].append(milliseconds(lambda: cov.begin(0)))
        child = os.fork()
        if child == 0:
            cov.enter(0)
            reach(number)
            os._exit(0)
        os.waitpid(child, 0)
        times["new"].append(milliseconds(lambda: cov.new(0)))
        times["commit"].append(milliseconds(lambda: cov.commit(0)))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    edges = int(sys.argv[1]) if len(sys.argv) > 1 else 2_717_287
    reached = int(sys.argv[2]) if len(sys.argv) > 2 else 21_500
    with tempfile.TemporaryDirectory() as directory:
        library = ctypes.CDLL(str(build(Path(directory), edges)))
    library.reach.argtypes = (ctypes.c_uint64,) * 3
    cov = SancovCoverage(1)
    step = max(1, edges // reached)
    print(f"{cov.total:,} edges, {reached:,} reached by a case")
    for title, reach in (
        ("all new", lambda number: library.reach(number, step, reached)),
        ("all known", lambda number: library.reach(0, step, reached)),
    ):
        found = measure(cov, reach)
        parts = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"{title}: {sum(found.values()):.3f} ms ({parts})")


if __name__ == "__main__":
    main()
