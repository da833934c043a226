"""Seeds from generated models: each function into which Relax's passes lower and fuse one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tzerlike.core.rng import rng_for
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.relax import relax_module
from tzerlike.graph.spec import OPERATOR_ROWS
from tzerlike.graph.values import drawn_values
from tzerlike.tir.seeds.generate import Recipe
from tzerlike.tir.seeds.lowered import fused

MODELS = 300
_LARGEST = 8
_LIMITS = SizeLimits(rank=4, extent=8, elements=256)


def recipes() -> Iterator[Recipe]:
    """Yield a recipe for each model; the same ones always."""
    menu = Menu(list(OPERATOR_ROWS.values()))
    for number in range(MODELS):
        yield Recipe(f"graph.model{number}", partial(_lowered, number, menu))


def _lowered(number: int, menu: Menu) -> dict[str, Any]:
    model = random_model(rng_for(0, "graph", number), 1 + number % _LARGEST, menu, _LIMITS)
    return fused(relax_module(model, [drawn_values(origin, 0) for origin in model.sources]))
