"""Which functions of a library are not those of another."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.memcov import SOURCES
from tzerlike.core.errors import UserError
from tzerlike.core.package import MEMCOV
from tzerlike.coverage.blocks import find_chains
from tzerlike.coverage.changes import compare_code
from tzerlike.coverage.focus import Focus, read_focus, write_focus
from tzerlike.coverage.protocol import CoveredLibrary

pytestmark = pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources of memcov, to be changed."""
    return Path(shutil.copytree(SOURCES, tmp_path / "memcov"))


def fixture_from(tree: Path, out: Path) -> Path:
    subprocess.run(["make", "-s", "-C", tree, f"LIBRARY_DIR={out}", f"{out}/libfixture.so"], check=True)
    return out / "libfixture.so"


def test_a_copy_is_the_same(path: Path, tmp_path: Path) -> None:
    found = compare_code([path], [Path(shutil.copy(path, tmp_path / "other.so"))], None)
    assert found.same and found.functions > 20
    assert str(found) == f"all {found.functions} functions are the same"


def test_a_changed_function_is_named_and_those_that_only_moved_are_not(path: Path, tree: Path, tmp_path: Path) -> None:
    source = tree / "fixture" / "fixture.cc"
    text = source.read_text()
    assert "x * 3 + 1" in text
    grown = 'extern "C" __attribute__((visibility("default"), noinline)) int fixture_new(int x) { return x * 977; }\n'
    first = "API const char *fixture_source"
    source.write_text(text.replace("x * 3 + 1", "x * 5 + 1").replace(first, grown + first))
    built = fixture_from(tree, tmp_path)
    found = compare_code([built], [path], None)
    names = [function.name for function in found.changed]
    assert not found.same and "fixture_new" in names
    assert 2 <= len(names) <= 4, names
    assert str(found).startswith(f"{len(names)} of {found.functions} functions are new or changed")


def test_what_differs_is_named(path: Path, tree: Path, tmp_path: Path) -> None:
    source = tree / "fixture" / "fixture.cc"
    source.write_text(source.read_text().replace("case 6: return 19", "case 6: return 20"))
    found = compare_code([fixture_from(tree, tmp_path)], [path], None)
    assert found.names(5) == "fixture_switch"
    assert str(found).endswith("functions are new or changed, 1 are gone: fixture_switch")


def test_the_focus_is_on_the_blocks_of_changed_functions(path: Path, tree: Path, tmp_path: Path) -> None:
    source = tree / "fixture" / "fixture.cc"
    source.write_text(source.read_text().replace("case 6: return 19", "case 6: return 20"))
    built = fixture_from(tree, tmp_path)
    found = compare_code([built], [path], None)
    (changed,) = found.changed
    write_focus(tmp_path / "focus.json", Focus(found.ranges))
    focus = read_focus(tmp_path / "focus.json")
    blocks, _ = find_chains(built, None)
    following = found.starts[built][found.starts[built] > changed.offset][0]
    expected = (blocks >= changed.offset) & (blocks < following)
    # The same blocks lie in a library that nobody has changed, in front of it.
    other = CoveredLibrary(path.with_name("libother.so"), 0, blocks)
    count = focus.of([other, CoveredLibrary(built, len(blocks), blocks)])
    each = [count(numpy.array([index], numpy.uint32)) for index in range(2 * len(blocks))]
    assert each == [0] * len(blocks) + expected.astype(int).tolist()
    assert sum(each) > 3
    assert count(numpy.arange(2 * len(blocks), dtype=numpy.uint32)) == sum(each)


def test_constants_count(path: Path, tree: Path, tmp_path: Path) -> None:
    source = tree / "fixture" / "fixture.cc"
    source.write_text(source.read_text().replace("more than three", "more than THREE"))
    found = compare_code([fixture_from(tree, tmp_path)], [path], None)
    assert not found.changed and found.constants and not found.same


def test_what_is_no_library_is_said(path: Path) -> None:
    with pytest.raises(UserError, match="cannot find the code of"):
        compare_code([path], [Path(__file__)], None)
