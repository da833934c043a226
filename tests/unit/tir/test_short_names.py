"""Short names in smaller programs."""

from __future__ import annotations

import json
from typing import Any

from tzerlike.core.case import Case
from tzerlike.systems import tvm_api
from tzerlike.tir.order import size_of
from tzerlike.tir.reducers.names import renamed
from tzerlike.tir.tree import Tree

LONG = """
@T.prim_func(s_tir=True)
def main(p0: T.Buffer((8,), "float32"), compute: T.Buffer((8,), "float32")):
    for ax0 in range(8):
        with T.sblock("compute"):
            v_ax0 = T.axis.spatial(8, ax0)
            compute[v_ax0] = p0[v_ax0]
"""


def test_a_schedule_that_asks_for_blocks_by_name_keeps_them() -> None:
    made = [str(make()) for make in renamed(Tree(tvm_api.parse_script(LONG)))]
    short, kept = made
    assert 'with T.sblock("a"):' in short and 'with T.sblock("compute"):' in kept
    for text in made:
        assert "A: T.Buffer((8,)" in text and "for i in range(8)" in text
        assert "ax0" not in text and "p0" not in text


def test_the_block_of_a_whole_function_keeps_its_name() -> None:
    """TVM's schedules look for it as "root", and no text gives it another one."""
    short, _ = (make() for make in renamed(Tree(tvm_api.parse_script(LONG))))
    assert short.body.block.name_hint == "root"


def test_shorter_names_are_smaller_though_the_text_is_longer() -> None:
    graph = json.loads(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(LONG))))
    nodes = graph["nodes"]
    (buffer,) = (node for node in nodes if node["type"] == "ir.Var" and _name(nodes, node, "name") == "compute")
    (block,) = (
        node for node in nodes if node["type"] == "s_tir.SBlock" and _name(nodes, node, "name_hint") == "compute"
    )
    block["data"]["name_hint"] = buffer["data"]["name"]
    one_name = _case(graph)
    buffer["data"]["name"] = len(nodes)
    nodes.append({"type": "ffi.String", "data": "A"})
    two = _case(graph)
    assert len(two.ir) > len(one_name.ir)
    assert size_of(two) < size_of(one_name)


def _name(nodes: list[Any], node: Any, field: str) -> str:
    return str(nodes[node["data"][field]]["data"])


def _case(graph: Any) -> Case:
    return Case(tvm_api.dump_ir(tvm_api.load_ir(json.dumps(graph))))
