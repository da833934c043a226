"""A function for tests of schedules: what a program does that it may not, found by walking its loops.

What such a program computes is chance, so that results alone may hide it; its indices do not.
"""

from typing import Final

from tzerlike.oracles.metamorphic import PADDING, UNINITIALISED

STRAYING: Final = (UNINITIALISED, PADDING, "out-of-bounds", "block-domain")
"""The rules of tzerlike.oracles.metamorphic that the function knows."""

_STRAY: Final = '''\
OPERATORS = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b, "FloorMod": lambda a, b: a % b, "Min": min, "Max": max,
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "And": lambda a, b: a and b, "Or": lambda a, b: a or b,
}


def value(expr, at):
    """What an expression on loops and axes is where they have the values `at`."""
    if type(expr).__name__ == "IntImm":
        return int(expr.value)
    if type(expr).__name__ in OPERATORS:
        return OPERATORS[type(expr).__name__](value(expr.a, at), value(expr.b, at))
    if type(expr).__name__ == "Call" and expr.op.name.endswith("likely"):
        return value(expr.args[0], at)
    return not value(expr.a, at) if type(expr).__name__ == "Not" else at[expr.name]


def stray(program):
    """The first thing that a program does and may not: an index out of bounds, an axis outside its domain, a read of
    what nobody has written; "" where there is none."""  #-
    what nobody has written, an access that a block around it does not declare; "" where there is none."""  #+
    allocated, written = set(), set()
    around = []  #+

    def undeclared(buffer, index, stored):  #+
        for block, inside in reversed(around):  #+
            if any(buffer.same_as(own) for own in block.alloc_buffers):  #+
                return None  #+
            named = block.writes if stored else [*block.writes, *block.reads]  #+
            regions = [zip(index, one.region) for one in named if buffer.same_as(one.source)]  #+
            if not any(  #+
                all(0 <= i - value(part.min, inside) < value(part.extent, inside) for i, part in region)  #+
                for region in regions  #+
            ):  #+
                return block.name_hint  #+
        return None  #+
  #+
    def place(buffer, indices, at):  #-
    def place(buffer, indices, at, stored=False):  #+
        for one in indices:
            read(one, at)
        try:
            index = tuple(value(one, at) for one in indices)
        except AttributeError:  # data decide
            return buffer.name, None
        if not all(0 <= one < int(extent) for one, extent in zip(index, buffer.shape)):
            raise IndexError(f"{buffer.name} of shape {list(buffer.shape)} at {list(index)}")
        if block := undeclared(buffer, index, stored):  #+
            raise IndexError(f"block {block} does not declare {buffer.name} at {list(index)}")  #+
        return buffer.name, index

    def read(expr, at):
        kind = type(expr).__name__
        if kind == "TensorLoad":
            name, index = place(expr.source, expr.indices, at)
            if index is not None and name in allocated and (name, index) not in written:
                raise IndexError(f"{name} is read at {list(index)}, which nothing has written")
        elif kind == "Select" or (kind == "Call" and expr.op.name.endswith("if_then_else")):
            parts = expr.args if kind == "Call" else (expr.condition, expr.true_value, expr.false_value)
            read(parts[0], at)
            try:
                chosen = parts[1] if value(parts[0], at) else parts[2]
            except AttributeError:  # data decide
                return
            read(chosen, at)
        else:
            for one in (*getattr(expr, "args", ()), *(getattr(expr, name, None) for name in ("a", "b", "value"))):
                if isinstance(one, tvm.ir.Expr):
                    read(one, at)

    def run(stmt, at):
        kind = type(stmt).__name__
        if kind == "SeqStmt":
            for one in stmt.seq:
                run(one, at)
        elif kind == "For":
            first = value(stmt.min, at)
            for number in range(first, first + value(stmt.extent, at)):
                run(stmt.body, {**at, stmt.loop_var.name: number})
        elif kind == "IfThenElse":
            if (arm := stmt.then_case if value(stmt.condition, at) else stmt.else_case) is not None:
                run(arm, at)
        elif kind == "BufferStore":
            read(stmt.value, at)
            written.add(cell := place(stmt.buffer, stmt.indices, at))  #-
            written.add(cell := place(stmt.buffer, stmt.indices, at, stored=True))  #+
            if cell[1] is None:
                allocated.discard(cell[0])
        elif kind == "SBlockRealize":
            block, inside = stmt.block, dict(at)
            assert not block.match_buffers, "views are not followed"
            if not value(stmt.predicate, at):
                return
            for axis, bound in zip(block.iter_vars, stmt.iter_values):
                inside[axis.var.name] = number = value(bound, at)
                if not 0 <= number - value(axis.dom.min, at) < value(axis.dom.extent, at):
                    raise IndexError(f"axis {axis.var.name} of block {block.name_hint} is {number}")
            allocated.update(buffer.name for buffer in block.alloc_buffers)
            reduced = [axis for axis in block.iter_vars if int(axis.iter_type) == 2]
            root = not (at or block.iter_vars or block.reads or block.writes)  #+
            if not root:  #+
                around.append((block, inside))  #+
            if block.init is not None and all(inside[a.var.name] == value(a.dom.min, at) for a in reduced):
                run(block.init, inside)
            run(block.body, inside)
            if not root:  #+
                around.pop()  #+
        else:
            assert kind == "Evaluate", f"{kind} is not followed"
            read(stmt.value, at)

    try:
        run(program["main"].body, {})
    except IndexError as error:
        return str(error)
    return ""
'''
"""Its definition, which takes `tvm` alone. It fails on programs whose course is decided by more than loops and axes."""


def stray_source(declared: bool) -> str:
    """The source of a function `stray`, which returns what a program does that it may not; with `declared` blocks have
    to declare what they access, too."""
    kept, others = ("  #+", "  #-") if declared else ("  #-", "  #+")
    return "".join(f"{line.removesuffix(kept)}\n" for line in _STRAY.splitlines() if not line.endswith(others))
