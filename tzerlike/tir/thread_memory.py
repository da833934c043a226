"""Whether a program keeps memory of a block or a thread inside its block or thread, as far as its text shows.

The interpreter of programs takes such memory for one array where it is allocated above the threads, as the blocks of
S-TIR do. On a device each block, or each thread, has its own, so that what one loop over threads leaves in local memory
is not what the next one finds. Virtual threads on a CPU are no different: s_tir.CompactBufferAllocation cuts local
memory down to what one of them uses, and s_tir.InjectVirtualThread gives each its own only where it is allocated
inside. Within one loop over threads the interpreter knows which thread an access is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tzerlike.systems.tvm_api import array_items, is_buffer, s_tir, structural_walk, tirx, type_of
from tzerlike.tir.node import accessed_by, key
from tzerlike.tir.tree import Site, Tree

_LAUNCHED = ("blockIdx", "threadIdx")
"""How the names of the threads begin that a device starts; virtual ones are loops by then."""


def keeps_to_its_threads(func: Any) -> bool:
    """Whether every buffer of a block is used under the same blocks, and every one of a thread under the same threads,
    whoever they are, and in one launch of them: False says only that it may not be so."""
    if not launches_threads(func):
        return True
    places: dict[int, set[tuple[int, ...]]] = {}
    made: dict[int, set[int]] = {}
    for site in Tree(func).sites:
        for buffer in _allocated_by(site.node):
            made[key(buffer)] = {above.number for above in site.ancestors()}
        buffer = accessed_by(site.node)
        if buffer is None:
            continue
        if not is_buffer(buffer):
            return False
        memory = str(type_of(buffer).storage_scope)
        if memory != "global":
            if not _rounds_of_the_host(site) <= made.get(key(buffer), set()):
                return False
            places.setdefault(key(buffer), set()).add(_home(site, memory))
    return all(len(found) == 1 for found in places.values())


def launches_threads(func: Any) -> bool:
    """Whether a function binds anything to threads, as a kernel does."""
    found: list[str] = []
    structural_walk(
        func.body,
        (tirx.For, lambda node, *_: found.append(tag_of(node))),
        (tirx.AttrStmt, lambda node, *_: found.append(tag_of(node))),
    )
    return any(found)


def uses_memory_on_the_host(func: Any) -> bool:
    """Whether a function loads or stores global memory outside of every launch of threads.

    On a GPU that memory is the device's, where the host cannot reach it. VerifyMemory is to refuse such functions, but
    in the default pipeline it runs behind FlattenBuffer and overlooks them.
    """
    for site in Tree(func).sites:
        buffer = accessed_by(site.node)
        if buffer is None or not is_buffer(buffer) or str(type_of(buffer).storage_scope) != "global":
            continue
        if not _launches(site, _LAUNCHED):
            return True
    return False


def _home(site: Site, memory: str) -> tuple[int, ...]:
    """The sites above that say whose memory an access is to: of a thread, or of a block of one launch.

    The outermost loop over threads is what is launched, whether it has blocks or not.
    """
    if not memory.startswith("shared"):
        return _launches(site, ("blockIdx", "threadIdx", "vthread"))
    return *_launches(site, ("blockIdx",)), *_launches(site, _LAUNCHED)[-1:]


def _allocated_by(node: Any) -> Sequence[Any]:
    if type(node) is s_tir.SBlock:
        return array_items(node.alloc_buffers)
    return [node.buffer] if type(node) is tirx.AllocBuffer else []


def _rounds_of_the_host(site: Site) -> set[int]:
    """The loops around a launch, each round of which launches anew."""
    above = list(site.ancestors())
    launches = [place for place, one in enumerate(above) if tag_of(one.node).startswith(_LAUNCHED)]
    outside = above[launches[-1] + 1 :] if launches else []
    return {one.number for one in outside if type(one.node) in (tirx.For, tirx.While)}


def _launches(site: Site, axes: tuple[str, ...]) -> tuple[int, ...]:
    """The sites above that launch threads of `axes`, by number."""
    return tuple(above.number for above in site.ancestors() if tag_of(above.node).startswith(axes))


def tag_of(node: Any) -> str:
    """The threads that a statement launches or binds a loop to, such as threadIdx.x; "" for none."""
    if type(node) is tirx.For and node.thread_binding is not None:
        return str(node.thread_binding.thread_tag)
    if type(node) is tirx.AttrStmt and isinstance(node.node, tirx.IterVar):
        return str(node.node.thread_tag)
    return ""
