"""The second dimension of the search: passes, their arguments and preconditions, and sequences of them.

Only `catalog` and `pipeline` need TVM, so `discover` and `instantiate` are looked up there on
first use: importing this package for anything else leaves TVM alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tzerlike.passes.catalog import discover, instantiate

__all__ = ["discover", "instantiate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    from tzerlike.passes import catalog

    return getattr(catalog, name)
