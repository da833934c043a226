"""The compilers under test: the facts about each, how it is loaded, and how one is built from source.

`SYSTEMS` is the one table, name -> System; plug-ins have others.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace

from tzerlike.core.errors import UserError
from tzerlike.plugins import load_plugin
from tzerlike.systems.system import Code, Fork, System

__all__ = ["SYSTEMS", "TVM", "Code", "Fork", "System", "choose", "system_named", "under_test"]

TVM = System(
    name="tvm",
    code=Code(
        library="libtvm_compiler.so",
        libraries=("libtvm", "libtilelang"),
        extensions=("libtilelang.so",),
        # where the wheels are built
        sources="/project/",
        visit=r"::DispatchNode<[^<>]*?(\w+)Node>\(",
        visitors=(
            "tvm::ffi::",
            "TVMFFI",
            "tvm::ObjectVisitor::",
            "tvm::ObjectMutator::",
            "tvm::ExprVisitor::",
            "tvm::ExprMutator::",
            "tvm::runtime::detail::",
            "tvm::tirx::StmtVisitor::",
            "tvm::tirx::StmtMutator::",
            "tvm::tirx::ExprVisitor::",
            "tvm::tirx::ExprMutator::",
            "tvm::tirx::StmtExprVisitor::",
            "tvm::tirx::StmtExprMutator::",
            "tvm::s_tir::StmtExprVisitor::",
            "tvm::s_tir::StmtExprMutator::",
            "tvm::NodeFunctor<",
            "tvm::tirx::ExprFunctor<",
            "tvm::tirx::StmtFunctor<",
            "non-virtual thunk to ",
        ),
        shared=r"tvm::(sym::|prim::|operator|[a-z]\w*$)",
        constants=r"tvm::(IntImm::IntImm|FloatImm::FloatImm|prim::MakeConstScalar|ffi::BigInt|ffi::details::int_ops::)",
        simplifiers=r"tvm::sym::\w+Simplifier::(operator|EnterConstraint)",
        analysis=r"tvm::sym::",
        intervals=r"tvm::sym::IntSetAnalyzer::",
        arithmetic=r"<tvm::ExprMutator, tvm::prim::(Add|Sub|Mul|Div|Mod|FloorDiv|FloorMod|Min|Max|Cast)Node>",
    ),
    # with a newer ffi, saving IR as JSON dies
    releases={
        "0.27.0.post1": "0.1.14.post1",
        "0.26.0": "0.1.13.post3",
        "0.25.0.post1": "0.1.12",
        "0.25.0": "0.1.12",
    },
    described_from="0.27",
    tracker="https://github.com/apache/tvm/issues",
    namespaces=("tirx", "s_tir", "tl"),
    forks={
        "tilelang": Fork(
            python="tilelang/3rdparty/tvm/python",
            libraries="tilelang/lib",
            releases={"0.1.15": "0.1.12"},
            # libtvm_compiler.so is linked to libz3.so.4.15; torch is for the Python front end alone
            needs=("z3-solver>=4.15,<4.15.5",),
        )
    },
)

SYSTEMS: Mapping[str, System] = {system.name: system for system in (TVM,)}

_UNDER_TEST: ContextVar[System] = ContextVar("system", default=TVM)


def system_named(name: str) -> System:
    """Return the system of this name, `plugin:name` for a plug-in's, under that name.

    UserError that lists those that there are.
    """
    plugin, _, own = name.rpartition(":")
    table: Mapping[str, System] = load_plugin(plugin, "--system").systems if plugin else SYSTEMS
    if own not in table:
        raise UserError(f"--system: no system {name!r}; there are {', '.join(table) or 'none'}")
    return replace(table[own], name=name)


def choose(name: str) -> None:
    """Make a system that of this process, before any is loaded; UserError as `system_named` raises it."""
    _UNDER_TEST.set(system_named(name))


def under_test() -> System:
    """Return the system of this process, which loads one and no other: TVM unless another was chosen."""
    return _UNDER_TEST.get()
