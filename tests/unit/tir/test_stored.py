"""What a stored case may not hold is named in one line before TVM is asked anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tzerlike
from tests.bundles import write_case
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.errors import UserError
from tzerlike.findings.cases import read_case
from tzerlike.passes.arguments import ARGUMENTS, OPTIONS
from tzerlike.tir.allowlist.stored import require_allowed, require_graph

PLAIN = Case('{"nodes": []}')


def graph(*nodes: dict[str, Any]) -> str:
    return json.dumps({"root_index": 0, "nodes": list(nodes)})


def complaint(case: Case) -> str:
    with pytest.raises(UserError) as refused:
        require_allowed(case)
    text = str(refused.value)
    assert "\n" not in text and len(text) < 300
    return text


def target(**attributes: Any) -> Case:
    return replace(PLAIN, target=json.dumps(attributes))


@pytest.mark.parametrize(
    "text",
    [
        "llvm",
        "cuda",
        '{"kind": "llvm"}',
        '{"kind": "llvm", "opt-level": 3, "mcpu": "skylake-avx512", "mattr": ["+avx2", "-sse4.2"]}',
        '{"kind": "cuda", "arch": "sm_90a", "host": {"kind": "llvm", "opt-level": 0}}',
    ],
)
def test_targets_that_say_what_code_to_generate(text: str) -> None:
    require_allowed(replace(PLAIN, target=text))


@pytest.mark.parametrize(
    ("attributes", "named"),
    [
        ({"kind": "c"}, "kind"),
        ({"kind": "llvm -mcpu=x"}, "kind"),
        ({}, "kind"),
        ({"kind": "llvm", "cl-opt": ["-ir-dump-directory:string=/tmp/x"]}, "cl-opt"),
        ({"kind": "llvm", "jit": "mcjit"}, "jit"),
        ({"kind": "llvm", "mtriple": "x86_64-linux-gnu"}, "mtriple"),
        ({"kind": "llvm", "libs": ["mkl"]}, "libs"),
        ({"kind": "llvm", "keys": ["arm_cpu"]}, "keys"),
        ({"kind": "llvm", "tag": "a"}, "tag"),
        ({"kind": "llvm", "device": "arm_cpu"}, "device"),
        ({"kind": "llvm", "from_device": 0}, "from_device"),
        ({"kind": "llvm", "arch": "sm_90"}, "arch"),
        ({"kind": "llvm", "opt-level": 4}, "opt-level"),
        ({"kind": "llvm", "opt-level": True}, "opt-level"),
        ({"kind": "llvm", "mcpu": "a b"}, "mcpu"),
        ({"kind": "llvm", "mattr": ["avx2"]}, "mattr"),
        ({"kind": "cuda", "arch": "sm_90 --x"}, "arch"),
        ({"kind": "cuda", "host": {"kind": "llvm", "cl-opt": ["-x"]}}, "cl-opt"),
        ({"kind": "cuda", "host": {"kind": "cuda"}}, "kind"),
        ({"kind": "cuda", "host": "llvm"}, "host"),
    ],
)
def test_other_targets_are_refused(attributes: dict[str, Any], named: str) -> None:
    assert complaint(target(**attributes)).startswith("case.target: ")
    assert named in complaint(target(**attributes))


def test_what_is_no_target_is_refused() -> None:
    for text in ("", "{", "llvm -cl-opt=-x", '{"kind": "llvm", "kind": "c"}', "[" * 9999, "{" + "[" * 9999):
        assert complaint(replace(PLAIN, target=text)).startswith("case.target: ")


def options(**values: Any) -> Case:
    return replace(PLAIN, config=ContextConfig(options=tuple((k.replace("__", "."), v) for k, v in values.items())))


def test_every_option_that_is_drawn_is_allowed_and_no_other() -> None:
    for key, domain in OPTIONS.items():
        for value in domain:
            require_allowed(replace(PLAIN, config=ContextConfig(options=((key, value),))))
    require_allowed(options(tirx__UnrollLoop__auto_max_step=1000))
    for case in (
        options(tirx__add_lower_pass="x"),
        options(relax__fallback_device_type=1),
        options(tirx__disable_assert="yes"),
        options(tirx__disable_assert=1),
        options(tirx__UnrollLoop__auto_max_step=True),
        options(tirx__UnrollLoop__auto_max_step=1 << 40),
        options(tirx__UnrollLoop__auto_max_step=None),
    ):
        assert "case.config.options" in complaint(case)
    assert "disabled_passes" in complaint(replace(PLAIN, config=ContextConfig(disabled_passes=("a\nb",))))


def one_pass(name: str, **args: Any) -> Case:
    return replace(PLAIN, passes=(PassSpec(name, tuple(args.items())),))


def test_every_argument_that_is_drawn_is_allowed_and_no_other_text() -> None:
    for name, domains in ARGUMENTS.items():
        for key, domain in domains.items():
            for value in domain:
                require_allowed(replace(PLAIN, passes=(PassSpec(name, ((key, value),)),)))
    require_allowed(one_pass("tirx.NarrowDataType", target_bits=17))
    assert "cl-opt" in complaint(one_pass("tirx.BindTarget", target='{"kind": "llvm", "cl-opt": ["-x"]}'))
    assert "storage_scope" in complaint(one_pass("s_tir.ThreadSync", storage_scope="/etc"))
    assert "path" in complaint(one_pass("tirx.SomePass", path="/etc/passwd"))


@pytest.mark.parametrize(
    "kind",
    [
        "ffi.Module", "ffi.Function", "ffi.Tensor", "ffi.OpaquePyObject", "ffi.Bytes", "ir.EnvFunc", "target.Target",
        "target.TargetKind", "transform.Sequential", "relax.expr.Function", "s_tir.meta_schedule.PyRunner",
        "tirx.PrimFuncPass", "tirx.TilePrimitiveCall", "runtime.disco.ProcessSession", "instrument.PassInstrument",
    ],
)  # fmt: skip
def test_nodes_that_no_program_needs_are_refused(kind: str) -> None:
    assert kind in complaint(replace(PLAIN, ir=graph({"type": "None"}, {"type": kind})))
    spelled = graph({"type": "None"}, {"type": kind}).replace("ffi", "\\u0066fi").replace('"type"', '"\\u0074ype"')
    assert kind in complaint(replace(PLAIN, ir=spelled))


def test_nodes_of_programs_are_allowed() -> None:
    require_allowed(replace(PLAIN, ir=graph({"type": "None"}, {"type": "tirx.For", "data": {"body": 0}})))
    require_allowed(replace(PLAIN, ir='{"nodes": [{"type": "float", "data": Infinity}]}'))


def test_integers_beyond_63_bits_are_allowed() -> None:
    def big(digits: object) -> Case:
        return replace(PLAIN, ir=graph({"type": "ffi.BigInt", "data": digits}))

    require_allowed(big("18446744073709551615"))
    require_allowed(big("-9223372036854775809"))
    for digits in ("9" * 40, "0x1", "", 1, None):
        assert "no integer" in complaint(big(digits))


def test_what_only_tvm_might_read_as_nodes_is_refused() -> None:
    for text in ('{"nodes": [{"type": "ffi.Module"},]}', '{"nodes": [], "nodes": [{"type": "x"}]}', '{"\\u0074ype"'):
        assert "not JSON" in complaint(replace(PLAIN, ir=text))
    for text in ("", "{}", "\0", "[" * 100_000, '{"nodes": 1}'):
        require_allowed(replace(PLAIN, ir=text))


def test_names_that_are_printed_as_they_stand_have_to_be_identifiers() -> None:
    def named(name: str) -> Case:
        nodes = ({"type": "ffi.String", "data": name}, {"type": "ir.GlobalVar", "data": {"name_hint": 0}})
        return replace(PLAIN, ir=graph(*nodes))

    require_allowed(named("main"))
    for name in ("main(): import os\n#", "a.b", "", "1"):
        assert "identifier" in complaint(named(name))
    assert "identifier" in complaint(replace(PLAIN, ir=graph({"type": "tirx.Axis", "data": "m) + f("})))


def test_code_of_another_language_is_refused() -> None:
    for key in ("pragma_import_llvm", "pragma_import_c"):
        assert key in complaint(replace(PLAIN, ir=graph({"type": "ffi.String", "data": key})))
    require_allowed(replace(PLAIN, ir=graph({"type": "ffi.String", "data": "pragma_unroll"})))


def test_a_graph_inside_of_a_trace_is_looked_at() -> None:
    def trace(kind: str) -> str:
        return graph({"type": "ffi.Array", "data": [1]}, {"type": "ffi.String", "data": graph({"type": kind})})

    require_graph(trace("tirx.IndexMap"), "trace")
    with pytest.raises(UserError, match=r"ffi\.Module"):
        require_graph(trace("ffi.Module"), "trace")


def test_a_file_is_refused_before_anything_else(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    write_case(path, '{"nodes": []}', target='{"kind": "llvm", "cl-opt": ["-x"]}')
    with pytest.raises(UserError, match=r"case.json: case.target: .*cl-opt"):
        read_case(path)
    case = write_case(path, '{"nodes": []}')
    assert read_case(path).case == case


def test_there_is_one_way_to_compiled_code() -> None:
    root = Path(tzerlike.__file__).parent
    ways = ("compiled_main", ".executable[", ".executable.jit(")
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(way in path.read_text(encoding="utf-8") for way in ways)
    }
    assert found == {"tir/allowlist/native.py", "systems/tvm_build.py"}
