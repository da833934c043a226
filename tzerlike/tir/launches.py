"""Launches of threads without the domains of their threads, since the launch itself states their number."""

from __future__ import annotations

from typing import Any

from tzerlike.systems.tvm_api import function_with, structural_map, tirx, tvm


def without_thread_domains(module: Any) -> Any:
    """Return the module with threads that say nothing of how many there are.

    TVM's passes leave in a domain what they have replaced in the launch, and read it there alone.
    """
    plain = {name: _plain(func) if isinstance(func, tirx.PrimFunc) else func for name, func in module.functions.items()}
    return tvm.IRModule(plain)


def _plain(func: Any) -> Any:
    return function_with(func, structural_map(func.body, (tirx.IterVar, _without_domain)))


def _without_domain(axis: Any) -> Any:
    if not axis.thread_tag or axis.dom is None:
        return axis
    return tirx.IterVar(None, axis.var, axis.iter_type, axis.thread_tag)
