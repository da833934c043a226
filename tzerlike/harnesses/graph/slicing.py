"""Slices of a function in TVMScript: some of its statements, with what these take as parameters.

Passes make calls that no model of ours has. What a pass fails on is told best as the module that it is given, with no
more calls than the failure takes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tzerlike.core.shrink import Attempt, Task, search, spans

_MOST = 80
"""Texts that are tried."""

_MOST_STATEMENTS = 60
"""Statements of a function that is worth it."""

_MAIN = "main"


def sliced_module(source: str, entry: str, failure: Callable[[str], str]) -> str:
    """Return a source with the least of the function `entry`, as `main`, on which TVM fails the same.

    `failure` says how it fails on a source. "" where it does not fail on one with all of the function.
    """
    module = _Module.of(source, entry)
    if module is None:
        return ""
    start = tuple(range(len(module.statements)))
    wanted = failure(module.whole)
    if not wanted:
        return ""

    def text(kept: Sequence[int]) -> str:
        return module.whole if kept == start else module.slice(kept)

    left = iter(range(_MOST))
    task = Task([module.few, _fewer], module.size, tuple, lambda kept: failure(text(kept)) == wanted)
    return text(search(start, task, stop=lambda: next(left, None) is None).value)


def public_functions(source: str) -> list[str]:
    """Return the names of the functions of Relax in a module that others can call, `main` last."""
    _, functions = _pieces(source)
    public = [name for name, one in functions.items() if [*map(ast.unparse, one.decorator_list)] == ["R.function"]]
    return sorted(public, key=lambda name: name == _MAIN)


def _fewer(kept: Sequence[int]) -> Iterator[Attempt[Sequence[int]]]:
    return (
        partial(tuple, (*kept[:start], *kept[stop:])) for start, stop in spans(len(kept)) if stop - start < len(kept)
    )


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement, the name that it binds with the type it has in the text, and the names that it has."""

    node: ast.stmt
    name: str
    type: ast.expr | None
    names: frozenset[str]
    in_dataflow: bool

    @classmethod
    def of(cls, node: ast.stmt, in_dataflow: bool) -> _Statement:
        names = frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        bound = node
        while isinstance(bound, ast.If):
            bound = bound.body[-1]
        if isinstance(bound, ast.AnnAssign) and isinstance(bound.target, ast.Name):
            return cls(node, bound.target.id, bound.annotation, names, in_dataflow)
        if isinstance(bound, ast.Assign) and isinstance(bound.targets[0], ast.Name):
            return cls(node, bound.targets[0].id, None, names, in_dataflow)
        return cls(node, bound.name if isinstance(bound, ast.FunctionDef) else "", None, names, in_dataflow)

    @property
    def declares(self) -> bool:
        """Whether it declares a variable of extents, which takes nothing."""
        value = self.node.value if isinstance(self.node, ast.Assign) else None
        return isinstance(value, ast.Call) and ast.unparse(value.func).startswith("T.")


@dataclass(frozen=True, slots=True)
class _Module:
    """A module with one of its functions in pieces; `whole` is its source with that function as `main`."""

    tree: ast.Module
    others: Mapping[str, ast.FunctionDef]
    given: tuple[ast.arg, ...]
    fixed: tuple[ast.stmt, ...]
    statements: tuple[_Statement, ...]
    whole: str

    @classmethod
    def of(cls, source: str, entry: str) -> _Module | None:
        """Return the pieces of a source; None where it has too many, or none."""
        tree, functions = _pieces(source)
        own = functions.pop(entry, None)
        if own is None:
            return None
        functions.pop(_MAIN, None)
        found = list(_statements(own.body, in_dataflow=False))
        fixed = tuple(one.node for one in found if one.declares)
        statements = tuple(one for one in found if not one.declares)
        if not 0 < len(statements) <= _MOST_STATEMENTS:
            return None
        own.name = _MAIN
        return cls(tree, functions, tuple(own.args.args), fixed, statements, _written(tree, own, functions))

    def size(self, kept: Sequence[int]) -> tuple[int, int, Sequence[int]]:
        return len(kept), sum(len(ast.unparse(self.statements[one].node)) for one in kept), kept

    def few(self, kept: Sequence[int]) -> Iterator[Attempt[Sequence[int]]]:
        """Single statements, then two of which one uses the other."""
        yield from (partial(tuple, (one,)) for one in kept)
        for later in kept:
            for one in kept:
                if one < later and self.statements[one].name in self.statements[later].names:
                    yield partial(tuple, (one, later))

    def slice(self, kept: Sequence[int]) -> str:
        """Return the source with these statements of the function, "" where one takes what has no type."""
        own = [self.statements[one] for one in kept]
        bound, named = {one.name for one in own}, Counter(name for one in own for name in one.names)
        taken = [one for one in self.statements if one.name in named and one.name not in bound]
        if not all(one.type for one in taken):
            return ""
        # What binds a name has it, too.
        results = ", ".join(one.name for one in own if named[one.name] == 1)
        body = "with R.dataflow():\n        R.output({0})" if all(one.in_dataflow for one in own) else "pass"
        text = f"@R.function\ndef {_MAIN}():\n    {body}\n    return ({{0}})"
        (main,) = ast.parse(text.format(results)).body
        assert isinstance(main, ast.FunctionDef)
        block, returned = main.body
        nodes = [one.node for one in own]
        if isinstance(block, ast.With):
            block.body[:0] = nodes
            nodes = [block]
        main.body = [*self.fixed, *nodes, returned]
        main.args.args = [*self.given, *(ast.arg(one.name, one.type) for one in taken)]
        return _written(self.tree, main, self.others)


def _pieces(source: str) -> tuple[ast.Module, dict[str, ast.FunctionDef]]:
    """A source with its class, and the functions in that by name; none where it is no Python, as names may make it."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ast.Module([], []), {}
    inside = next((one.body for one in tree.body if isinstance(one, ast.ClassDef)), [])
    return tree, {one.name: one for one in inside if isinstance(one, ast.FunctionDef)}


def _written(tree: ast.Module, main: ast.FunctionDef, others: Mapping[str, ast.FunctionDef]) -> str:
    """Source of a module with `main`, and what that calls of other functions, and these do."""
    needed, reached = dict[str, ast.FunctionDef](), [main]
    while reached:
        called = {one.attr for one in ast.walk(reached.pop()) if isinstance(one, ast.Attribute)}
        new = {name: one for name, one in others.items() if name in called and name not in needed}
        needed |= new
        reached += new.values()
    made = (_with_body(one, [main, *needed.values()]) if isinstance(one, ast.ClassDef) else one for one in tree.body)
    return ast.unparse(ast.fix_missing_locations(ast.Module([*made], [])))


def _with_body(one: ast.ClassDef, body: Sequence[ast.stmt]) -> ast.ClassDef:
    return ast.ClassDef(one.name, one.bases, one.keywords, [*body], one.decorator_list)


def _statements(body: Sequence[ast.stmt], *, in_dataflow: bool) -> Iterator[_Statement]:
    """The statements of a function, without what says what comes out of it and of its dataflow blocks."""
    for node in body:
        if isinstance(node, ast.With):
            yield from _statements(node.body, in_dataflow=True)
        elif not isinstance(node, (ast.Return, ast.Expr)):
            yield _Statement.of(node, in_dataflow)
