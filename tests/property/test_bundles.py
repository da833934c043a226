"""Bundles from a stranger: read in full or refused in one line, and nothing of theirs runs."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tzerlike.core.archive import read_arrays
from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import ARRAY_BYTES, JSON_DEPTH, JSON_ITEMS, one_line, parse_json, read_bytes, read_json
from tzerlike.findings.replay import load_bundle

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz_bundles.py"
KINDS = ("arith", "crash", "ice-on-valid", "invalid-ir", "mutation", "slow-code", "wrong-code")


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_bundles", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def lay(files: dict[str, bytes], place: Path) -> Path:
    place.mkdir(exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content)
    return place


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_bundle_loads(fuzzer: ModuleType, tmp_path: Path, kind: str) -> None:
    samples = fuzzer.samples()
    assert sorted(samples) == list(KINDS)
    fuzzer.load_everything(lay(samples[kind], tmp_path / "b"))


def test_mutants_load_or_are_refused(fuzzer: ModuleType) -> None:
    tally = fuzzer.fuzz(600, fuzzer.samples(), huge=False)
    assert not tally.faults
    assert tally.loaded
    assert len(tally.refused) > 50


def change(data: bytes, path: tuple[str | int, ...], value: Any) -> bytes:
    root = json.loads(data)
    place = root
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(root).encode()


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("crash", "case.json", ("case", "input_seed"), 1 << 70),
        ("crash", "case.json", ("case", "passes", 0, "args", "x"), 1 << 70),
        ("crash", "case.json", ("case", "config", "opt_level"), True),
        ("crash", "case.json", ("provenance", "worker"), 1.5),
        ("crash", "observation.json", ("kind",), "../../x"),
        ("crash", "observation.json", ("signature",), "no signature"),
        ("crash", "observation.json", ("limits", "seconds"), -1),
        ("crash", "observation.json", ("limits", "memory"), 1 << 60),
        ("crash", "observation.json", ("observation", "signal"), 1 << 40),
        ("crash", "observation.json", ("observation", "backtrace", 0), ["f"]),
        ("crash", "observation.json", ("environment", "oracles"), [["crash"]]),
        ("crash", "observation.json", ("environment", "oracles"), ["nobody"]),
        ("wrong-code", "observation.json", ("observation", "results", "optimised", "difference", "index"), ["a"]),
        ("slow-code", "observation.json", ("observation", "results", "timing", "floor"), "1"),
        ("ice-on-valid", "observation.json", ("observation", "rejection", "well_formed"), 1),
        ("mutation", "observation.json", ("environment", "mutation", "draw"), "0"),
        ("mutation", "observation.json", ("environment", "mutation", "mutator"), "x" * 10_000),
        ("arith", "case.json", ("problem", "variables", 0, "values"), [2, 1]),
        ("arith", "case.json", ("problem", "variables", 0, "dtype"), "int32x4"),
        ("arith", "case.json", ("problem", "roots", 0, 1), "int32x99999"),
        ("arith", "case.json", ("problem", "constraints", 0), ["Var", "int32", "x"]),
    ],
    ids=str,
)
def test_a_field_that_is_wrong_is_named(
    fuzzer: ModuleType, tmp_path: Path, kind: str, name: str, path: tuple[str | int, ...], value: Any
) -> None:
    files = fuzzer.samples()[kind]
    bundle = lay(files | {name: change(files[name], path, value)}, tmp_path / "b")
    with pytest.raises(UserError) as refused:
        load_bundle(bundle)
    assert str(bundle / name) in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "[" * (JSON_DEPTH + 1) + "]" * (JSON_DEPTH + 1),
        "[" + "0," * JSON_ITEMS + "0]",
        "[NaN]",
        "[1e999]",
        '{"a": 1, "a": 2}',
        r'["\ud800"]',
        "[" + "1" * 5000 + "]",
        "\ufeff[]",
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_plain_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"x\.json: not JSON"):
        read_json(path)


def test_texts_do_not_count_as_structure() -> None:
    deep = "[" * 5000 + '\\"' + "\\" * 3
    assert parse_json(json.dumps([deep]).encode()) == [deep]


@given(st.recursive(st.none() | st.booleans() | st.integers(-99, 99) | st.text(), st.lists, max_leaves=20))
def test_plain_json_is_what_it_was(value: Any) -> None:
    for ascii_only in (True, False):
        try:
            data = json.dumps(value, ensure_ascii=ascii_only).encode()
        except UnicodeEncodeError:
            return
        assert parse_json(data) == value


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"12345")
    assert read_bytes(real, 5) == b"12345"
    with pytest.raises(UserError, match="larger than"):
        read_bytes(real, 4)
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(real)
    os.mkfifo(pipe)
    for path, complaint in (
        (link, "symbolic link"),
        (pipe, "not a regular"),
        (tmp_path, "directory"),
        (link / "x", "Not a directory"),
    ):
        with pytest.raises(UserError, match=complaint):
            read_bytes(path)


def archive_of(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


@given(
    st.sampled_from(["bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64"]),
    st.lists(st.integers(0, 4), max_size=3),
    st.booleans(),
)
def test_plain_arrays_are_what_they_were(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, shape: list[int], fortran: bool
) -> None:
    array = numpy.asarray(numpy.arange(int(numpy.prod(shape))).reshape(shape) % 3, dtype, order="F" if fortran else "C")
    path = tmp_path_factory.mktemp("archive") / "inputs.npz"
    numpy.savez_compressed(path, argument0=array, scheme=numpy.array("small"))
    read = read_arrays(path)
    assert str(read["scheme"]) == "small"
    assert read["argument0"].dtype == array.dtype
    assert numpy.array_equal(read["argument0"], array)
    assert read["argument0"].shape == array.shape


def test_arrays_that_are_not_plain_are_refused(fuzzer: ModuleType, tmp_path: Path) -> None:
    plain = fuzzer._array_bytes(numpy.zeros(3))
    for content in (
        fuzzer._array_bytes(numpy.array([fuzzer.Payload()], object)),
        fuzzer._array_bytes(numpy.zeros(3, [("a", "<f8")])),
        fuzzer._array_bytes(numpy.zeros(3, "<M8[s]")),
        plain[:-1],
        plain + b"\0",
        plain.replace(b"(3,)", b"(4,)"),
        b"",
    ):
        path = tmp_path / "inputs.npz"
        path.write_bytes(archive_of(argument0=content))
        with pytest.raises(UserError, match=r"inputs\.npz: not an archive of arrays"):
            read_arrays(path)
    assert not fuzzer.EXECUTED


@pytest.mark.parametrize("shape", [b"1" * 300, b"1, " * 100, b"1," * 100 + b"x", b"1, 2, 3", b"1,2", b",", b"1,, 2"])
def test_a_shape_is_read_in_one_way(fuzzer: ModuleType, tmp_path: Path, shape: bytes) -> None:
    plain = fuzzer._array_bytes(numpy.zeros(3)).replace(b"3,", shape)
    header = plain[10 : -3 * 8]
    path = tmp_path / "inputs.npz"
    path.write_bytes(archive_of(argument0=plain[:8] + len(header).to_bytes(2, "little") + plain[10:]))
    with pytest.raises(UserError):
        read_arrays(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "inputs.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("bomb.npy", "w") as member:
        for _ in range((ARRAY_BYTES >> 20) + 1):
            member.write(bytes(1 << 20))
    assert path.stat().st_size < ARRAY_BYTES >> 8
    with pytest.raises(UserError, match="when unpacked"):
        read_arrays(path)


@given(st.text())
def test_a_line_stays_a_line(text: str) -> None:
    assert one_line(text).isprintable()
