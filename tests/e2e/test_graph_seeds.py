"""Functions that drawn models are lowered to, as seeds."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.e2e.conftest import environment
from tzerlike.cli.main import cli
from tzerlike.systems import tvm_api
from tzerlike.tir.seeds import Collection, builtin_seeds, graph_collection, graph_models, seeds_for
from tzerlike.tir.seeds.generate import generate


def _first(count: int) -> Collection:
    return generate({"graph": lambda: islice(graph_models.recipes(), count)})


def test_models_are_lowered_to_functions_that_compile() -> None:
    found = _first(8)
    assert len(found.seeds) >= 8 and {seed.origin for seed in found.seeds} == {"graph"}
    assert len({seed.name.split("/")[0] for seed in found.seeds}) >= 6, "few models give functions"
    assert all(list(tvm_api.load_ir(seed.ir).functions) for seed in found.seeds)


@pytest.mark.long
def test_most_of_them_are_new(tmp_path: Path) -> None:
    # What has computed with threads before cannot be forked to compute with more: a fresh process makes them.
    script = "import sys, pathlib; from tzerlike.tir.seeds import graph_collection as g; g(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", script, tmp_path], env=environment(), check=True, timeout=600)
    known = {seed.ir for seed in builtin_seeds(tmp_path)}
    found, problems = seeds_for("graph", "llvm", tmp_path)
    assert len(found) > 500 and problems == []
    assert sum(seed.ir not in known for seed in found) > 0.7 * len(found)
    assert graph_collection(tmp_path).seeds == tuple(found), "stored"
    assert _first(4).seeds == _first(4).seeds


def test_a_source_that_there_is_not(tmp_path: Path) -> None:
    said = CliRunner().invoke(cli, ["fuzz", "--seeds", "graphs", "--out", str(tmp_path / "out"), "--budget", "1s"])
    assert said.exit_code != 0
    assert "neither builtin, graph, tiles, none nor a directory" in said.output + str(said.exception)
