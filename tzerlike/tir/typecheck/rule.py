"""The rules of types, and how a node breaks one."""

from __future__ import annotations


class BadType(Exception):
    """A node breaks `rule`, the name of a rule of this package; `where` says how, in dtypes, without names.

    `place` names the innermost buffer, axis or store that the node is part of, "" where there is none.
    """

    def __init__(self, rule: str, where: str, place: str = "") -> None:
        super().__init__(f"{rule}: {where}")
        self.rule = rule
        self.where = where
        self.place = place

    def at(self, place: str) -> BadType:
        """The same, said of what is around as far as nothing in it has a name."""
        self.place = self.place or place
        return self


def require(holds: bool, rule: str, where: str) -> None:
    if not holds:
        raise BadType(rule, where)
