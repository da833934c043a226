"""Places of blocks, found in small libraries, and what a set of reached blocks comes to."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tzerlike import coverage
from tzerlike.core.errors import UserError
from tzerlike.core.package import MEMCOV
from tzerlike.coverage.source.places import Places, joined, numbered
from tzerlike.coverage.source.recover import recovered_places
from tzerlike.coverage.source.show import ranges_text
from tzerlike.coverage.source.symbolise import symbolised
from tzerlike.coverage.source.totals import UNKNOWN, BlockTally, Row
from tzerlike.systems.builds.tools import find_symbolizer

SIMPLIFY, UNROLL = "src/tirx/transform/simplify.cc", "src/tirx/transform/unroll.cc"


def places(*blocks: tuple[str, str, int]) -> Places:
    """Places of blocks that are given as file, function and line."""
    files, file = numbered([block[0] for block in blocks])
    functions, function = numbered([block[1] for block in blocks])
    return Places(files, functions, file, function, np.array([block[2] for block in blocks], np.int32))


SMALL = places(
    (SIMPLIFY, "tvm::tirx::transform::Simplify()", 10),
    (SIMPLIFY, "visit(int)", 20),
    (SIMPLIFY, "visit(int)", 21),
    (SIMPLIFY, "visit(int)", 21),
    (UNROLL, "tvm::tirx::transform::Unroll(bool)", 5),
    (UNROLL, "unrolled()", 6),
    ("/usr/include/vector", "unrolled()", 99),
    ("", "", 0),
)


def bits(*indices: int) -> np.ndarray:
    reached = np.zeros(len(SMALL), np.bool_)
    reached[list(indices)] = True
    return reached


def brief(rows: list[Row]) -> dict[str, tuple[int, int]]:
    return {row.name: (row.covered, row.total) for row in rows}


def test_totals() -> None:
    tally = BlockTally(SMALL, bits(0, 2, 5, 7))
    assert (tally.everything().covered, tally.everything().total) == (4, 8)
    assert brief(tally.files()) == {
        SIMPLIFY: (2, 4),
        UNROLL: (1, 2),
        "/usr/include/vector": (0, 1),
        UNKNOWN: (1, 1),
    }
    assert brief(tally.directories()) == {"src": (3, 6), "src/tirx": (3, 6), "src/tirx/transform": (3, 6)}
    assert brief(tally.functions()) == {
        "tvm::tirx::transform::Simplify()": (1, 1),
        "tvm::tirx::transform::Unroll(bool)": (0, 1),
        "unrolled()": (1, 2),
        "visit(int)": (1, 3),
    }
    assert {row.name: row.where for row in tally.functions()}["visit(int)"] == SIMPLIFY


def test_a_pass_is_reached_where_its_constructor_is() -> None:
    assert brief(BlockTally(SMALL, bits(0, 5)).passes()) == {"tirx.Simplify": (1, 4), "tirx.Unroll": (0, 2)}
    vague = places(
        ("src/tirx/?", "tvm::tirx::transform::Simplify()", 0),
        ("src/tirx/?", "tvm::tirx::transform::CreatePrimFuncPass()", 0),
        ("src/tirx/?", "other()", 0),
    )
    (row,) = BlockTally(vague, np.ones(3, np.bool_)).passes()
    assert (row.name, row.covered, row.total, row.where) == ("tirx.Simplify", 1, 1, "")


def test_a_lambda_of_a_constructor_is_no_other_pass() -> None:
    made = "tvm::tirx::transform::Simplify()"
    for names in ((made, f"{made}::$_0::operator()(int) const"), (f"{made}::$_0::operator()(int) const", made)):
        two = places(*((SIMPLIFY, name, 10) for name in names))
        reached = np.array([name == made for name in names])
        assert [(row.name, row.covered) for row in BlockTally(two, reached).passes()] == [("tirx.Simplify", 1)]


def test_lines_that_nobody_reached() -> None:
    assert BlockTally(SMALL, bits(3)).unreached_lines() == {
        SIMPLIFY: [(10, 20)],
        UNROLL: [(5, 6)],
        "/usr/include/vector": [(99, 99)],
    }
    assert SIMPLIFY not in BlockTally(SMALL, bits(0, 1, 2)).unreached_lines()
    assert ranges_text([(1, 1), (4, 9)]) == "1, 4-9"
    assert BlockTally(places((SIMPLIFY, "visit(int)", 0)), np.zeros(1, np.bool_)).unreached_lines() == {}


def test_the_difference_of_two_campaigns() -> None:
    tally = BlockTally(SMALL, bits(0, 2, 4), bits(2, 3, 5, 6))
    whole = tally.everything()
    assert (whole.covered, whole.other, whole.unique, whole.missed) == (3, 4, 2, 3)
    rows = {row.name: row for row in tally.files()}
    assert (rows[SIMPLIFY].unique, rows[SIMPLIFY].missed, rows[SIMPLIFY].other) == (1, 1, 2)
    (directory,) = (row for row in tally.directories() if row.name == "src")
    assert (directory.covered, directory.other, directory.unique, directory.missed) == (3, 3, 2, 2)
    assert tally.lines_unlike() == {SIMPLIFY: ([10], []), UNROLL: ([5], [6]), "/usr/include/vector": ([], [99])}
    assert BlockTally(SMALL, bits(0)).lines_unlike() == {}
    assert "other" not in BlockTally(SMALL, bits(0)).everything().to_json()


def test_places_are_kept_and_joined(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "places.npz"
    SMALL.save(path)
    loaded = Places.load(path)
    assert (loaded.files, loaded.functions) == (SMALL.files, SMALL.functions)
    assert all(np.array_equal(getattr(loaded, name), getattr(SMALL, name)) for name in ("file", "function", "line"))
    more = places(("a.cc", "visit(int)", 1), ("", "", 0), (UNROLL, "b()", 2))
    both = joined([SMALL, more])
    names = ["" if i < 0 else both.files[i] for i in both.file]
    assert names == ["" if i < 0 else p.files[i] for p in (SMALL, more) for i in p.file]
    assert both.functions[both.function[-3]] == "visit(int)" and both.function[-2] == -1
    assert both.line.tolist() == [*SMALL.line, 1, 0, 2]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises((OSError, ValueError)):
        Places.load(path)


RECOVER = """
extern "C" void say(const char *);
#define HERE(path) say("/project/" path)
namespace tvm { namespace tirx { namespace transform {
__attribute__((visibility("default"))) int Simplify() { HERE("src/tirx/transform/a.cc"); return 1; }
}}}
extern "C" {
#define FUNCTION(name, path) __attribute__((visibility("default"))) void name(int x) { if (x) HERE(path); say("x"); }
#define PLAIN(name) __attribute__((visibility("default"))) void name(int x) { if (x) say("y"); say("x"); }
PLAIN(before)
FUNCTION(a1, "src/tirx/transform/a.cc")
PLAIN(a2)
FUNCTION(a3, "src/tirx/transform/a.cc")
PLAIN(between)
FUNCTION(b1, "src/tirx/transform/b.cc")
PLAIN(behind)
FUNCTION(b2, "src/runtime/b.cc")
}
"""


@pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")
def test_what_a_stripped_library_still_tells(tmp_path: Path) -> None:
    library = tmp_path / "libstripped.so"
    (tmp_path / "code.cc").write_text(RECOVER)
    flags = ["-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-toplevel-reorder", "-s"]
    subprocess.run(["g++", *flags, "-o", str(library), str(tmp_path / "code.cc")], check=True)
    blocks = coverage.find_chains(library, None)[0]
    found = recovered_places(library, blocks, "/project/")

    def files_of(function: str) -> set[str]:
        inside = found.function == found.functions.index(function)
        return {"" if i < 0 else found.files[i] for i in found.file[inside]}

    transform = "src/tirx/transform"
    assert files_of("a2") == {f"{transform}/a.cc"}
    assert files_of("between") == {f"{transform}/?"}
    assert files_of("behind") == {"src/?"}
    assert f"{transform}/b.cc" not in files_of("a1")
    reached = np.zeros(len(blocks), np.bool_)
    reached[found.function == found.functions.index("tvm::tirx::transform::Simplify()")] = True
    (row,) = BlockTally(found, reached).passes()
    assert row.name == "tirx.Simplify" and row.covered > 0
    with pytest.raises(UserError):
        recovered_places(tmp_path / "code.cc", blocks, "/project/")


def test_places_by_debug_information(tmp_path: Path) -> None:
    compiler = shutil.which("clang++-19")
    if compiler is None:
        pytest.skip("clang is missing: apt-get install clang-19")
    try:
        tools = find_symbolizer()
    except UserError as error:
        pytest.skip(str(error))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "code.cc").write_text("namespace n {\nint twice(int x) {\n  return x * 2;\n}\n}\n")
    library = tmp_path / "libplaces.so"
    flags = ["-O0", "-g1", "-fPIC", "-shared", f"-ffile-prefix-map={tmp_path}=/project"]
    subprocess.run([compiler, *flags, "-o", str(library), str(tmp_path / "src" / "code.cc")], check=True)
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    address = int(listing.stdout.split()[0], 16)
    found = symbolised(library, np.array([address, 1], np.uint64), *tools, "/project/")
    assert found.files == ("src/code.cc",) and found.functions == ("n::twice(int)",)
    assert (found.file.tolist(), found.function.tolist(), found.line.tolist()) == ([0, -1], [0, -1], [2, 0])
    with pytest.raises(UserError, match="cannot find its source locations"):
        symbolised(tmp_path / "absent.so", np.array([1], np.uint64), *tools, "/project/")
