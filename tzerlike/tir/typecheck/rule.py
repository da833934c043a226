"""The rules of types, and how a node breaks one."""

from __future__ import annotations


class BadType(Exception):
    """A node breaks `rule`, the name of a rule of this package; `where` says how, in dtypes, without names."""

    def __init__(self, rule: str, where: str) -> None:
        super().__init__(f"{rule}: {where}")
        self.rule = rule
        self.where = where


def require(holds: bool, rule: str, where: str) -> None:
    if not holds:
        raise BadType(rule, where)
