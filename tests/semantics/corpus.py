"""What an entry of the corpus is, and short ways to write one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tzerlike.tir.interpreter.verdict import RULES, Verdict

Value = Sequence["Value"] | int | float | bool
"""An argument as it is written down: nested lists for a buffer, in the order of its shape."""

EIGHT = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
"""The parameters of most programs."""
ZEROS = [0] * 8
COUNT = list(range(8))


@dataclass(frozen=True, slots=True)
class Program:
    """A TVMScript function, the arguments to interpret it on, and the rule it breaks ("" for none)."""

    name: str
    text: str
    arguments: tuple[Value, ...]
    rule: str = ""

    @property
    def verdict(self) -> Verdict:
        return RULES[self.rule][0] if self.rule else Verdict.DEFINED


def script(parameters: str, body: str, attributes: str = "") -> str:
    """TVMScript of the function `main`; `body` without its common indentation, `attributes` of `T.prim_func`."""
    decorator = f"@T.prim_func({attributes})" if attributes else "@T.prim_func"
    lines = [f"    {line}" if line else "" for line in body.strip("\n").splitlines()]
    return "\n".join([decorator, f"def main({parameters}):", *lines, ""])


def blocks(parameters: str, body: str) -> str:
    """TVMScript of a function with blocks."""
    return script(parameters, body, "s_tir=True")


def by_value(name: str, rule: str, text: str, bad: Sequence[Value], good: Sequence[Value]) -> tuple[Program, Program]:
    """One program that breaks `rule` on the arguments `bad`, and on `good` does not."""
    return Program(name, text, tuple(bad), rule), Program(f"{name}, in range", text, tuple(good))


def by_text(name: str, rule: str, bad: str, good: str, *arguments: Value) -> tuple[Program, Program]:
    """Two programs of one shape, of which the first breaks `rule`, on the same arguments."""
    return Program(name, bad, arguments, rule), Program(f"{name}, mended", good, arguments)
