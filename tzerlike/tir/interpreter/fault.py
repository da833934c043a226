"""How the interpreter stops: a broken rule, and the statement at which it broke."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tzerlike.tir.interpreter.verdict import RULES


class BrokenRule(Exception):
    """A rule of RULES does not hold; `detail` says what exactly, `place` is the innermost statement."""

    def __init__(self, rule: str, detail: str = "") -> None:
        if rule not in RULES:
            raise KeyError(rule)
        super().__init__(rule, detail)
        self.rule = rule
        self.detail = detail
        self.place: Any = None

    def at(self, statement: Any) -> BrokenRule:
        """This with its place, unless an inner statement has given it one."""
        if self.place is None:
            self.place = statement
        return self


def raising(rule: str, detail: str = "") -> Callable[[], NoReturn]:
    """A closure for what must not be reached: it raises the BrokenRule."""

    def run() -> NoReturn:
        raise BrokenRule(rule, detail)

    return run
