"""The parts of the seed sources that need no TVM: the value, the cache, the manifest, a user's directory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.tir import seeds
from tzerlike.tir.seeds.cache import Collection, key_of, load_seeds
from tzerlike.tir.seeds.handwritten import definitions, manifest, recipes
from tzerlike.tir.seeds.operators import t
from tzerlike.tir.seeds.seed import Seed

FIRST = Seed("a", "topi", "llvm", '{"text": "line\\nbreak"}', 3)
SECOND = Seed("b/é", "dir", "cuda", "{}", 12)
COLLECTION = Collection((FIRST, SECOND), (("c", "InternalError: no"),))


class Generator:
    """Counts how often it is asked."""

    def __init__(self, collection: Collection = COLLECTION) -> None:
        self.calls = 0
        self.collection = collection

    def __call__(self) -> Collection:
        self.calls += 1
        return self.collection


def test_seed_json_round_trip() -> None:
    for seed in (FIRST, SECOND):
        assert Seed.from_json(json.loads(json.dumps(seed.to_json()))) == seed


@pytest.mark.parametrize(
    "change",
    [{"nodes": "3"}, {"nodes": True}, {"ir": None}, {"extra": 1}, {"name": 5}],
)
def test_seed_json_that_is_wrong(change: dict[str, object]) -> None:
    with pytest.raises(TzerlikeError, match="seed"):
        Seed.from_json({**FIRST.to_json(), **change})


def test_cache_generates_once(tmp_path: Path) -> None:
    generator = Generator()
    first = load_seeds("x", tmp_path / "deep" / "cache", "key", generator)
    second = load_seeds("x", tmp_path / "deep" / "cache", "key", generator)
    assert first == second == COLLECTION
    assert generator.calls == 1


def test_cache_of_another_key_is_made_again(tmp_path: Path) -> None:
    generator = Generator()
    load_seeds("x", tmp_path, "old", generator)
    load_seeds("x", tmp_path, "new", generator)
    load_seeds("x", tmp_path, "new", generator)
    assert generator.calls == 2
    assert [path.name for path in tmp_path.iterdir()] == ["seeds-x.jsonl.gz"]


def _truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1 :]


def _lose_a_line(data: bytes) -> bytes:
    return gzip.compress(b"\n".join(gzip.decompress(data).splitlines()[:-1]))


@pytest.mark.parametrize(
    "damage",
    [_truncate, _flip, _lose_a_line, lambda _: b"", lambda _: b"not gzip", lambda _: gzip.compress(b"[]\n{}")],
)
def test_damaged_cache_is_made_again(tmp_path: Path, damage: object) -> None:
    generator = Generator()
    load_seeds("x", tmp_path, "key", generator)
    path = tmp_path / "seeds-x.jsonl.gz"
    good = path.read_bytes()
    path.write_bytes(damage(good))  # type: ignore[operator]
    assert load_seeds("x", tmp_path, "key", generator) == COLLECTION
    assert generator.calls == 2
    assert path.read_bytes() == good


def test_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    generator = Generator()
    assert load_seeds("x", blocked, "key", generator) == COLLECTION
    assert load_seeds("x", blocked, "key", generator) == COLLECTION
    assert generator.calls == 2


def test_key_follows_the_files(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    for file in files:
        file.write_text("one")
    before = key_of(files)
    assert key_of(reversed(files)) == before
    files[1].write_text("two")
    assert key_of(files) != before


def test_manifest_and_files_agree() -> None:
    directory = seeds.seeds_directory()
    entries = manifest(directory)
    assert len(list(recipes(directory))) == len(entries) >= 60
    assert len({(entry.file, entry.function) for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.why and entry.tags and entry.target in ("llvm", "cuda"), entry


def test_manifest_that_lists_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("@T.prim_func\ndef here():\n    pass\n")
    (tmp_path / "MANIFEST.toml").write_text('[[seed]]\nfile="f.py"\nfunction="gone"\nwhy="w"\ntags=[]\n')
    with pytest.raises(TzerlikeError, match=r"gone of f\.py"):
        list(recipes(tmp_path))


def test_manifest_with_an_unknown_field(tmp_path: Path) -> None:
    (tmp_path / "MANIFEST.toml").write_text('[[seed]]\nfile="f.py"\nfunction="g"\nwhy="w"\ntags=[]\ncolour="red"\n')
    with pytest.raises(TzerlikeError, match="colour"):
        manifest(tmp_path)


def test_definitions_carry_their_decorators() -> None:
    text = "import x\n\n@a\n@b(1)\ndef f():\n    pass\n\n\nclass C:\n    y = 1\nz = 3\n"
    assert definitions(text) == {"f": "@a\n@b(1)\ndef f():\n    pass\n", "C": "class C:\n    y = 1\n"}


def test_tensor_abbreviation() -> None:
    assert t("i8:n,3").shape == ("n", 3)
    assert t("bf16:").dtype == "bfloat16"
    assert t("f32:").shape == ()


def test_directory_that_is_missing_or_empty(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a directory"):
        seeds.seeds_from_directory(tmp_path / "none")
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(UserError, match="has no"):
        seeds.seeds_from_directory(tmp_path)


def test_importing_the_package_imports_no_tvm() -> None:
    code = (
        "import sys, tzerlike.tir.seeds, tzerlike.tir.seeds.handwritten, tzerlike.tir.seeds.directory;"
        "sys.exit(int('tvm' in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
