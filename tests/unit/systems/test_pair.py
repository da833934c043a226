"""TVM and its ffi are asked for as the pair that works."""

import tomllib
from pathlib import Path

import pytest

import tzerlike
from tzerlike.systems import TVM
from tzerlike.systems.pair import TvmPair, installed_pair, mismatch

ROOT = Path(tzerlike.__file__).parents[1]
NEWEST = next(iter(TVM.releases.items()))


def test_the_package_asks_for_the_newest_pair_that_works() -> None:
    wanted = {f"apache-tvm=={NEWEST[0]}", f"apache-tvm-ffi=={NEWEST[1]}"}
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert wanted <= set(described["dependencies"])
    assert wanted <= set((ROOT / "constraints.txt").read_text().splitlines())


def test_what_is_installed_here_works() -> None:
    assert mismatch(installed_pair()) == ""
    assert str(installed_pair()) == f"apache-tvm {NEWEST[0]} with apache-tvm-ffi {NEWEST[1]}"


@pytest.mark.parametrize(
    "pair", [TvmPair(NEWEST[0], "9.9"), TvmPair("", NEWEST[1]), TvmPair(NEWEST[0], ""), TvmPair("", "")]
)
def test_what_cannot_work_says_what_to_install(pair: TvmPair) -> None:
    assert mismatch(pair).endswith(f"pip install apache-tvm=={NEWEST[0]} apache-tvm-ffi=={NEWEST[1]}")


def test_a_tvm_that_was_never_tried_may_work() -> None:
    assert mismatch(TvmPair("99.0", "9.9")) == ""
    assert mismatch(TvmPair("99.0", "")).endswith("pip install apache-tvm==99.0 apache-tvm-ffi")
