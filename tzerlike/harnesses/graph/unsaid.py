"""Shorter TVMScript of a model: without the arguments and types that the parser puts there by itself.

TVM prints every attribute of a call and the type of every binding, which buries what matters.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise

_Place = tuple[int, int]

_MOST = 200
"""Pieces that are tried; a model that is not reduced may have thousands."""


def without_defaults(text: str, reads_back: Callable[[str], bool]) -> str:
    """Return `text` without the pieces that it may lack one and all, for all that `reads_back` says.

    Each piece is tried by itself where the text cannot be without all of them.
    """
    # Python counts the columns of other texts in bytes.
    pieces = list(_pieces(text))[:_MOST] if text.isascii() else []
    if reads_back(shorter := _without(text, pieces)):
        return shorter
    gone: list[_Place] = []
    for piece in pieces:
        if reads_back(_without(text, [*gone, piece])):
            gone.append(piece)
    return _without(text, gone)


def _pieces(text: str) -> Iterator[_Place]:
    """The types of bindings and of results, and the named arguments of calls of Relax, as places in `text`."""
    starts = list(accumulate((len(line) for line in text.splitlines(keepends=True)), initial=0))

    def end(node: ast.expr | ast.keyword) -> int:
        return starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.AnnAssign):
            yield end(node.target), end(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            arrow = text.rindex(" -> ", 0, starts[node.returns.lineno - 1] + node.returns.col_offset)
            yield arrow, end(node.returns)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("R."):
            arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
            for before, argument in pairwise(arguments):
                if isinstance(argument, ast.keyword):
                    yield end(before), end(argument)


def _without(text: str, pieces: list[_Place]) -> str:
    for start, stop in sorted(pieces, reverse=True):
        text = text[:start] + text[stop:]
    return text
