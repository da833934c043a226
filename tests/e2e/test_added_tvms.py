"""Releases before the latest one as systems: results are compared there, by the same interpreter."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, there
from tzerlike.systems import TVM, tvm_api
from tzerlike.tir.odd.forms import oddities

pytestmark = pytest.mark.long

OLDER = [version for version in TVM.releases if version in ("0.26.0", "0.25.0.post1")]

BITS = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32"), n: T.int32):
    for i, j in T.grid(8, 8):
        with T.sblock("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = ((A[vi, vj] & 7) << 2) | T.if_then_else(vi < vj, ~n >> 1, 3)
"""
"""What older versions call and the latest has nodes for."""

BLOCKS = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    held = T.sblock_alloc_buffer((4, 4))
    for i, j in T.grid(4, 4):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            held[vi, vj] = A[vi, vj]
        with T.sblock("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = held[vi, vj] + T.float32(1)
"""

RACE = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in T.parallel(8):
        A[0] = i
"""
"""A function that is one loop, whose iterations write the same element."""


@pytest.fixture(scope="module", params=OLDER)
def added(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of commands, with a release that is added as `old`."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")), "PYTHONPATH": str(ROOT)}
    done = tzerlike(variables, "tvm", "add", "old", "--wheel", f"apache-tvm=={request.param}")
    if done.returncode:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    yield variables


def tzerlike(variables: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tzerlike", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=900, check=False)


def test_the_release_that_is_installed_is_added_with_a_copy_of_its_own(tmp_path: Path) -> None:
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = tzerlike(variables, "tvm", "add", "same", "--wheel", f"apache-tvm=={metadata.version('apache-tvm')}")
    if "cannot install" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("tzerlike/**/env/lib/*/site-packages/tvm/__init__.py"))


def test_a_program_is_interpreted_there(added: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "bits.py"
    file.write_text(BITS)
    done = tzerlike(added, "run", file, "--tvm", "old", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["exit"], said["reference"]["verdict"], said["finding"]) == ("ok", "defined", None)


def test_a_bundle_is_reduced_and_bisected_there(added: dict[str, str], tmp_path: Path) -> None:
    bug = ROOT / "docs" / "bugs" / "bfloat16_in_a_bind.py"
    assert tzerlike(added, "run", bug, "--tvm", "old", "--out", tmp_path / "found").returncode == 1
    (bundle,) = (tmp_path / "found").glob("**/wrong-code-*")
    reduced = tzerlike(added, "reduce", "--tvm", "old", "--budget", "60s", bundle)
    assert reduced.returncode == 0, reduced.stderr
    assert (bundle / "reduced" / "case.json").exists()
    bisected = tzerlike(added, "bisect", "--tvm", "old", bundle)
    assert bisected.returncode == 0, bisected.stderr
    assert "BF16ComputeLegalize" in bisected.stdout


def test_the_outermost_loop_is_looked_at_there(added: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "race.py"
    file.write_text(RACE)
    said = json.loads(tzerlike(added, "run", file, "--tvm", "old", "--json").stdout)
    assert (said["reference"]["verdict"], said["reference"]["rule"]) == ("undefined", "race")


def test_a_campaign_compares_results_and_ends_well(added: dict[str, str], tmp_path: Path) -> None:
    options = ("--tvm", "old", "--iterations", "40", "--budget", "10m", "--jobs", "1", "--seed", "3", "--ui", "plain")
    done = tzerlike(added, "fuzz", *options, "--out", tmp_path / "campaign")
    assert done.returncode == 0, done.stderr
    stats = json.loads((tmp_path / "campaign/stats.json").read_text())
    assert (stats["iterations"], stats["coverage_backend"]) == (40, "breakpoint")
    assert stats["stage_seconds"]["compare"] > 0
    assert not stats["faults"]


def test_the_analyzer_is_asked_for_what_this_version_has(added: dict[str, str], tmp_path: Path) -> None:
    """Before 0.27 some shifts are not made, and 0.25 has no z3 inside."""
    options = ("--harness", "arith", "--iterations", "20000", "--jobs", "1", "--seed", "71", "--ui", "plain")
    done = tzerlike(added, "fuzz", "--tvm", "old", *options, "--out", tmp_path / "campaign")
    assert done.returncode == 0, done.stderr
    stats = json.loads((tmp_path / "campaign/stats.json").read_text())
    assert stats["iterations"] == 20000 and not stats["faults"]
    assert not [said for said in stats["rejected"] if "unread" in said], "operators on bits are calls there"


def test_findings_are_told_apart_by_who_shows_them(added: dict[str, str], tmp_path: Path) -> None:
    """Of what the analyzer of an old release gets wrong the installed one has mended some, and some not."""
    options = ("--harness", "arith", "--iterations", "4000", "--jobs", "1", "--seed", "71", "--ui", "plain")
    out = tmp_path / "campaign"
    done = tzerlike(added, "fuzz", "--tvm", "old", "--against", "installed", *options, "--out", out)
    assert done.returncode == 0, done.stderr
    told = json.loads((out / "against.json").read_text())
    words = [cell["word"] for cell in told["bundles"].values()]
    assert "shows" in words and "does not show" in words
    assert "functions are new or changed" in done.stdout and " here alone, " in done.stdout


def test_where_the_code_is_the_same_there_is_nothing_to_test(added: dict[str, str], tmp_path: Path) -> None:
    done = tzerlike(added, "tvm", "add", "twin", "--python", sys.executable)
    assert done.returncode == 0, done.stderr
    where = ("--carry", tmp_path / "state", "--output", tmp_path / "ci")
    done = tzerlike(added, "ci", "pr", "--against", "twin", *where)
    assert done.returncode == 0, done.stderr
    assert "nothing to test against twin: all " in done.stdout
    assert not (tmp_path / "ci" / "campaign").exists()
    done = tzerlike(added, "fuzz", "--against", "twin", "--ui", "plain", "--out", tmp_path / "campaign")
    assert done.returncode == 0, done.stderr
    assert "nothing to test against twin: all " in done.stdout
    assert not (tmp_path / "campaign").exists()


@pytest.mark.parametrize(("name", "said"), [("installed", "is the TVM under test"), ("nobody", "no build")])
def test_what_cannot_be_compared_is_said(added: dict[str, str], tmp_path: Path, name: str, said: str) -> None:
    done = tzerlike(added, "fuzz", "--against", name, "--out", tmp_path / "campaign", "--ui", "none")
    assert done.returncode == 2 and done.stderr.startswith("tzerlike: --against: ") and said in done.stderr
    assert not (tmp_path / "campaign").exists()


THREADS = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        B[i] = A[i] * 2
"""


MENDED = """
from tzerlike.systems import tvm_api
from tzerlike.tir.odd.forms import mended
print(tvm_api.script_of(mended(tvm_api.parse_script(TEXT), 0, threads=False)))
"""


def test_variables_are_replaced_in_its_nodes(added: dict[str, str], tmp_path: Path) -> None:
    """A loop over threads is odd on a processor, and mended by putting its variable in the place of the thread's."""
    assert "for i in range(8)" in there(added, "old", f"TEXT = {THREADS!r}\n{MENDED}")


PLAIN = """
import json
from tzerlike.systems import tvm_api
from tzerlike.tir.odd.forms import oddities
print(json.dumps([odd.what for odd in oddities(tvm_api.parse_script(TEXT), threads=False)]))
"""


def test_a_program_is_as_odd_there_as_here(added: dict[str, str]) -> None:
    """Though its operations on bits are calls there, and its accesses nodes of other names."""
    found = json.loads(there(added, "old", f"TEXT = {BITS!r}\n{PLAIN}"))
    here = [odd.what for odd in oddities(tvm_api.parse_script(BITS), threads=False)]
    assert sorted(found) == sorted(here) != []


SHIFT = """
from tzerlike.arith.bridge import Unmakeable, to_tvm
from tzerlike.arith.model import Expr
lowest, four = (Expr("IntImm", "int32", (), value) for value in (-2147483647, 4))
try:
    print(to_tvm(Expr("LShift", "int32", (lowest, four))))
except Unmakeable as error:
    print(error)
"""


def test_a_shift_that_overflows_is_not_made_there(added: dict[str, str]) -> None:
    """It is computed where it is made, and what it comes to fits no int32: no fault of ours."""
    assert there(added, "old", SHIFT) == "a shift in LShift\n"


NAMELESS = """
from tzerlike.systems.tvm_api import name_of, tirx
print([str(name_of(thing)) for thing in (tirx.decl_buffer((1,), name=""), tirx.Var("x", "int32"))])
"""


def test_a_buffer_may_have_no_name_there(added: dict[str, str]) -> None:
    assert there(added, "old", NAMELESS) == "['', 'x']\n"


WALKED = """
from tzerlike.core.case import Case
from tzerlike.execution.diagnosis.job import meaning_of
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.tvm_passes import PassTrail
case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(TEXT))))
trail, module = PassTrail(lambda index, name: None), load(case.ir)
Compilation(case.target, case.config, (), [trail]).build(module)
meaning = meaning_of(case, module, "")
for turn in trail.turns:
    print(turn.name.rpartition(".")[2], meaning.look(turn.after).state)
"""


def test_what_each_pass_leaves_is_understood_there(added: dict[str, str]) -> None:
    """Views of the memory of others, and functions whose arguments are packed: else the wrong pass is blamed."""
    looks = dict(line.split() for line in there(added, "old", f"TEXT = {BLOCKS!r}\n{WALKED}").splitlines())
    assert {"FlattenBuffer", "MakePackedAPI", "LowerTVMBuiltin"} <= set(looks) and set(looks.values()) == {"right"}


CHANGED = """
import json
from tzerlike.core.case import Case
from tzerlike.systems import tvm_api
from tzerlike.tir.reducers.catalogue import REDUCERS
case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(TEXT))))
names = ("renamed", "without-statements", "given-buffers", "smaller-buffers", "smaller-blocks", "dimensions-with-axes")
made = [[attempt() for attempt in REDUCERS[name](case)] for name in names]
print(json.dumps([sum(one is not None and one.ir != case.ir for one in each) for each in made]))
"""


def test_blocks_are_changed_there(added: dict[str, str]) -> None:
    """With the regions that they then have, in as many ways as here."""
    script = f"TEXT = {BLOCKS!r}\n{CHANGED}"
    here = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=added, check=True)
    counts = json.loads(here.stdout)
    assert json.loads(there(added, "old", script)) == counts and all(counts)


def test_a_planted_regression_is_named_and_found(tmp_path: Path) -> None:
    """One function of a copy of the installed TVM always says yes: what is divided is never negative."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = tzerlike(variables, "tvm", "add", "change", "--wheel", f"apache-tvm=={metadata.version('apache-tvm')}")
    if done.returncode:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    (library,) = (tmp_path / "cache").glob("**/site-packages/tvm/lib/libtvm_compiler.so")
    answer_yes(library, "AnalyzerObj20CanProveGreaterEqual")
    options = (
        "--iterations",
        "1200",
        "--jobs",
        "1",
        "--seed",
        "92",
        "--oracles",
        "crash,inconsistency",
        "--ui",
        "plain",
    )
    out = tmp_path / "campaign"
    done = tzerlike(variables, "fuzz", "--tvm", "change", "--against", "installed", *options, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "1 of " in done.stdout and "CanProveGreaterEqual" in done.stdout
    assert json.loads((out / "workers" / "0" / "pool.json").read_text())["focused"]
    told = json.loads((out / "against.json").read_text())["bundles"]
    alone = [name for name, cell in told.items() if cell["word"] == "does not show"]
    assert any(name.startswith("wrong-code") for name in alone), told


def answer_yes(library: Path, name: str) -> None:
    """Have the exported function with this in its mangled name return true, whatever it is asked."""
    table = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    (address,) = (int(line.split()[0], 16) for line in table.splitlines() if name in line)
    image = bytearray(library.read_bytes())
    (headers,) = struct.unpack_from("<Q", image, 0x20)
    size, count = struct.unpack_from("<HH", image, 0x36)
    for index in range(count):
        kind, _, offset, virtual, _, length = struct.unpack_from("<IIQQQQ", image, headers + size * index)
        if kind == 1 and virtual <= address < virtual + length:
            start = address - virtual + offset
            image[start : start + 6] = b"\xb8\x01\x00\x00\x00\xc3"  # mov eax, 1; ret
    library.unlink()
    library.write_bytes(image)
