"""Programs are read the same with TVM's migration of older texts and without it."""

from __future__ import annotations

import json

import pytest

from tzerlike.systems import tvm_api
from tzerlike.testing import sample_functions

SAMPLES = [tvm_api.dump_ir(tvm_api.module_of(func)) for func in sample_functions()]


def test_what_this_version_wrote_is_read_as_load_json_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = [tvm_api.tvm.ir.load_json(text) for text in SAMPLES]
    monkeypatch.setattr(tvm_api.tvm.ir, "load_json", None)
    for text, module in zip(SAMPLES, theirs, strict=True):
        ours = tvm_api.load_ir(text)
        assert tvm_api.dump_ir(ours) == text
        assert tvm_api.structural_equal(ours, module, map_free_vars=True)


def test_what_an_older_version_wrote_is_migrated() -> None:
    graph = json.loads(SAMPLES[0])
    graph["metadata"]["tvm_version"] = "0.26.0"
    for node in graph["nodes"]:
        if node["type"] == "ir.Var":
            node["type"] = "tirx.Var"
            node["data"]["name_hint"] = node["data"].pop("name")
    old = json.dumps(graph)
    assert '"tirx.Var"' in old
    assert tvm_api.dump_ir(tvm_api.load_ir(old)) == SAMPLES[0]


@pytest.mark.parametrize("bad", ["{", "{}", SAMPLES[0][:-40], SAMPLES[0].replace('"root_index":', '"root_index":9')])
def test_a_bad_text_is_tvms_to_refuse(bad: str) -> None:
    with pytest.raises(Exception) as caught:
        tvm_api.load_ir(bad)
    assert isinstance(caught.value, KeyError | ValueError) or tvm_api.raised_by_tvm(caught.value)
