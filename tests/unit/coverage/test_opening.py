"""How coverage is opened, cached and refused."""

import ctypes
import os
import platform
import shutil
import subprocess
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

from tzerlike import coverage
from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import BreakpointCoverage, Coverage, NoCoverage, native, open_coverage
from tzerlike.coverage import blocks as code_blocks

needs_memcov = pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")

SOURCE = 'extern "C" int f(int x) { int s = 0; while (x > 0) { s += x % 3 ? x : 7; --x; } return s; }\n'


def build(path: Path, *flags: str, source: str = SOURCE) -> Path:
    code = path.with_suffix(".cc")
    code.write_text(source)
    subprocess.run(["g++", "-O1", "-fPIC", "-shared", *flags, "-o", str(path), str(code)], check=True)
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = build(tmp_path_factory.mktemp("lib") / "libsmall.so", "-Wl,--build-id")
    ctypes.CDLL(str(path))
    return path


def test_no_coverage_says_nothing(tmp_path: Path) -> None:
    cov: Coverage = open_coverage("none", [tmp_path / "absent.so"], 1, tmp_path)
    assert isinstance(cov, NoCoverage)
    cov.enter(0)
    cov.begin(0)
    cov.rearm(0)
    cov.reset()
    assert (cov.backend, cov.total, cov.covered(), cov.new(0), cov.commit(0)) == ("none", 0, 0, 0, 0)
    assert len(cov.new_indices(0)) == 0
    cov.restore(cov.snapshot())
    with pytest.raises(ValueError, match="no coverage"):
        cov.restore(b"\1")


@needs_memcov
def test_opening_finds_the_blocks_and_keeps_them(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "deep" / "cache"
    cov: Coverage = open_coverage("breakpoint", [library], 2, cache, prefix=None)
    assert isinstance(cov, BreakpointCoverage)
    expected = coverage.find_chains(library, None)[0]
    assert (cov.backend, cov.total, cov.covered()) == ("breakpoint", len(expected), 0)
    (file,) = cache.iterdir()
    assert file.name.startswith("blocks-")

    def unwanted(library: Path, prefix: str | None) -> tuple[coverage.Indices, coverage.Indices]:
        raise AssertionError("looked for the blocks again")

    monkeypatch.setattr(code_blocks, "find_chains", unwanted)
    assert open_coverage("breakpoint", [library], 2, cache, prefix=None).total == len(expected)
    with pytest.raises(AssertionError, match="again"):
        open_coverage("breakpoint", [library], 2, cache, prefix="/other/")


@needs_memcov
@pytest.mark.parametrize(
    "damage", ["empty", "cut", "flipped", "other bytes", "other blocks", "other successors", "directory"]
)
def test_a_corrupt_cache_is_made_again(library: Path, tmp_path: Path, damage: str) -> None:
    total = open_coverage("breakpoint", [library], 1, tmp_path, prefix=None).total
    (file,) = tmp_path.iterdir()
    good = file.read_bytes()
    base = code_blocks.load_bias(library)
    blocks, successors = code_blocks._decode(good, base)
    if damage == "empty":
        file.write_bytes(b"")
    elif damage == "cut":
        file.write_bytes(good[:-5])
    elif damage == "flipped":
        file.write_bytes(good[:20] + bytes([good[20] ^ 1]) + good[21:])
    elif damage == "other bytes":
        file.write_bytes(good[:16] + bytes(4) + good[20:])
    elif damage == "other blocks":
        file.write_bytes(code_blocks._encode(blocks + np.uint32(1), successors, base)[:12] + good[12:])
    elif damage == "other successors":
        file.write_bytes(good[:12] + bytes(4) + good[16:])
    else:
        file.unlink()
        file.mkdir()
    assert open_coverage("breakpoint", [library], 1, tmp_path, prefix=None).total == total
    if damage != "directory":
        assert file.read_bytes() == good
        assert list(tmp_path.iterdir()) == [file]


@needs_memcov
def test_a_cache_far_from_the_code_is_refused(library: Path) -> None:
    base = code_blocks.load_bias(library)
    blocks, successors = coverage.find_chains(library, None)
    body = code_blocks._encode(blocks, successors, base)
    for decoded, given in zip(code_blocks._decode(body, base), (blocks, successors), strict=True):
        assert np.array_equal(decoded, given)
    wild = np.append(blocks, np.uint32(0xFFFFFFF0))
    links = np.zeros(len(wild), np.uint32)
    none = np.full(len(wild), 0xFFFFFFFF, np.uint32)
    checks = (zlib.crc32(array.astype("<u4").tobytes()) for array in (wild, none))
    header = code_blocks._HEADER.pack(b"MCB2", len(wild), *checks, zlib.crc32(b""))
    deltas = np.diff(wild, prepend=np.uint32(0)).astype(np.uint32)
    data = header + zlib.compress(code_blocks._pack(deltas) + code_blocks._pack(links))
    with pytest.raises(ValueError, match="other code"):
        code_blocks._decode(data, base)


@needs_memcov
def test_encoding_round_trip_with_large_gaps(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_blocks, "_first_bytes", lambda base, blocks: np.zeros(len(blocks), np.uint8))
    monkeypatch.setattr(code_blocks, "_in_text", lambda base, blocks: True)
    blocks = np.array([0, 1, 255, 256, 510, 511, 2**20, 2**20 + 254, 2**20 + 509, 2**32 - 2, 2**32 - 1], np.uint32)
    none = 0xFFFFFFFF
    successors = np.array([1, none, 10, 0, 3, none, 7, 6, none, none, 0], np.uint32)
    decoded = code_blocks._decode(code_blocks._encode(blocks, successors, 0), 0)
    assert np.array_equal(decoded[0], blocks)
    assert np.array_equal(decoded[1], successors)
    many = np.arange(1000, dtype=np.uint32)
    far = many[::-1].copy()
    far[:3] = [999, 900, none]
    decoded = code_blocks._decode(code_blocks._encode(many, far, 0), 0)
    assert np.array_equal(decoded[1], far)


@needs_memcov
def test_unwritable_cache_is_done_without(library: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    assert open_coverage("breakpoint", [library], 1, blocked / "cache", prefix=None).total > 0


@needs_memcov
def test_the_cache_follows_the_file(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for i, flags in enumerate((("-Wl,--build-id=none",), ("-Wl,--build-id",))):
        first = build(tmp_path / f"libfirst{i}.so", *flags)
        twin = Path(shutil.copy(first, tmp_path / f"libtwin{i}.so"))
        other = build(tmp_path / f"libother{i}.so", *flags, source=SOURCE.replace("7", "x / 5"))
        for library in (first, twin, other):
            ctypes.CDLL(str(library))
            open_coverage("breakpoint", [library], 1, cache, prefix=None)
        assert len(list(cache.iterdir())) == 2 * (i + 1)
        assert code_blocks.identity_of(first) == code_blocks.identity_of(twin) != code_blocks.identity_of(other)


@needs_memcov
def test_a_link_to_the_library_is_the_library(library: Path, tmp_path: Path) -> None:
    link = tmp_path / "liblink.so"
    link.symlink_to(library)
    assert open_coverage("breakpoint", [link], 1, tmp_path / "cache", prefix=None).total > 0


@needs_memcov
def test_what_cannot_be_covered_is_refused_in_one_line(library: Path, tmp_path: Path) -> None:
    def message(kind: str, path: Path, prefix: str | None = None) -> str:
        with pytest.raises(TzerlikeError) as caught:
            open_coverage(kind, [path], 1, tmp_path / "cache", prefix=prefix)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no such coverage backend: gcov" in message("gcov", library)
    assert "is not loaded" in message("breakpoint", tmp_path / "absent.so")
    assert "no code whose coverage can be measured" in message("breakpoint", library, "/nobody/")
    replaced = build(tmp_path / "libreplaced.so")
    ctypes.CDLL(str(replaced))
    shutil.copy(replaced, tmp_path / "new.so")
    os.replace(tmp_path / "new.so", replaced)
    assert "was replaced" in message("breakpoint", replaced)


def test_missing_library_and_foreign_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_loaded", None)
    monkeypatch.setattr(native, "MEMCOV", tmp_path / "libmemcov.so")
    with pytest.raises(UserError, match="make setup"):
        open_coverage("breakpoint", [tmp_path / "x.so"], 1, tmp_path)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(UserError, match="x86-64"):
        open_coverage("breakpoint", [tmp_path / "x.so"], 1, tmp_path)


@needs_memcov
def test_entering_is_fast(library: Path, tmp_path: Path) -> None:
    cov = open_coverage("breakpoint", [library], 1, tmp_path, prefix=None)
    best = 1.0
    for _ in range(20):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            start = time.perf_counter()
            cov.enter(0)
            os.write(write, str(time.perf_counter() - start).encode())
            os._exit(0)
        os.waitpid(pid, 0)
        best = min(best, float(os.read(read, 64)))
        os.close(read)
        os.close(write)
    assert best < 1e-3
