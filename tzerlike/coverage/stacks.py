"""The last stacks of a child whose time runs out, kept in shared memory."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass

from tzerlike.coverage.death import CodeFrame, describe
from tzerlike.coverage.native import CStacks, errno_checked, load_memcov


@dataclass(frozen=True, slots=True)
class Stack:
    """The addresses of a stack, innermost first, as far as they were kept; `depth` counts them all, 0 when unknown."""

    frames: tuple[int, ...]
    depth: int


class StackRecord:
    """Shared memory in which a child leaves its stacks; make one before forking, use it for child after child."""

    def __init__(self) -> None:
        self._watch = load_memcov().memcov_watch_time
        self._memory = mmap.mmap(-1, ctypes.sizeof(CStacks))  # shared, anonymous
        self._stacks = CStacks.from_buffer(self._memory)

    def watch(self, period: float) -> None:
        """In a forked child: from here on a SIGPROF leaves a stack, and a few more after `period` seconds each, and
        kills with the last of them."""
        errno_checked(self._watch(ctypes.byref(self._stacks), max(1, int(period * 1e6))))

    def clear(self) -> None:
        """Forget the stacks so far: a timer is set anew."""
        self._stacks.n = 0

    def read(self) -> tuple[Stack, ...]:
        """Return the stacks of the last child whose time ran out, in order of time."""
        taken = self._stacks.stacks[: self._stacks.n]
        return tuple(Stack(tuple(stack.frames[: stack.n]), stack.depth) for stack in taken)


STACKS = len(CStacks().stacks)
"""How many stacks a child leaves."""


def in_common(stacks: tuple[Stack, ...]) -> tuple[CodeFrame | None, ...]:
    """Return the functions that all of `stacks` are in, innermost first; none where most of them cannot be followed.

    The innermost of them is what does not come to its end.
    """
    whole = [stack for stack in stacks if stack.depth and stack.frames]
    if 2 * len(whole) <= len(stacks):
        return ()
    outward = [dict(enumerate(reversed(stack.frames), stack.depth - len(stack.frames))) for stack in whole]
    found: list[CodeFrame | None] = []
    for height in range(max(min(frames) for frames in outward), min(stack.depth for stack in whole)):
        # A return address belongs to the call before it.
        functions = {describe(frames[height] - (height < max(frames))) for frames in outward}
        if len(functions) > 1:
            break
        found.append(functions.pop())
        if len({frames[height] for frames in outward}) > 1:
            break
    return tuple(reversed(found))
