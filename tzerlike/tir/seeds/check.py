"""The requirements on a seed: it is well-formed, of moderate size, and the stock pipeline compiles it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tzerlike.core.case import ContextConfig
from tzerlike.core.errors import TzerlikeError
from tzerlike.passes.catalog import steps_of
from tzerlike.passes.tilelang import tile_pipeline
from tzerlike.systems.compilation import Compilation
from tzerlike.systems.tvm_api import (
    dump_ir,
    entry_of,
    load_ir,
    module_of,
    structural_hash,
    structural_walk,
    tirx,
    tvm,
    well_formed,
)
from tzerlike.systems.tvm_build import build, target_of
from tzerlike.systems.tvm_passes import pass_context
from tzerlike.tir.seeds.seed import Seed

# LLVM's own optimiser is most of the cost of compiling and none of our concern here; nor are argument checks.
_FAST_TARGET = '{"kind": "llvm", "opt-level": 0}'
_FAST_CONFIG = ContextConfig(opt_level=3, options=(("tirx.disable_assert", True),))


class NotASeed(TzerlikeError):
    """A function that does not meet the conditions; the text says which one."""


def count_nodes(function: Any) -> int:
    """Return the number of statements and expressions of a PrimFunc, each occurrence counted."""
    found: list[Any] = []
    structural_walk(function, (((tirx.Stmt, tvm.ir.Expr), found.append),))
    return len(found)


def digest_of(function: Any) -> str:
    """Return a text that structurally equal functions share, whatever their own names."""
    return f"{structural_hash(module_of(function)) & (1 << 64) - 1:016x}"


def canonical_ir(function: Any) -> str:
    """Return the text of `function` as the one function `main`, without source positions."""
    text = dump_ir(module_of(function))
    graph = json.loads(text)
    nodes = graph["nodes"]
    spans = [node["data"] for node in nodes if isinstance(node.get("data"), dict) and node["data"].get("span")]
    if not spans:
        return text
    nothing = next((index for index, node in enumerate(nodes) if node["type"] == "None"), None)
    if nothing is None:
        nothing = len(nodes)
        nodes.append({"type": "None"})
    for data in spans:
        data["span"] = nothing
    # Loading and saving again drops the positions that nothing refers to any more.
    return dump_ir(load_ir(json.dumps(graph)))


def natural_target(function: Any) -> str:
    """Return "cuda" for a function that binds threads of a GPU, else "llvm"."""
    bindings: list[Any] = []
    structural_walk(function, ((tirx.For, lambda loop: bindings.append(loop.thread_binding)),))
    tags = [str(binding.thread_tag) for binding in bindings if binding is not None]
    return "cuda" if any(tag.startswith(("blockIdx.", "threadIdx.")) for tag in tags) else "llvm"


def check(name: str, origin: str, target: str | None, function: Any, max_nodes: int, compiles: bool) -> Seed:
    """Return `function` as a seed for `target`, or for its natural target.

    Raises NotASeed when it is larger than `max_nodes`, is ill-formed or does not survive its own text, and, for
    llvm and where `compiles` asks for it, TVM's own exceptions when it does not compile.
    """
    target = target or natural_target(function)
    nodes = count_nodes(function)
    if nodes > max_nodes:
        raise NotASeed(f"{nodes} nodes, more than {max_nodes}")
    ir = canonical_ir(function)
    module = load_ir(ir)
    if dump_ir(module) != ir:
        raise NotASeed("saving what was loaded gives another text")
    if not well_formed(module):
        raise NotASeed("not well-formed")
    if compiles and origin == "tiles":
        Compilation(target, ContextConfig(pipeline="tiles"), steps_of(tile_pipeline(target))).build(module)
    elif compiles and target == "llvm":
        with pass_context(_FAST_CONFIG):
            build(module, _fast_target())
    return Seed(name, origin, target, ir, count_nodes(entry_of(module)))


@cache
def _fast_target() -> Any:
    return target_of(_FAST_TARGET)
