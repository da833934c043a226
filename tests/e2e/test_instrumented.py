"""A campaign with edges, without an hour of compiling: the stock TVM beside two small libraries that are instrumented.

What stands in for an instrumented compiler is that reading a case calls these libraries.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ROOT, Command, environment
from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import read_json
from tzerlike.systems.builds import Store
from tzerlike.systems.builds.tools import find_symbolizer

SEED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("copy"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + T.float32(1)
"""
CALLS = """
import ctypes, json
one, two = (ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in {paths!r})
loads = json.loads
def calling(text, *arguments, **options):
    one.edges_one(len(text) % 9 - 4)
    two.edges_two(len(text) % 11)
    return loads(text, *arguments, **options)
json.loads = calling
"""


@dataclass(frozen=True)
class Ran:
    """A campaign on the build `fake`, and the environment that it ran in."""

    root: Path
    cache: str

    def stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = read_json(self.root / "stats.json")
        return stats


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    if not (shutil.which("clang++-19") or shutil.which("clang++")) or not shutil.which("ld.lld-19"):
        pytest.skip("clang or lld is missing, nothing gets instrumented: apt-get install clang-19 lld-19")
    directory = tmp_path_factory.mktemp("instrumented")
    subprocess.run(["make", "-s", "-C", str(ROOT / "memcov"), f"LIBRARY_DIR={directory}", "edges"], check=True)
    build = Store(directory / "cache" / "tzerlike" / "tvm").at("0")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(build.env)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(build.env), "platbase": str(build.env)}))
    paths = [str(directory / f"libedges_{name}.so") for name in ("one", "two")]
    (packages / "calls.py").write_text(CALLS.format(paths=paths))
    (packages / "calls.pth").write_text("import calls\n")
    (packages / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    build.label.write_text(json.dumps({"name": "fake", "source": "none", "directory": "none", "compiler": "none"}))
    build.ready.write_text(json.dumps({"version": "stock", "edges": 0}))
    seeds = directory / "seeds"
    seeds.mkdir()
    (seeds / "copy.py").write_text(SEED)
    found = Ran(directory / "campaign", str(directory / "cache"))
    options = ["--iterations", "30", "--seed", "5", "--jobs", "2", "--oracles", "crash", "--ui", "none"]
    options += ["--tvm", "fake", "--seeds", str(seeds), "--out", str(found.root)]
    command = [sys.executable, "-m", "tzerlike", "fuzz", *options]
    subprocess.run(command, check=True, env=environment(XDG_CACHE_HOME=found.cache), timeout=600)
    return found


def test_a_campaign_on_an_instrumented_build(ran: Ran) -> None:
    stats = ran.stats()
    assert stats["coverage_backend"] == "sancov"
    assert 0 < stats["coverage"] < stats["coverage_total"] < 100
    assert stats["valuable_tests"] >= 1


def test_its_coverage_has_functions_and_lines(ran: Ran, tzerlike: Command) -> None:
    try:
        find_symbolizer()
    except UserError as error:
        pytest.skip(str(error))
    done = tzerlike("coverage", ran.root, "--json", XDG_CACHE_HOME=ran.cache)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    stats = ran.stats()
    assert (told["covered"], told["total"]) == (stats["coverage"], stats["coverage_total"])
    functions = {row["name"]: row for row in told["tables"]["function"]}
    assert functions["edges_one"]["covered"] > 0 and functions["edges_two"]["covered"] > 0
    assert functions["edges_one_die"]["covered"] == 0
    (lines,) = (lines for name, lines in told["unreached_lines"].items() if name.endswith("edges_one.cc"))
    source = (ROOT / "memcov" / "fixture" / "edges_one.cc").read_text().splitlines()
    never = {line for first, last in lines for line in range(first, last + 1)}
    assert next(i for i, text in enumerate(source, 1) if "edges_one_die" in text) in never
    text = tzerlike("coverage", ran.root, "--by", "line", XDG_CACHE_HOME=ran.cache)
    assert "edges_one.cc" in text.stdout


def test_one_case_on_a_build(ran: Ran, tzerlike: Command) -> None:
    done = tzerlike("run", ran.root.parent / "seeds" / "copy.py", "--tvm", "fake", "--json", XDG_CACHE_HOME=ran.cache)
    assert (done.returncode, json.loads(done.stdout)["exit"]) == (0, "ok")


def test_a_build_that_is_not_there(ran: Ran, tzerlike: Command, tmp_path: Path) -> None:
    done = tzerlike("fuzz", "--tvm", "other", "--out", tmp_path / "c", XDG_CACHE_HOME=ran.cache)
    assert done.returncode == 2
    assert "there are: fake" in done.stderr and "tvm build" in done.stderr
    done = tzerlike("replay", tmp_path, "--tvm", "other", XDG_CACHE_HOME=ran.cache)
    assert done.returncode == 2 and "there are: fake" in done.stderr
