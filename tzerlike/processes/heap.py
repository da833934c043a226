"""Another heap for the same case, to reveal dependence on addresses of objects or on the contents of fresh memory.

Hash tables inside TVM are ordered by addresses, and wrong code may read what nobody wrote. In one zygote's processes
both are always the same, so that a finding which depends on them would pass for a certain one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random

LAYOUTS = (0, 1, 2, 3, 4)
"""The heaps that most findings are confirmed on; those of the first five runs of a replay too."""

_STILL: Mapping[str, tuple[int, ...]] = {"hang": (0,), "oom": (0,), "slow-code": (0, 0, 0)}
"""The heaps of the other kinds of findings. What is timed is left the heap of the campaign; speed is the one thing
that noise alone could fake, so that each of several runs has to show it."""

_M_PERTURB = -6
_BLOCKS = 4000
_SIZES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 512)


def layouts_for(kind: str) -> tuple[int, ...]:
    """Return the heaps that a finding of `kind` is confirmed on, one run each."""
    return _STILL.get(kind, LAYOUTS)


def stir(layout: int) -> None:
    """Leave holes in this process's heap, and have fresh memory filled, as the number says; 0 changes nothing.

    For a forked child: there is no way back. The same number does the same in the same process.
    """
    if not layout:
        return
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = (ctypes.c_void_p,)
    libc.malloc.argtypes = (ctypes.c_size_t,)
    rng = Random(layout)
    blocks = [libc.malloc(rng.choice(_SIZES)) for _ in range(_BLOCKS)]
    rng.shuffle(blocks)
    for block in blocks[: _BLOCKS // 2]:
        libc.free(block)
    libc.mallopt(_M_PERTURB, _fill(layout))


@contextmanager
def other_fresh_memory(layout: int) -> Iterator[None]:
    """Have fresh memory filled in another way for a while, in a process on the heap `layout`."""
    libc = ctypes.CDLL(None)
    libc.mallopt(_M_PERTURB, (_fill(layout) + 85) % 254 + 1)
    try:
        yield
    finally:
        libc.mallopt(_M_PERTURB, _fill(layout))


def _fill(layout: int) -> int:
    """What fresh memory is filled with, by the byte; 0 leaves it as it comes."""
    return Random(layout).randrange(1, 255) if layout else 0
