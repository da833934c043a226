"""A plug-in as a third party writes it: `tzerlike fuzz --plugin sample` draws its mutators too."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from tzerlike.mutators import MutationEnv
from tzerlike.plugins import Plugin
from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.tree import Tree


@dataclass(frozen=True, slots=True)
class Doubler:
    """Store a value twice."""

    name: str = "doubler"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        tree = Tree(func)
        stores = tree.of_type(tirx.BufferStore)
        if not stores:
            return None
        site = rng.choice(stores)
        return tree.replace(site, tirx.SeqStmt([site.node, site.node]))


plugin = Plugin(mutators={"doubler": Doubler})
