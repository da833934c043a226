"""Short names: A, B, ... for buffers, i, j, ... for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

from tzerlike.systems.tvm_api import is_buffer, params_of, s_tir, tirx, variable_like
from tzerlike.tir.buffers import like
from tzerlike.tir.node import definitions, key
from tzerlike.tir.reducers.program import Make, block_with, mapped
from tzerlike.tir.scope import shape_variables
from tzerlike.tir.tree import Tree


def renamed(tree: Tree) -> Iterator[Make]:
    """The same function with short names in the order of definition, for buffers, variables and blocks; then without
    those for blocks, which schedules look up by their names."""
    yield partial(_renamed, tree, blocks_too=True)
    yield partial(_renamed, tree, blocks_too=False)


def _renamed(tree: Tree, *, blocks_too: bool) -> Any:
    params = params_of(tree.func)
    defined = [var for param in params if is_buffer(param) for var in shape_variables(param)] + params
    for site in tree.sites:
        defined += definitions(site.node)
    variables = {key(var): var for var in defined}.values()
    buffers, scalars = _names("ABCDEFGH"), _names("ijkxyz")
    new = {
        key(var): variable_like(like(var), next(buffers)) if is_buffer(var) else variable_like(var, next(scalars))
        for var in variables
    }
    blocks, body = _names("abcd"), tree.func.body
    # Passes look up the block of a whole function by its name, which the text of a program cannot change.
    root = body.block.name_hint if type(body) is s_tir.SBlockRealize else ""

    def block(node: Any) -> Any:
        return block_with(node, name_hint=next(blocks)) if blocks_too and node.name_hint != root else node

    return mapped(tree.func, (tirx.Var, lambda var: new.get(key(var), var)), (s_tir.SBlock, block))


def _names(letters: str) -> Iterator[str]:
    for number in count():
        yield from (f"{letter}{number or ''}" for letter in letters)
