"""The rules of types, and how a node breaks one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class BadType(Exception):
    """A node breaks `rule`, the name of a rule of this package; `where` says how, in dtypes, without names.

    `place` names the innermost buffer, axis or store that the node is part of, "" where there is none.
    """

    def __init__(self, rule: str, where: str, place: str = "") -> None:
        super().__init__(f"{rule}: {where}")
        self.rule = rule
        self.where = where
        self.place = place


def require(holds: bool, rule: str, where: str, place: str = "") -> None:
    if not holds:
        raise BadType(rule, where, place)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Say what it is that breaks a rule within, where nothing in it does."""
    try:
        yield
    except BadType as bad:
        bad.place = bad.place or place
        raise
