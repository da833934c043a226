"""The nodes of a program as represented in its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tzerlike.core.dtypes import DType, parse
from tzerlike.systems.text import integers_apart


class NotCovered(Exception):
    """The witness has nothing to say on a program; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of TVM's JSON; fields are numbers, texts, or the places of other nodes."""

    nodes: list[dict[str, Any]]
    place: int

    @property
    def kind(self) -> str:
        return str(self.nodes[self.place]["type"])

    def raw(self, name: str) -> Any:
        """The field as it stands: a number, a text, or a place."""
        return self.nodes[self.place]["data"][name]

    def at(self, name: str) -> Node:
        return Node(self.nodes, self.raw(name))

    def optional(self, name: str) -> Node | None:
        node = self.at(name)
        return None if node.kind == "None" else node

    def list(self, name: str) -> list[Node]:
        return [Node(self.nodes, place) for place in self.nodes[self.raw(name)]["data"]]

    def text(self, name: str) -> str:
        return str(self.nodes[self.raw(name)]["data"])

    @property
    def integer(self) -> int:
        """The value of an IntImm."""
        return int(self.nodes[self.raw("value")]["data"])

    @property
    def dtype(self) -> DType:
        """The dtype of an expression, or of the elements of a buffer; NotCovered where it is no number."""
        ty = self.at("ty")
        ty = ty.at("dtype") if ty.kind == "tirx.BufferType" else ty
        dtype = parse(str(ty.raw("dtype"))) if ty.kind == "ir.PrimType" else None
        if dtype is None or dtype.scalable or dtype.base == "handle":
            raise NotCovered(f"a value of type {ty.raw('dtype') or 'void' if ty.kind == 'ir.PrimType' else ty.kind}")
        return dtype

    @property
    def is_buffer(self) -> bool:
        return self.kind == "ir.Var" and self.at("ty").kind == "tirx.BufferType"

    def operator(self) -> str:
        """The name of what a call calls."""
        op = self.at("op")
        return str(self.nodes[op.place]["data"]) if op.kind == "ir.Op" else op.kind


def entry(ir: str) -> Node:
    """Return the function `main` of a module in JSON; NotCovered where an older TVM wrote that."""
    graph = json.loads(ir)
    if not integers_apart(graph):
        raise NotCovered("the text of an older TVM")
    nodes = graph["nodes"]
    for name, func in _pairs(Node(nodes, graph["root_index"]).at("functions")):
        if name.text("name_hint") == "main" and func.kind == "tirx.PrimFunc":
            return func
    raise NotCovered("no function main")


def _pairs(mapping: Node) -> Iterator[tuple[Node, Node]]:
    places = mapping.nodes[mapping.place]["data"]
    for key, value in zip(places[::2], places[1::2], strict=True):
        yield Node(mapping.nodes, key), Node(mapping.nodes, value)
