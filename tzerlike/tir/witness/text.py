"""C text under construction: lines, names for values, and names for the program's variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tzerlike.tir.witness.graph import Node, NotCovered
from tzerlike.tir.witness.scalars import CScalar

_MOST_LINES = 30_000


class CText:
    """The function under way. `known` are the values of the statement, innermost last: each is written once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.memories: list[str] = []
        self.variables: dict[int, list[str]] = {}
        self.known: list[dict[tuple[int, int], str]] = [{}]
        self._names = 0

    def line(self, text: str) -> None:
        if len(self.lines) > _MOST_LINES:
            raise NotCovered("too long")
        self.lines.append(text)

    def name(self, what: str = "t") -> str:
        self._names += 1
        return f"{what}{self._names}"

    def value(self, ctype: str, text: str) -> str:
        """Give an expression of C a name; it is computed here."""
        name = self.name()
        self.line(f"{ctype} {name} = {text};")
        return name

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is written meanwhile stands in braces; values that are named there are not known behind it."""
        self.line(head + " {")
        self.known.append({})
        yield
        self.known.pop()
        self.line("}")

    @contextmanager
    def statement(self) -> Iterator[None]:
        """What is written meanwhile is one statement: values that an earlier one named are computed anew."""
        before, self.known = self.known, [{}]
        yield
        self.known = before

    def bind(self, var: Node, names: list[str]) -> None:
        self.variables[var.place] = names


def literal(value: int | float, scalar: CScalar) -> str:
    """A number as C has it."""
    if scalar.stem.lstrip("b").startswith("f"):
        number = float(value)
        if abs(number) == float("inf"):
            return "INFINITY" if number > 0 else "-INFINITY"
        text = "NAN" if number != number else number.hex()
        return (
            f"of_bits_bf16(bits_bf16(finite_bf16({text})))"
            if scalar.stem == "bf16"
            else f"finite_{scalar.stem}({text})"
        )
    number = int(value)
    text = (
        "(-9223372036854775807LL - 1)"
        if number == -(1 << 63)
        else f"{number}ULL"
        if number >> 63 > 0
        else f"{number}LL"
    )
    return f"(({scalar.c}){text})"
